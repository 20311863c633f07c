#include "frontier/shared/bucket_store.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/big_endian.h"
#include "base/safe_text.h"

namespace trawl {
namespace {

using Code = BucketStore::Written::Code;
constexpr std::size_t kPart = 1000;  // elements read at once

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::unexpected<Error> damaged(std::string_view key, std::string_view what) {
  return error(
      ErrorCode::kCorrupt,
      fmt::format("the key {} in Redis has a damaged value: {}; delete the crawl's keys, or "
                  "restore them from a backup, with all crawlers stopped",
                  key, what));
}

std::string message_element(const InboxMessage& message) {
  return std::string(message.id.data(), message.id.size()).append(message.body);
}

}  // namespace

// Reads.

Result<RedisReply> BucketStore::checked(const RedisCommand& command, RedisAnswer answer) {
  if (!answer.reply) return error(ErrorCode::kUnavailable, answer.trouble);
  if (answer.reply->is_error()) return tl::unexpected(explain(command, *answer.reply));
  return std::move(*answer.reply);
}

Result<RedisReply> BucketStore::read(const RedisCommand& command) {
  return checked(command, client_.run_one(command, {.patience = patience_}));
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
    auto reply = checked(commands[i], std::move(answers[i]));
    if (!reply) {
      owners.push_back(tl::unexpected(reply.error()));
      continue;
    }
    const auto& fields = reply->elements;
    const auto version = fields.size() == 3 && !fields[2].is_nil()
                             ? number_in(fields[2].text)
                             : std::optional<std::uint64_t>(0);
    if (fields.size() != 3 || !version) {
      owners.push_back(damaged(commands[i].key(), "its field v is not a number"));
      continue;
    }
    const bool exists = !fields[0].is_nil() || !fields[1].is_nil() || !fields[2].is_nil();
    owners.push_back(Owner{
        .token = fields[0].text, .renewal = fields[1].text, .version = *version, .exists = exists});
  }
  return owners;
}

std::vector<Result<std::vector<InboxMessage>>> BucketStore::read_inboxes(
    std::span<const BucketId> buckets, std::size_t limit) {
  std::vector<RedisCommand> commands;
  for (const BucketId bucket : buckets) {
    const std::string key = keys_.inbox(bucket);
    commands.push_back(RedisCommand("LRANGE", key));
    commands.back().arg(key).arg(0).arg(static_cast<std::int64_t>(limit) - 1);
  }
  auto answers = client_.run(commands, {.patience = patience_});
  std::vector<Result<std::vector<InboxMessage>>> inboxes;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    auto reply = checked(commands[i], std::move(answers[i]));
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
      inboxes.push_back(
          damaged(commands[i].key(), fmt::format("message {} is too short", messages.size())));
    } else {
      inboxes.push_back(std::move(messages));
    }
  }
  return inboxes;
}

std::vector<Result<std::uint64_t>> BucketStore::inbox_sizes(std::span<const BucketId> buckets) {
  std::vector<RedisCommand> commands;
  for (const BucketId bucket : buckets) {
    const std::string key = keys_.inbox(bucket);
    commands.push_back(RedisCommand("LLEN", key));
    commands.back().arg(key);
  }
  auto answers = client_.run(commands, {.patience = patience_});
  std::vector<Result<std::uint64_t>> sizes;
  for (std::size_t i = 0; i < commands.size(); ++i)
    sizes.push_back(checked(commands[i], std::move(answers[i])).map([](const RedisReply& reply) {
      return static_cast<std::uint64_t>(reply.integer);
    }));
  return sizes;
}

Result<std::vector<QueuedUrl>> BucketStore::read_queue(BucketId bucket, HostId host,
                                                       std::int32_t priority, std::size_t from,
                                                       std::size_t limit) {
  std::vector<QueuedUrl> urls;
  if (limit == 0) return urls;
  const std::string key = keys_.queue(bucket, host, priority);
  RedisCommand command("LRANGE", key);
  command.arg(key).arg(from).arg(from + limit - 1);
  auto reply = read(command);
  if (!reply) return tl::unexpected(reply.error());
  for (std::size_t i = 0; i < reply->elements.size(); ++i) {
    const auto url = decode_queued(reply->elements[i].text);
    if (!url) return damaged(key, fmt::format("element {} is not a queued URL", from + i));
    urls.push_back({.host = host,
                    .order = {.priority = priority, .sequence = url->first},
                    .record = std::string(url->second)});
  }
  return urls;
}

Result<std::uint64_t> BucketStore::queue_size(BucketId bucket, HostId host, std::int32_t priority) {
  const std::string key = keys_.queue(bucket, host, priority);
  RedisCommand command("LLEN", key);
  return read(command.arg(key)).map([](const RedisReply& reply) {
    return static_cast<std::uint64_t>(reply.integer);
  });
}

