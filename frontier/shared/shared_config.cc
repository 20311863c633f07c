#include "frontier/shared/shared_config.h"

#include <charconv>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/safe_text.h"
#include "frontier/shared/redis_values.h"

namespace trawl {
namespace {

// KEYS cfg. ARGV id of the crawl that must exist (or empty), then fields and values. What exists is
// written again in part, so that WAIT waits for it.
const RedisScript& join_script() {
  static const RedisScript script{R"lua(
local is = redis.call('TYPE', KEYS[1]).ok
if is ~= 'none' and is ~= 'hash' then return {'FOREIGN', is} end
if is == 'none' then
  if ARGV[1] ~= '' then return {'GONE'} end
  redis.call('HSET', KEYS[1], unpack(ARGV, 2))
  return {'CREATED', unpack(ARGV, 2)}
end
local all = redis.call('HGETALL', KEYS[1])
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], all[1], all[2])
return {'JOINED', unpack(all)}
)lua"};
  return script;
}

// UrlIdentity has room for so many.
constexpr std::uint64_t kMostBuckets = 1u << 16;

struct Field {
  std::string_view name;
  std::string value;
  std::string_view setting;  // of the configuration
  bool can_change = false;   // by hand, with all crawlers stopped
  ErrorCode code = ErrorCode::kInvalidArgument;
};

std::vector<Field> fields_of(const SharedConfig& config) {
  const auto number = [](auto value) { return std::to_string(value); };
  return {
      {.name = "buckets", .value = number(config.buckets), .setting = "cluster.buckets"},
      {.name = "profile",
       .value = config.profile,
       .setting = "url.rules",
       .code = ErrorCode::kProfileMismatch},
      {.name = "expected_urls",
       .value = number(config.expected_urls),
       .setting = "filter.expected_urls",
       .can_change = true},
      {.name = "delay",
       .value = number(config.delay.count()),
       .setting = "politeness.delay, in milliseconds",
       .can_change = true},
      {.name = "domain_delay",
       .value = number(config.domain_delay.count()),
       .setting = "politeness.domain_delay, in milliseconds",
       .can_change = true},
      {.name = "address_delay",
       .value = number(config.address_delay.count()),
       .setting = "politeness.ip_delay over all crawlers, in milliseconds",
       .can_change = true},
      {.name = "lease",
       .value = number(config.lease.count()),
       .setting = "cluster.takeover_after, in milliseconds",
       .can_change = true},
  };
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<KeyedHash> hash_in(std::string_view text) {
  KeyedHash::Key key{};
  const std::string head = fmt::format("{}:", KeyedHash::kAlgorithm);
  if (!text.starts_with(head) || text.size() != head.size() + 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char* const at = text.data() + head.size() + 2 * i;
    const auto [end, failed] = std::from_chars(at, at + 2, key[i], 16);
    if (failed != std::errc() || end != at + 2) return std::nullopt;
  }
  return KeyedHash::from_key(key);
}

std::string named(const std::string& value) {
  return value.empty() ? "nothing" : fmt::format("\"{}\"", escape_unsafe(value));
}

Error other_format(const BucketKeys& keys, const std::string& format) {
  return {ErrorCode::kUnsupportedVersion,
          fmt::format("the crawl {} on Redis has the format {} (key {}, field format), this "
                      "version of Trawl has \"{}\"; use the version that began it for all "
                      "crawlers, or another cluster.name",
                      keys.crawl(), named(format), keys.config(), kSharedFormat)};
}

Result<void> compare(const BucketKeys& keys, const SharedConfig& config,
                     std::map<std::string, std::string, std::less<>>& theirs) {
  const std::string key = keys.config();
  if (theirs["format"] != std::to_string(kSharedFormat))
    return tl::unexpected(other_format(keys, theirs["format"]));
  for (const Field& mine : fields_of(config)) {
    const std::string& other = theirs[std::string(mine.name)];
    if (other == mine.value) continue;
    const std::string change =
        mine.can_change ? fmt::format(
                              "; to change it for all, stop all crawlers, change it in all their "
                              "configs, and run: redis-cli -c HSET '{}' {} {}",
                              key, mine.name, mine.value)
                        : "";
    return error(
        mine.code,
        fmt::format("the crawl {} on Redis was begun with {} = {} (key {}, field {}), this "
                    "crawler has {}; give all its crawlers the same, or this one another "
                    "cluster.name{}",
                    keys.crawl(), mine.setting, named(other), key, mine.name, named(mine.value),
                    change));
  }
  return {};
}

}  // namespace

