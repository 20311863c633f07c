#include "frontier/shared/redis_values.h"

#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontier/shared/bucket_keys.h"

namespace trawl {

namespace {

template <typename Integer>
std::optional<Integer> integer_in(std::string_view text) {
  Integer number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string name_of_node(const RedisClient& client, const RedisCommand& command) {
  const auto node = client.slots().node_of(command.slot());
  return node ? fmt::format("the Redis node {}", node->text()) : "Redis";
}

}  // namespace

std::optional<std::uint64_t> number_in(std::string_view text) {
  return integer_in<std::uint64_t>(text);
}

std::optional<std::int64_t> signed_number_in(std::string_view text) {
  return integer_in<std::int64_t>(text);
}

tl::unexpected<Error> damaged_value(std::string_view key, std::string_view what) {
  return error(
      ErrorCode::kCorrupt,
      fmt::format("the key {} in Redis has a damaged value: {}; delete the crawl's keys, or "
                  "restore them from a backup, with all crawlers stopped",
                  key, what));
}

Error foreign_key(std::string_view key, std::string_view is, std::string_view expected) {
  return {ErrorCode::kCorrupt,
          fmt::format("the key {} in Redis is a {}, not a {}: another program uses this name; "
                      "remove or rename that key, or give the crawl another cluster.name",
                      key, is, expected)};
}

Error explain_refusal(RedisClient& client, const RedisCommand& command, const RedisReply& reply) {
  const std::string& text = reply.text;
  if (reply.is_error("OOM")) {
    return {ErrorCode::kNoSpace,
            fmt::format("{} has reached its maxmemory (key {}): the crawl waits until maxmemory is "
                        "raised, or other data is removed",
                        name_of_node(client, command), command.key())};
  }
  if (reply.is_error("NOPERM") || reply.is_error("NOAUTH") ||
      text.find("user executing the script") != std::string::npos) {
    return {
        ErrorCode::kPermission,
        fmt::format(
            "Redis refuses access to the key {}: {}; check the rights of "
            "cluster.username (it needs ~{{NAME:* with cluster.name, and +@all -@dangerous +role "
            "+info +config|get)",
            command.key(), text)};
  }
  if (text.find("WRONGTYPE") != std::string::npos) {
    std::vector<std::string> keys = command.keys();
    if (keys.empty()) keys.push_back(command.key());
    for (const std::string& key : keys) {
      RedisCommand type("TYPE", key);
      const RedisAnswer answer = client.run_one(type.arg(key), {});
      if (!answer.reply || answer.reply->text == "none") continue;
      const std::string_view expected = BucketKeys::type_of(key);
      if (answer.reply->text == expected) continue;
      return foreign_key(key, answer.reply->text, expected);
    }
    return {ErrorCode::kCorrupt,
            fmt::format("the key {} in Redis had the type of another program's", command.key())};
  }
  return {ErrorCode::kIo, fmt::format("Redis answers for the key {}: {}", command.key(), text)};
}

Result<RedisReply> checked_reply(RedisClient& client, const RedisCommand& command,
                                 RedisAnswer answer) {
  if (!answer.reply) return error(ErrorCode::kUnavailable, answer.trouble);
  if (answer.reply->is_error())
    return tl::unexpected(explain_refusal(client, command, *answer.reply));
  return std::move(*answer.reply);
}

}  // namespace trawl
