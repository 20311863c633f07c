// NodeInfo: what a node of Redis says of itself, its answer to INFO.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "frontier/redis/redis_options.h"

namespace trawl {

class NodeInfo {
 public:
  // `text`: lines "name:value".
  NodeInfo(const RedisAddress& node, std::string_view text);

  std::string node() const;  // "the Redis node 10.0.0.1:6379"
  std::optional<std::string> operator[](std::string_view name) const;
  // A warning if it is not known whether Trawl works with it, else nothing. Errors:
  // kUnsupportedVersion.
  Result<std::string> check_version() const;

 private:
  RedisAddress node_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace trawl
