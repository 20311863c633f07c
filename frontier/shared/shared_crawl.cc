#include "frontier/shared/shared_crawl.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/node_info.h"
#include "frontier/shared/redis_values.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

// The commands that ask for a bucket, in the order of their answers.
enum Question : std::size_t {
  kAskMeta,
  kAskHosts,
  kAskDeferred,
  kAskInbox,
  kAskFirst,
  kAskCommands,
  kQuestions
};

void ask(const BucketKeys& keys, BucketId bucket, std::vector<RedisCommand>& commands) {
  const auto add = [&](std::string_view name, const std::string& key) -> RedisCommand& {
    commands.push_back(RedisCommand(name, key));
    return commands.back().arg(key);
  };
  RedisCommand& meta = add("HMGET", keys.meta(bucket));
  for (const char* field : {"t", "r", "v", "c", "open"})
    meta.arg(field);
  add("HLEN", keys.hosts(bucket));
  add("ZCARD", keys.deferred(bucket));
  add("LLEN", keys.inbox(bucket));
  add("LRANGE", keys.inbox(bucket)).arg(0).arg(0);
  add("LLEN", keys.commands(bucket));
}

Result<void> read_meta(const RedisReply& reply, const std::string& key,
                       SharedCrawl::Bucket& bucket) {
  const auto& fields = reply.elements;
  if (fields.size() != 5) return damaged_value(key, "HMGET answers with something else");
  const auto number = [](const RedisReply& field) {
    return field.is_nil() ? std::optional<std::uint64_t>(0) : number_in(field.text);
  };
  const auto version = number(fields[2]), open = number(fields[4]);
  if (!version || !open) return damaged_value(key, "its field v or open is not a number");
  bucket.owner = {.token = fields[0].text,
                  .renewal = fields[1].text,
                  .version = *version,
                  .exists = !fields[0].is_nil() || !fields[1].is_nil() || !fields[2].is_nil()};
  bucket.open = *open;
  if (fields[3].text.empty()) return {};
  const auto counters = decode_counters(fields[3].text);
  if (!counters) return damaged_value(key, "its field c holds no totals");
  bucket.counters = *counters;
  return {};
}

Result<void> read_bucket(const std::vector<RedisReply>& replies, const std::string& meta,
                         SharedCrawl::Bucket& bucket) {
  if (auto read = read_meta(replies[kAskMeta], meta, bucket); !read) return read;
  const auto size = [&](Question question) {
    return static_cast<std::uint64_t>(replies[question].integer);
  };
  bucket.hosts = size(kAskHosts);
  bucket.deferred = size(kAskDeferred);
  bucket.set_aside = bucket.counters.set_aside();  // the key has depths too
  bucket.inbox = size(kAskInbox);
  bucket.commands = size(kAskCommands);
  const auto& first = replies[kAskFirst].elements;
  if (!first.empty() && first[0].text.size() >= sizeof(MessageId)) {
    MessageId& message = bucket.first_message.emplace();
    std::memcpy(message.data(), first[0].text.data(), message.size());
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<SharedCrawl>> SharedCrawl::open(RedisOptions options,
                                                       const std::string& name) {
  auto client = RedisClient::connect(std::move(options));
  if (!client) return tl::unexpected(client.error());
  std::vector<std::string> warnings;
  for (const auto& [node, reply] : (*client)->ask_nodes((*client)->slots().nodes(), {"INFO"})) {
    if (!reply || !reply->is_text()) continue;  // what is needed of it says so
    const auto warning = NodeInfo(node, reply->text).check_version();
    if (!warning) return tl::unexpected(warning.error());
    if (!warning->empty()) warnings.push_back(*warning);
  }
  BucketKeys keys(name);
  auto begun = read_crawl(**client, keys, kPatience);
  if (!begun) return tl::unexpected(begun.error());
  auto profile = Profile::from_name(begun->config.profile);
  if (!profile) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("the crawl {} on Redis has rules for keys that this version of Trawl "
                             "does not know (key {}, field profile): {}",
                             name, keys.config(), profile.error().message));
  }
  std::unique_ptr<SharedCrawl> crawl(
      new SharedCrawl(std::move(*client), std::move(keys), std::move(*begun), std::move(*profile)));
  crawl->warnings_ = std::move(warnings);
  crawl->store_.set_patience(kPatience);
  return crawl;
}

std::vector<BucketId> SharedCrawl::buckets() const {
  std::vector<BucketId> all(begun_.config.buckets);
  for (BucketId bucket = 0; bucket < all.size(); ++bucket)
    all[bucket] = bucket;
  return all;
}

Result<std::vector<SharedCrawl::Bucket>> SharedCrawl::survey(std::chrono::milliseconds patience) {
  std::vector<RedisCommand> commands;
  for (const BucketId bucket : buckets())
    ask(keys_, bucket, commands);
  auto answers = client_->run(commands, {.patience = patience});
  std::vector<Bucket> all(begun_.config.buckets);
  std::optional<Error> first_trouble;
  std::size_t in_trouble = 0;
  for (BucketId id = 0; id < all.size(); ++id) {
    all[id].id = id;
    const std::size_t first = id * kQuestions;
    if (const auto node = client_->slots().node_of(commands[first].slot()))
      all[id].node = node->text();
    std::vector<RedisReply> replies;
    Result<void> read;
    for (std::size_t i = first; i < first + kQuestions && read; ++i) {
      auto reply = checked_reply(*client_, commands[i], std::move(answers[i]));
      if (!reply) read = tl::unexpected(reply.error());
      if (reply) replies.push_back(std::move(*reply));
    }
    if (read) read = read_bucket(replies, commands[first].key(), all[id]);
    if (read) continue;
    const Error& error = read.error();
    const bool is_damaged = error.code == ErrorCode::kCorrupt;
    if (!is_damaged && error.code != ErrorCode::kUnavailable) return tl::unexpected(error);
    Bucket unread;
    unread.id = id;
    unread.node = std::move(all[id].node);
    unread.trouble = error.message;
    unread.is_damaged = is_damaged;
    all[id] = std::move(unread);
    ++in_trouble;
    if (!first_trouble) first_trouble = error;
  }
  if (in_trouble == all.size()) return tl::unexpected(*first_trouble);
  return all;
}

std::vector<SharedCrawl::Node> SharedCrawl::nodes() {
  std::vector<Node> nodes;
  for (const auto& [address, reply] : client_->ask_nodes(client_->slots().nodes(), {"INFO"})) {
    Node& node = nodes.emplace_back();
    node.address = address.text();
    if (!reply || !reply->is_text()) {
      node.trouble = reply ? reply->text : reply.error().message;
      continue;
    }
    const NodeInfo info(address, reply->text);
    node.memory = number_in(info["used_memory"].value_or("")).value_or(0);
    node.max_memory = number_in(info["maxmemory"].value_or("")).value_or(0);
    node.version = info["redis_version"].value_or("");
  }
  return nodes;
}

std::optional<std::string_view> SharedCrawl::owner_of(
    std::string_view token, const std::vector<MemberTable::Seen>& members) {
  for (const MemberTable::Seen& member : members) {
    const std::string& session = member.record.session;
    if (!session.empty() && token.starts_with(session) &&
        token.substr(session.size()).starts_with('.'))
      return member.name;
  }
  return std::nullopt;
}

}  // namespace trawl
