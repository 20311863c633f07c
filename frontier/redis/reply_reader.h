// ReplyReader: replies from the bytes of a connection, by hiredis' parser.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "trawl/result.h"

#include "frontier/redis/redis_reply.h"

struct redisReader;

namespace trawl {

class ReplyReader {
 public:
  ReplyReader();

  void feed(std::string_view bytes);
  // The next reply, if all of it has been fed. Errors: kCorrupt if the bytes are not a reply.
  Result<std::optional<RedisReply>> next();

 private:
  struct Free {
    void operator()(redisReader* reader) const noexcept;
  };
  std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace trawl