Result<JoinedCrawl> join_crawl(RedisClient& client, const BucketKeys& keys,
                               const SharedConfig& config,
                               const std::optional<std::string>& known_id,
                               std::chrono::milliseconds patience) {
  const std::string key = keys.config();
  RedisCommand command(join_script(), std::span(&key, 1));
  command.arg(known_id.value_or("")).arg("format").arg(kSharedFormat);
  command.arg("id").arg(hex(KeyedHash::random().key()));
  command.arg("hash").arg(fmt::format("{}:{}", KeyedHash::kAlgorithm,
                                      hex(config.hash.value_or(KeyedHash::random()).key())));
  for (const Field& field : fields_of(config))
    command.arg(field.name).arg(field.value);
  RedisAnswer answer = client.run_one(command, {.wait = true, .patience = patience});
  if (answer.reply && !answer.reply->is_error() && !answer.replicated) answer.reply.reset();
  auto reply = checked_reply(client, command, std::move(answer));
  if (!reply) return tl::unexpected(reply.error());
  const auto& words = reply->elements;
  const std::string word = words.empty() ? "" : words[0].text;
  if (word == "FOREIGN") return tl::unexpected(foreign_key(key, words[1].text, "hash"));
  if (word == "GONE") {
    return error(
        ErrorCode::kNotFound,
        fmt::format(
            "Redis has no crawl {} any more (key {}), in which this crawler took "
            "part; restore Redis from its backup, or use another cluster.name and state_dir",
            keys.crawl(), key));
  }
  std::map<std::string, std::string, std::less<>> theirs;
  for (std::size_t i = 1; i + 1 < words.size(); i += 2)
    theirs[words[i].text] = words[i + 1].text;
  if (auto same = compare(keys, config, theirs); !same) return tl::unexpected(same.error());
  const auto hash = hash_in(theirs["hash"]);
  if (!hash || theirs["id"].empty())
    return damaged_value(key, "its field hash or id is missing, or not what Trawl wrote");
  if (known_id && theirs["id"] != *known_id) {
    return error(
        ErrorCode::kAlreadyExists,
        fmt::format("another crawl on Redis has the name {} now (key {}, field id: {}; this "
                    "crawler took part in {}); use another cluster.name or state_dir",
                    keys.crawl(), key, named(theirs["id"]), named(*known_id)));
  }
  return JoinedCrawl{.id = theirs["id"], .hash = *hash, .created = word == "CREATED"};
}

Result<BegunCrawl> read_crawl(RedisClient& client, const BucketKeys& keys,
                              std::chrono::milliseconds patience) {
  const std::string key = keys.config();
  RedisCommand command("HGETALL", key);
  RedisAnswer answer = client.run_one(command.arg(key), {.patience = patience});
  auto reply = checked_reply(client, command, std::move(answer));
  if (!reply) return tl::unexpected(reply.error());
  const auto& words = reply->elements;
  if (words.empty()) {
    return error(ErrorCode::kNotFound,
                 fmt::format("Redis has no crawl {} (there is no key {}); check the name, which is "
                             "cluster.name of its crawlers, and that this is their Redis",
                             keys.crawl(), key));
  }
  std::map<std::string, std::string, std::less<>> theirs;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2)
    theirs[words[i].text] = words[i + 1].text;
  if (!theirs.contains("format")) return damaged_value(key, "it has no field format");
  if (theirs["format"] != std::to_string(kSharedFormat))
    return tl::unexpected(other_format(keys, theirs["format"]));
  std::map<std::string_view, std::uint64_t> numbers;
  for (const std::string_view name :
       {"buckets", "expected_urls", "delay", "domain_delay", "address_delay"}) {
    const auto number = number_in(theirs[std::string(name)]);
    if (!number) return damaged_value(key, fmt::format("its field {} is not a number", name));
    numbers[name] = *number;
  }
  const auto hash = hash_in(theirs["hash"]);
  const std::uint64_t buckets = numbers["buckets"];
  if (!hash || theirs["id"].empty() || buckets == 0 || buckets > kMostBuckets) {
    return damaged_value(key, "its field hash, id or buckets is missing, or not what Trawl wrote");
  }
  const auto duration = [&](std::string_view name) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(numbers[name]));
  };
  return BegunCrawl{.config = {.buckets = static_cast<BucketId>(buckets),
                               .profile = theirs["profile"],
                               .expected_urls = numbers["expected_urls"],
                               .delay = duration("delay"),
                               .domain_delay = duration("domain_delay"),
                               .address_delay = duration("address_delay")},
                    .id = theirs["id"],
                    .hash = *hash};
}

}  // namespace trawl
