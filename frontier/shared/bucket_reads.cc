// What is read of a bucket, and checked.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/big_endian.h"
#include "base/safe_text.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/redis_values.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"

namespace trawl {
namespace {

constexpr std::size_t kPart = 1000;  // elements read at once
// Commands in one pipeline, so that none takes longer than a call may.
constexpr std::size_t kCommands = 4096;
// Keys of fingerprints read at once, of a megabyte each.
constexpr std::uint64_t kSegments = 8;

// From the replies to HMGET of the key `m` and LLEN of the inbox and the commands.
Result<void> read_state(const std::string& key, const std::vector<RedisReply>& replies,
                        BucketStore::State& state) {
  const auto& fields = replies[0].elements;
  if (fields.size() != 5) return damaged_value(key, "HMGET answers with less");
  const auto number = [&](std::size_t at) {
    return fields[at].is_nil() ? std::uint64_t{0} : number_in(fields[at].text);
  };
  const auto version = number(2), open = number(4);
  if (!version || !open) return damaged_value(key, "its fields v and open must be whole numbers");
  const auto counters =
      fields[3].text.empty() ? std::optional(Counters{}) : decode_counters(fields[3].text);
  if (!counters) return damaged_value(key, "its field c holds no totals");
  state.exists = std::ranges::any_of(fields, [](const auto& one) { return !one.is_nil(); });
  state.token = fields[0].text;
  state.version = *version;
  state.open = *open;
  state.counters = *counters;
  state.messages = static_cast<std::uint64_t>(replies[1].integer);
  state.commands = static_cast<std::uint64_t>(replies[2].integer);
  return {};
}

}  // namespace

Result<RedisReply> BucketStore::read(const RedisCommand& command) {
  return checked_reply(client_, command, client_.run_one(command, {.patience = patience_}));
}

std::vector<Result<RedisReply>> BucketStore::read(std::span<const RedisCommand> commands) {
  std::vector<Result<RedisReply>> replies;
  replies.reserve(commands.size());
  for (std::size_t from = 0; from < commands.size(); from += kCommands) {
    const auto part = commands.subspan(from, std::min(kCommands, commands.size() - from));
    auto answers = client_.run(part, {.patience = patience_});
    for (std::size_t i = 0; i < part.size(); ++i)
      replies.push_back(checked_reply(client_, part[i], std::move(answers[i])));
  }
  return replies;
}

std::optional<RedisAddress> BucketStore::node_of(BucketId bucket) const {
  return client_.slots().node_of(hash_slot(keys_.meta(bucket)));
}

std::vector<Result<BucketStore::Owner>> BucketStore::owners(std::span<const BucketId> buckets) {
  std::vector<RedisCommand> commands;
  for (const BucketId bucket : buckets) {
    const std::string key = keys_.meta(bucket);
    commands.push_back(RedisCommand("HMGET", key));
    commands.back().arg(key).arg("t").arg("r").arg("v");
  }
  auto answers = client_.run(commands, {.patience = patience_});
  std::vector<Result<Owner>> owners;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto reply = checked_reply(client_, commands[i], std::move(answers[i]));
    if (!reply) {
      owners.push_back(tl::unexpected(reply.error()));
      continue;
    }
    const auto& fields = reply->elements;
    const auto version = fields.size() == 3 && !fields[2].is_nil()
                             ? number_in(fields[2].text)
                             : std::optional<std::uint64_t>(0);
    if (fields.size() != 3 || !version) {
      owners.push_back(damaged_value(commands[i].key(), "its field v is not a number"));
      continue;
    }
    const bool exists = !fields[0].is_nil() || !fields[1].is_nil() || !fields[2].is_nil();
    owners.push_back(Owner{
        .token = fields[0].text, .renewal = fields[1].text, .version = *version, .exists = exists});
  }
  return owners;
}