Result<void> BucketStore::visit_fingerprints(
    BucketId bucket, std::uint64_t newest_segment,
    const std::function<void(std::span<const std::uint64_t>)>& visit) {
  std::vector<std::uint64_t> fingerprints;
  for (std::uint64_t segment = 0; segment <= newest_segment; ++segment) {
    const std::string key = keys_.fingerprints(bucket, segment);
    RedisCommand command("LRANGE", key);
    auto reply = read(command.arg(key).arg(0).arg(-1));
    if (!reply) return tl::unexpected(reply.error());
    for (std::size_t i = 0; i < reply->elements.size(); ++i) {
      const std::string& bytes = reply->elements[i].text;
      if (bytes.size() % 8 != 0) {
        return damaged(
            key, fmt::format("element {} has {} bytes, not a multiple of 8", i, bytes.size()));
      }
      fingerprints.resize(bytes.size() / 8);
      std::memcpy(fingerprints.data(), bytes.data(), bytes.size());
      visit(fingerprints);
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
      return damaged(key, "HSCAN answers with something else");
    cursor = reply->elements[0].text;
    const auto& fields = reply->elements[1].elements;
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      if (!visit(fields[i].text, fields[i + 1].text))
        return damaged(key, fmt::format("field {}", escape_unsafe(fields[i].text)));
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
    BucketId bucket, const std::function<void(std::uint64_t, std::string_view)>& visit) {
  return visit_hash(keys_.set_aside(bucket), [&](std::string_view field, std::string_view value) {
    if (field.size() != 8 || value.empty()) return false;
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
      const auto score = number_in(fields[i + 1].text);
      auto url = score ? decode_bucket_deferred(fields[i].text, static_cast<std::int64_t>(*score))
                       : std::nullopt;
      if (!url) return damaged(key, fmt::format("member {} is not a deferred URL", from + i / 2));
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

Result<void> BucketStore::set_member(std::string_view name, const MemberRecord& record) {
  const std::string key = keys_.members();
  RedisCommand command("HSET", key);
  auto reply = read(command.arg(key).arg(name).arg(encode_member(record)));
  if (!reply) return tl::unexpected(reply.error());
  return {};
}

// Writes.

Error BucketStore::explain(const RedisCommand& command, const RedisReply& reply) {
  const std::string& text = reply.text;
  if (reply.is_error("OOM")) {
    return {
        ErrorCode::kNoSpace,
        fmt::format("Redis has reached its maxmemory (key {}): URLs are not admitted until pages "
                    "end or maxmemory is raised",
                    command.key())};
  }
  if (reply.is_error("NOPERM") || reply.is_error("NOAUTH")) {
    return {ErrorCode::kPermission,
            fmt::format("Redis refuses access to the key {}: {}; check the rights of "
                        "cluster.username (it needs ~{{crawl:* and +@all -@dangerous, or the like)",
                        command.key(), text)};
  }
  if (text.find("WRONGTYPE") != std::string::npos) {
    std::vector<std::string> keys = command.keys();
    if (keys.empty()) keys.push_back(command.key());
    for (const std::string& key : keys) {
      RedisCommand type("TYPE", key);
      const RedisAnswer answer = client_.run_one(type.arg(key), {.patience = patience_});
      if (!answer.reply || answer.reply->text == "none") continue;
      const std::string_view expected = BucketKeys::type_of(key);
      if (answer.reply->text == expected) continue;
      return {ErrorCode::kCorrupt,
              fmt::format("the key {} in Redis is a {}, not a {}: another program uses this name; "
                          "give the crawl another cluster.name",
                          key, answer.reply->text, expected)};
    }
  }
  return {ErrorCode::kIo, fmt::format("Redis answers for the key {}: {}", command.key(), text)};
}

BucketStore::Written BucketStore::written(const RedisCommand& command, RedisAnswer& answer) {
  if (!answer.reply) return {.error = Error{ErrorCode::kUnavailable, answer.trouble}};
  const RedisReply& reply = *answer.reply;
  if (reply.is_error()) {
    return {.code = reply.is_error("OOM") ? Code::kFull : Code::kFailed,
            .error = explain(command, reply)};
  }
  const bool is_push = reply.is_integer();
  const std::string_view word = is_push ? "OK"
                                : reply.is_array() && !reply.elements.empty()
                                    ? reply.elements[0].text
                                    : std::string_view();
  if (word == "FENCED") return {.code = Code::kFenced};
  const auto number = [&](std::size_t i) {
    return i < reply.elements.size() ? number_in(reply.elements[i].text) : std::nullopt;
  };
  const auto version = is_push ? std::optional<std::uint64_t>(0) : number(1);
  if (!version || (word != "OK" && word != "DONE" && word != "BEHIND")) {
    return {.code = Code::kFailed,
            .error = damaged(command.key(), "a script answers with something else").value()};
  }
  if (word == "BEHIND") return {.code = Code::kBehind, .version = *version};
  if (!answer.replicated)
    return {.version = *version, .error = Error{ErrorCode::kUnavailable, answer.trouble}};
  return {.code = Code::kDone, .version = *version, .missing = number(2).value_or(0)};
}

std::vector<BucketStore::Written> BucketStore::write(std::span<const RedisCommand> commands,
                                                     bool wait) {
  auto answers = client_.run(commands, {.wait = wait, .patience = patience_});
  std::vector<Written> results;
  for (std::size_t i = 0; i < commands.size(); ++i)
    results.push_back(written(commands[i], answers[i]));
  return results;
}

std::vector<BucketStore::Claimed> BucketStore::claim(std::span<const Claim> claims) {
  std::vector<RedisCommand> commands;
  for (const Claim& claim : claims) {
    const std::string key = keys_.meta(claim.bucket);
    commands.push_back(RedisCommand(scripts_.claim, std::span(&key, 1)));
    commands.back().arg(claim.seen.token).arg(claim.seen.renewal).arg(claim.token);
  }
  auto answers = client_.run(commands, {.wait = true, .patience = patience_});
  std::vector<Claimed> claimed(claims.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    claimed[i].result = written(commands[i], answers[i]);
    claimed[i].result.missing = 0;
    if (claimed[i].result.code != Code::kDone) continue;
    const auto& fields = answers[i].reply->elements;
    const auto number = [&](std::size_t at) { return number_in(fields[at].text); };
    if (fields.size() != 6 || !number(3) || !number(4) || !number(5)) {
      claimed[i].result = {
          .code = Code::kFailed,
          .error = damaged(commands[i].key(), "q, open and s must be numbers").value()};
      continue;
    }
    claimed[i].meta = {.version = claimed[i].result.version,
                       .counters = fields[2].text,
                       .next_sequence = *number(3),
                       .open = *number(4),
                       .segment = *number(5)};
  }
  return claimed;
}

std::vector<BucketStore::Written> BucketStore::renew(std::span<const Renewal> renewals) {
  std::vector<RedisCommand> commands;
  for (const Renewal& renewal : renewals) {
    const std::string key = keys_.meta(renewal.bucket);
    commands.push_back(RedisCommand(scripts_.renew, std::span(&key, 1)));
    commands.back().arg(renewal.token).arg(renewal.name).once();
  }
  return write(commands, true);
}

std::vector<BucketStore::Written> BucketStore::release(std::span<const Release> releases) {
  std::vector<RedisCommand> commands;
  for (const Release& release : releases) {
    const std::string key = keys_.meta(release.bucket);
    commands.push_back(RedisCommand(scripts_.release, std::span(&key, 1)));
    commands.back().arg(release.token);
  }
  return write(commands, true);
}

RedisCommand BucketStore::encode(BucketId bucket, std::string_view token, std::uint64_t number,
                                 const BucketBatch& batch) const {
  std::vector<std::string> keys = {
      keys_.meta(bucket),     keys_.fingerprints(bucket, batch.meta.segment),
      keys_.inbox(bucket),    keys_.hosts(bucket),
      keys_.deferred(bucket), keys_.set_aside(bucket)};
  for (const BucketBatch::Queue& queue : batch.queues)
    keys.push_back(keys_.queue(bucket, queue.host, queue.priority));
  RedisCommand command(scripts_.apply, keys);
  command.arg(token).arg(number).arg(batch.meta.counters).arg(batch.meta.next_sequence);
  command.arg(batch.meta.open).arg(batch.meta.segment);
  command.arg(std::string_view(reinterpret_cast<const char*>(batch.admitted.data()),
                               batch.admitted.size() * sizeof(std::uint64_t)));
  command.arg(batch.taken.size());
  for (const MessageId& id : batch.taken)
    command.arg(std::string_view(id.data(), id.size()));
  command.arg(batch.hosts.size());
  for (const auto& [host, value] : batch.hosts)
    command.arg(encode_sequence(host)).arg(value ? encode_bucket_host(*value) : std::string());
  command.arg(batch.deferred.size());
  for (const DeferredUrl& url : batch.deferred)
    command.arg(url.not_before).arg(encode_bucket_deferred(url));
  command.arg(batch.no_longer_deferred.size());
  for (const DeferredUrl& url : batch.no_longer_deferred)
    command.arg(encode_bucket_deferred(url));
  command.arg(batch.set_aside.size());
  for (const auto& [fingerprint, value] : batch.set_aside)
    command.arg(encode_sequence(fingerprint)).arg(value.value_or(std::string()));
  for (const BucketBatch::Queue& queue : batch.queues) {
    command.arg(queue.ended.size());
    for (const std::uint64_t sequence : queue.ended)
      command.arg(encode_sequence(sequence));
    command.arg(queue.added.size());
    for (const std::string& url : queue.added)
      command.arg(url);
  }
  return command;
}

std::vector<BucketStore::Written> BucketStore::apply(std::span<const RedisCommand> batches) {
  return write(batches, replicated_);
}

std::vector<BucketStore::Written> BucketStore::push(std::span<const Push> pushes) {
  std::vector<RedisCommand> commands;
  for (const Push& push : pushes) {
    const std::string key = keys_.inbox(push.bucket);
    commands.push_back(RedisCommand("RPUSH", key));
    commands.back().arg(key);
    for (const InboxMessage& message : push.messages)
      commands.back().arg(message_element(message));
  }
  return write(commands, replicated_);
}

}  // namespace trawl
