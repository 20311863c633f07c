#include "frontier/shared/bucket_store.h"

#include <utility>

#include <fmt/format.h>

#include "frontier/shared/redis_values.h"
#include "frontier/store/store_records.h"

namespace trawl {
namespace {

using Code = BucketStore::Written::Code;
std::string message_element(const InboxMessage& message) {
  return std::string(message.id.data(), message.id.size()).append(message.body);
}

}  // namespace

BucketStore::Written BucketStore::written(const RedisCommand& command, RedisAnswer& answer) {
  if (!answer.reply) return {.error = Error{ErrorCode::kUnavailable, answer.trouble}};
  const RedisReply& reply = *answer.reply;
  if (reply.is_error()) {
    return {.code = reply.is_error("OOM") ? Code::kFull : Code::kFailed,
            .error = explain_refusal(client_, command, reply)};
  }
  const bool is_push = reply.is_integer();
  const std::string_view word = is_push ? "OK"
                                : reply.is_array() && !reply.elements.empty()
                                    ? reply.elements[0].text
                                    : std::string_view();
  if (word == "FENCED") return {.code = Code::kFenced};
  const auto text = [&](std::size_t i) {
    return i < reply.elements.size() ? std::string_view(reply.elements[i].text) : "";
  };
  if (word == "FOREIGN")
    return {.code = Code::kFailed, .error = foreign_key(text(1), text(2), text(3))};
  if (word == "DAMAGED") {
    const std::string what = fmt::format("its field {} is not a number", text(1));
    return {.code = Code::kFailed, .error = damaged_value(command.key(), what).value()};
  }
  const auto number = [&](std::size_t i) {
    return i < reply.elements.size() ? number_in(reply.elements[i].text) : std::nullopt;
  };
  const auto version = is_push ? std::optional<std::uint64_t>(0) : number(1);
  if (!version || (word != "OK" && word != "DONE" && word != "BEHIND")) {
    return {.code = Code::kFailed,
            .error = damaged_value(command.key(), "a script answers with something else").value()};
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
    const BucketId b = claim.bucket;
    const std::vector<std::string> keys = {keys_.meta(b),     keys_.inbox(b),     keys_.hosts(b),
                                           keys_.deferred(b), keys_.set_aside(b), keys_.commands(b),
                                           keys_.probe(b)};
    commands.push_back(RedisCommand(scripts_.claim, keys));
    commands.back().arg(claim.seen.token).arg(claim.seen.renewal).arg(claim.token);
  }
  auto answers = client_.run(commands, {.wait = true, .patience = patience_});
  std::vector<Claimed> claimed(claims.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    claimed[i].result = written(commands[i], answers[i]);
    claimed[i].result.missing = 0;
    if (claimed[i].result.code != Code::kDone) continue;
    const auto& fields = answers[i].reply->elements;
    const auto number = [&](std::size_t at) {
      return at < fields.size() ? number_in(fields[at].text) : std::nullopt;
    };
    const auto damaged = [&](std::string_view what) {
      return Written{.code = Code::kFailed,
                     .error = damaged_value(commands[i].key(), what).value()};
    };
    if (!number(3) || !number(4) || !number(5)) {
      claimed[i].result = damaged("q, open and s must be whole numbers");
    } else if (!fields[2].text.empty() && !decode_counters(fields[2].text)) {
      claimed[i].result = damaged("its field c holds no totals");
    } else {
      claimed[i].meta = {.version = claimed[i].result.version,
                         .counters = fields[2].text,
                         .next_sequence = *number(3),
                         .open = *number(4),
                         .segment = *number(5)};
    }
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
      keys_.deferred(bucket), keys_.set_aside(bucket),
      keys_.commands(bucket)};
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
  command.arg(batch.set_aside.size() + batch.depths.size());
  for (const auto& [fingerprint, value] : batch.set_aside)
    command.arg(encode_sequence(fingerprint)).arg(value.value_or(std::string()));
  for (const auto& [fingerprint, depth] : batch.depths)
    command.arg(encode_depth_field(fingerprint)).arg(depth ? std::to_string(*depth) : "");
  command.arg(batch.commands_taken.size());
  for (const MessageId& id : batch.commands_taken)
    command.arg(std::string_view(id.data(), id.size()));
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

RedisCommand BucketStore::encode(const Push& push) const {
  const std::string key = keys_.inbox(push.bucket);
  RedisCommand command("RPUSH", key);
  command.arg(key);
  for (const InboxMessage& message : push.messages)
    command.arg(message_element(message));
  return command;
}

std::vector<BucketStore::Written> BucketStore::apply(std::span<const RedisCommand> commands) {
  return write(commands, replicated_);
}

std::vector<BucketStore::Written> BucketStore::push(std::span<const Push> pushes) {
  std::vector<RedisCommand> commands;
  for (const Push& push : pushes)
    commands.push_back(encode(push));
  return write(commands, replicated_);
}

std::vector<BucketStore::Written> BucketStore::push_commands(std::span<const Command> all) {
  std::vector<RedisCommand> commands;
  for (const Command& one : all) {
    const std::vector<std::string> keys = {keys_.meta(one.bucket), keys_.commands(one.bucket)};
    commands.push_back(RedisCommand(scripts_.push_command, keys));
    commands.back().arg(message_element(one.message));
  }
  return write(commands, true);
}

std::vector<BucketStore::Written> BucketStore::set_apart(std::span<const Damaged> damaged) {
  std::vector<RedisCommand> commands;
  for (const Damaged& one : damaged) {
    const std::vector<std::string> keys = {
        one.is_command ? keys_.commands(one.bucket) : keys_.inbox(one.bucket),
        keys_.damaged(one.bucket)};
    commands.push_back(RedisCommand(scripts_.set_apart, keys));
    commands.back().arg(one.element);
  }
  return write(commands, replicated_);
}

BucketStore::Written BucketStore::set_member(std::string_view name, const MemberTable::Beat& beat) {
  const std::string key = keys_.members();
  RedisCommand command(scripts_.beat, std::span(&key, 1));
  command.arg(name).arg(encode_member(beat.record));
  command.arg(encode_member_session(beat.record.session).size());
  command.arg(beat.replaces ? encode_member(*beat.replaces) : std::string());
  return write(std::span(&command, 1), true).front();
}

BucketStore::Written BucketStore::remove_member(std::string_view name, const MemberRecord& record) {
  const std::string key = keys_.members();
  RedisCommand command(scripts_.remove_member, std::span(&key, 1));
  command.arg(name).arg(encode_member(record));
  return write(std::span(&command, 1), true).front();
}

}  // namespace trawl