Result<std::vector<BucketStore::State>> BucketStore::states(BucketId count) {
  constexpr std::size_t kCommands = 3;  // of a bucket
  std::vector<RedisCommand> commands;
  for (BucketId bucket = 0; bucket < count; ++bucket) {
    const std::string meta = keys_.meta(bucket);
    commands.push_back(RedisCommand("HMGET", meta));
    commands.back().arg(meta).arg("t").arg("r").arg("v").arg("c").arg("open");
    for (const std::string& list : {keys_.inbox(bucket), keys_.commands(bucket)}) {
      commands.push_back(RedisCommand("LLEN", list));
      commands.back().arg(list);
    }
  }
  auto answers = client_.run(commands, {.patience = patience_});
  std::vector<State> states(count);
  for (BucketId bucket = 0; bucket < count; ++bucket) {
    const std::size_t first = bucket * kCommands;
    std::vector<RedisReply> replies;
    Result<void> read;
    for (std::size_t i = first; i < first + kCommands && read; ++i) {
      auto reply = checked_reply(client_, commands[i], std::move(answers[i]));
      if (!reply) read = tl::unexpected(reply.error());
      if (reply) replies.push_back(std::move(*reply));
    }
    State& state = states[bucket];
    if (read) read = read_state(commands[first].key(), replies, state);
    if (read) continue;
    if (read.error().code != ErrorCode::kCorrupt) return tl::unexpected(read.error());
    state = {.damage = std::move(read.error())};
  }
  return states;
}

std::vector<Result<std::vector<InboxMessage>>> BucketStore::read_inboxes(
    std::span<const BucketId> buckets, std::size_t limit) {
  std::vector<std::string> keys;
  for (const BucketId bucket : buckets)
    keys.push_back(keys_.inbox(bucket));
  return read_messages(keys, limit);
}

std::vector<Result<std::vector<InboxMessage>>> BucketStore::read_commands(
    std::span<const BucketId> buckets) {
  std::vector<std::string> keys;
  for (const BucketId bucket : buckets)
    keys.push_back(keys_.commands(bucket));
  return read_messages(keys, kPart);
}

std::vector<Result<std::vector<InboxMessage>>> BucketStore::read_messages(
    std::span<const std::string> keys, std::size_t limit) {
  std::vector<RedisCommand> commands;
  for (const std::string& key : keys) {
    commands.push_back(RedisCommand("LRANGE", key));
    commands.back().arg(key).arg(0).arg(static_cast<std::int64_t>(limit) - 1);
  }
  auto answers = client_.run(commands, {.patience = patience_});
  std::vector<Result<std::vector<InboxMessage>>> inboxes;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto reply = checked_reply(client_, commands[i], std::move(answers[i]));
    if (!reply) {
      inboxes.push_back(tl::unexpected(reply.error()));
      continue;
    }
    std::vector<InboxMessage> messages;
    for (const RedisReply& element : reply->elements) {
      if (element.text.size() < sizeof(MessageId)) break;
      InboxMessage& message = messages.emplace_back();
      std::memcpy(message.id.data(), element.text.data(), message.id.size());
      message.body = element.text.substr(message.id.size());
    }
    if (messages.size() < reply->elements.size()) {
      inboxes.push_back(damaged_value(commands[i].key(),
                                      fmt::format("message {} is too short", messages.size())));
    } else {
      inboxes.push_back(std::move(messages));
    }
  }
  return inboxes;
}

void BucketStore::read_waiting(std::span<Waiting> waiting) {
  std::vector<RedisCommand> commands;
  std::vector<Result<std::vector<std::string>>*> places;
  const auto add = [&](const std::string& key, std::size_t limit,
                       Result<std::vector<std::string>>& place) {
    if (limit == 0) return;
    commands.push_back(RedisCommand("LRANGE", key));
    commands.back().arg(key).arg(0).arg(limit - 1);
    places.push_back(&place);
  };
  for (Waiting& one : waiting) {
    add(keys_.inbox(one.bucket), one.messages, one.messages_read);
    add(keys_.commands(one.bucket), one.commands, one.commands_read);
  }
  auto answers = client_.run(commands, {.patience = patience_});
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto reply = checked_reply(client_, commands[i], std::move(answers[i]));
    if (!reply) {
      *places[i] = tl::unexpected(reply.error());
      continue;
    }
    std::vector<std::string> elements;
    for (RedisReply& element : reply->elements)
      elements.push_back(std::move(element.text));
    *places[i] = std::move(elements);
  }
}

