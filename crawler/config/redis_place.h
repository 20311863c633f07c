// RedisPlace: the nodes of a Redis and the name of a crawl there, as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

struct RedisNode {
  std::string host;  // a name or an IP address, IPv6 without brackets
  std::uint16_t port = 6379;
  std::string text() const;  // "10.0.0.1:6379", "[::1]:6379"
  friend bool operator==(const RedisNode&, const RedisNode&) = default;
};

struct RedisPlace {
  // How much the text says about TLS: "10.0.0.1:6379" leaves it open.
  enum class Tls : std::uint8_t { kOpen, kNo, kYes };

  std::vector<RedisNode> nodes;
  Tls tls = Tls::kOpen;
  std::string crawl;  // empty: not given
};

// The longest name of a crawl.
inline constexpr std::size_t kMaxCrawlName = 64;

// "10.0.0.1:6379", "redis://a.example,b.example:6380/crawl1", "rediss://[::1]/crawl1": without a
// port it is 6379. Errors: kInvalidArgument, without the password of a URL that has one.
Result<RedisPlace> parse_redis_place(std::string_view text);
// Whether it is a URL of Redis, right or wrong, rather than the name of a file or directory.
bool is_redis_url(std::string_view text);
// 1 to kMaxCrawlName letters, digits, dots, hyphens and underscores, the first a letter or digit:
// the name is part of keys, of URLs and of what is typed.
bool is_crawl_name(std::string_view text);

}  // namespace trawl
