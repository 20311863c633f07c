// Values read from Redis, checked; and errors that name the key and say what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trawl/result.h"

#include "frontier/redis/redis_client.h"
#include "frontier/redis/redis_command.h"
#include "frontier/redis/redis_reply.h"

namespace trawl {

// A number in decimal, and nothing else.
std::optional<std::uint64_t> number_in(std::string_view text);
std::optional<std::int64_t> signed_number_in(std::string_view text);

tl::unexpected<Error> damaged_value(std::string_view key, std::string_view what);
// Another program's data, under a key of ours.
Error foreign_key(std::string_view key, std::string_view is, std::string_view expected);

// What an error that a command was answered with means. Asks for the types of its keys if one has
// the wrong type.
Error explain_refusal(RedisClient& client, const RedisCommand& command, const RedisReply& reply);
// The reply, or why there is none.
Result<RedisReply> checked_reply(RedisClient& client, const RedisCommand& command,
                                 RedisAnswer answer);

}  // namespace trawl