std::vector<Result<std::uint64_t>> BucketStore::list_sizes(std::span<const std::string> keys) {
  std::vector<RedisCommand> commands;
  for (const std::string& key : keys) {
    commands.push_back(RedisCommand("LLEN", key));
    commands.back().arg(key);
  }
  std::vector<Result<std::uint64_t>> sizes;
  for (const Result<RedisReply>& reply : read(commands))
    sizes.push_back(
        reply.map([](const RedisReply& is) { return static_cast<std::uint64_t>(is.integer); }));
  return sizes;
}

std::vector<Result<std::uint64_t>> BucketStore::inbox_sizes(std::span<const BucketId> buckets) {
  std::vector<std::string> keys;
  for (const BucketId bucket : buckets)
    keys.push_back(keys_.inbox(bucket));
  return list_sizes(keys);
}

std::vector<Result<std::uint64_t>> BucketStore::queue_sizes(BucketId bucket,
                                                            std::span<const QueueName> queues) {
  std::vector<std::string> keys;
  for (const QueueName& queue : queues)
    keys.push_back(keys_.queue(bucket, queue.host, queue.priority));
  return list_sizes(keys);
}

std::vector<Result<std::vector<QueuedUrl>>> BucketStore::read_queues(
    std::span<const QueuePart> parts) {
  std::vector<RedisCommand> commands;
  commands.reserve(parts.size());
  for (const QueuePart& part : parts) {
    const std::string key = keys_.queue(part.bucket, part.host, part.priority);
    commands.push_back(RedisCommand("LRANGE", key));
    commands.back().arg(key).arg(part.from).arg(part.from + part.limit - 1);
  }
  const auto urls_of = [](const QueuePart& part, const std::string& key,
                          const RedisReply& reply) -> Result<std::vector<QueuedUrl>> {
    std::vector<QueuedUrl> urls;
    urls.reserve(reply.elements.size());
    for (std::size_t i = 0; i < reply.elements.size(); ++i) {
      const auto url = decode_queued(reply.elements[i].text);
      if (!url)
        return damaged_value(key, fmt::format("element {} is not a queued URL", part.from + i));
      urls.push_back({.host = part.host,
                      .order = {.priority = part.priority, .sequence = url->first},
                      .record = std::string(url->second)});
    }
    return urls;
  };
  const auto replies = read(commands);
  std::vector<Result<std::vector<QueuedUrl>>> queues;
  queues.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i)
    queues.push_back(replies[i].and_then(
        [&](const RedisReply& reply) { return urls_of(parts[i], commands[i].key(), reply); }));
  return queues;
}

Result<std::vector<QueuedUrl>> BucketStore::read_queue(BucketId bucket, HostId host,
                                                       std::int32_t priority, std::size_t from,
                                                       std::size_t limit) {
  if (limit == 0) return std::vector<QueuedUrl>();
  const QueuePart part{
      .bucket = bucket, .host = host, .priority = priority, .from = from, .limit = limit};
  return std::move(read_queues(std::span(&part, 1)).front());
}

Result<void> BucketStore::visit_fingerprints(
    BucketId bucket, std::uint64_t newest_segment,
    const std::function<void(std::span<const std::uint64_t>)>& visit) {
  std::vector<std::uint64_t> fingerprints;
  for (std::uint64_t segment = 0; segment <= newest_segment; segment += kSegments) {
    std::vector<RedisCommand> commands;
    for (std::uint64_t i = segment; i <= newest_segment && i < segment + kSegments; ++i) {
      const std::string key = keys_.fingerprints(bucket, i);
      commands.push_back(RedisCommand("LRANGE", key));
      commands.back().arg(key).arg(0).arg(-1);
    }
    const auto replies = read(commands);
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (!replies[i]) return tl::unexpected(replies[i].error());
      const auto& elements = replies[i]->elements;
      fingerprints.clear();
      for (std::size_t at = 0; at < elements.size(); ++at) {
        const std::string& bytes = elements[at].text;
        if (bytes.size() % 8 != 0) {
          return damaged_value(
              commands[i].key(),
              fmt::format("element {} has {} bytes, not a multiple of 8", at, bytes.size()));
        }
        if (bytes.empty()) continue;
        const std::size_t before = fingerprints.size();
        fingerprints.resize(before + bytes.size() / 8);
        std::memcpy(fingerprints.data() + before, bytes.data(), bytes.size());
      }
      if (!fingerprints.empty()) visit(fingerprints);
    }
  }
  return {};
}

// HSCAN returns everything that is there all the time: only the caller writes, as the owner.
Result<void> BucketStore::visit_hash(
    const std::string& key, const std::function<bool(std::string_view, std::string_view)>& visit) {
  std::string cursor = "0";
  do {
    RedisCommand command("HSCAN", key);
    auto reply = read(command.arg(key).arg(cursor).arg("COUNT").arg(kPart));
    if (!reply) return tl::unexpected(reply.error());
    if (reply->elements.size() != 2 || reply->elements[1].elements.size() % 2 != 0)
      return damaged_value(key, "HSCAN answers with something else");
    cursor = reply->elements[0].text;
    const auto& fields = reply->elements[1].elements;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      if (!visit(fields[i].text, fields[i + 1].text))
        return damaged_value(key, fmt::format("field {}", escape_unsafe(fields[i].text)));
  } while (cursor != "0");
  return {};
}

Result<void> BucketStore::visit_hosts(BucketId bucket,
                                      const std::function<void(HostId, BucketHost)>& visit) {
  return visit_hash(keys_.hosts(bucket), [&](std::string_view field, std::string_view value) {
    auto host = decode_bucket_host(value);
    if (field.size() != 8 || !host) return false;
    visit(load_big_endian<std::uint64_t>(field), std::move(*host));
    return true;
  });
}

Result<void> BucketStore::visit_set_aside(
    BucketId bucket, const std::function<void(std::uint64_t, std::string_view)>& visit,
    const std::function<void(Fingerprint, std::uint32_t)>& visit_depth) {
  return visit_hash(keys_.set_aside(bucket), [&](std::string_view field, std::string_view value) {
    if (const auto noted = decode_noted_depth(field, value)) {
      if (visit_depth) visit_depth(noted->first, noted->second);
      return true;
    }
    if (field.size() != 8 || !decode_set_aside(value)) return false;
    visit(load_big_endian<std::uint64_t>(field), value);
    return true;
  });
}

Result<void> BucketStore::visit_deferred(BucketId bucket,
                                         const std::function<void(DeferredUrl)>& visit) {
  const std::string key = keys_.deferred(bucket);
  for (std::size_t from = 0;; from += kPart) {
    RedisCommand command("ZRANGE", key);
    auto reply = read(command.arg(key).arg(from).arg(from + kPart - 1).arg("WITHSCORES"));
    if (!reply) return tl::unexpected(reply.error());
    const auto& fields = reply->elements;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
      const auto score = signed_number_in(fields[i + 1].text);
      auto url = score ? decode_bucket_deferred(fields[i].text, *score) : std::nullopt;
      if (!url)
        return damaged_value(key, fmt::format("member {} is not a deferred URL", from + i / 2));
      visit(std::move(*url));
    }
    if (fields.size() < 2 * kPart) return {};
  }
}

Result<std::vector<MemberTable::Seen>> BucketStore::members() {
  std::vector<MemberTable::Seen> members;
  const std::string key = keys_.members();
  auto visited = visit_hash(key, [&](std::string_view name, std::string_view value) {
    const auto record = decode_member(value);
    if (record) members.push_back({.name = std::string(name), .record = *record});
    return record.has_value();
  });
  if (!visited) return tl::unexpected(visited.error());
  return members;
}

}  // namespace trawl
