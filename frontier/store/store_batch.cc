#include "frontier/store/store_batch.h"

#include <cassert>

#include "frontier/store/store_records.h"

namespace trawl {

void StoreBatch::add(StoreFamily family, Kind kind, std::string_view key, std::string_view value) {
  entries_.push_back({.offset = bytes_.size(),
                      .key_size = static_cast<std::uint32_t>(key.size()),
                      .value_size = static_cast<std::uint32_t>(value.size()),
                      .family = family,
                      .kind = kind});
  bytes_.append(key).append(value);
}

StoreBatch::Change StoreBatch::change(std::size_t i) const {
  assert(i < entries_.size());
  const Entry& entry = entries_[i];
  const std::string_view bytes(bytes_);
  if (entry.kind == Kind::kPutRun) {
    const Run& run = runs_[entry.key_size];
    return {.family = entry.family,
            .kind = entry.kind,
            .key = bytes.substr(entry.offset, RunReader::kHeaderBytes),
            .value = run.bytes,
            .in_file = run.is_in_file() ? &run.run->shared() : nullptr};
  }
  return {.family = entry.family,
          .kind = entry.kind,
          .key = bytes.substr(entry.offset, entry.key_size),
          .value = bytes.substr(entry.offset + entry.key_size, entry.value_size)};
}

void StoreBatch::clear() {
  bytes_.clear();
  entries_.clear();
  runs_.clear();
  run_bytes_ = 0;
  messages_.clear();
  commands_.clear();
  counted_.clear();
}

void StoreBatch::add_pending(HostId host, const QueueOrder& order, std::string_view record) {
  add(kPending, Kind::kPut, view(pending_key_bytes(host, order)), record);
}
void StoreBatch::remove_pending(HostId host, const QueueOrder& order) {
  add(kPending, Kind::kSingleDelete, view(pending_key_bytes(host, order)));
}

void StoreBatch::add_run(const std::shared_ptr<const QueueRun>& run,
                         std::span<const QueueRun::Part> parts) {
  assert(!parts.empty());
  const QueueRun::Part& last = parts.back();
  entries_.push_back({.offset = bytes_.size(),
                      .key_size = static_cast<std::uint32_t>(runs_.size()),
                      .value_size = 0,
                      .family = kPending,
                      .kind = Kind::kPutRun});
  bytes_ += RunReader::header(parts.front().sequence, last.first + last.urls - parts.front().first);
  const std::string_view bytes = run->bytes(parts.front().begin, last.end);
  runs_.push_back({.run = run, .bytes = bytes});
  if (!runs_.back().is_in_file()) run_bytes_ += bytes.size();
}

void StoreBatch::add_deferred(std::int64_t not_before, std::uint64_t sequence, HostId host,
                              std::int32_t priority, std::string_view record) {
  std::string value;
  value.reserve(record.size() + 12);
  encode_deferred(value, host, priority, record);
  add(kDeferred, Kind::kPut, view(deferred_key(not_before, sequence)), value);
}
// RocksStore needs only the key.
void StoreBatch::remove_deferred(const DeferredUrl& url) {
  std::string value;
  encode_deferred(value, url.host, url.priority, url.record);
  add(kDeferred, Kind::kDelete, view(deferred_key(url.not_before, url.sequence)), value);
}

void StoreBatch::log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints) {
  assert(!fingerprints.empty());
  std::string value;
  value.reserve(fingerprints.size() * 16);
  encode_fingerprints(value, fingerprints);
  add(kAdmissions, Kind::kPut, view(number_key(first)), value);
}

void StoreBatch::set_host(HostId host, const HostRecord& record) {
  add(kHosts, Kind::kPut, view(number_key(host)), encode_host(record));
}
void StoreBatch::remove_host(HostId host) {
  add(kHosts, Kind::kDelete, view(number_key(host)));
}

void StoreBatch::set_ledger(Fingerprint fingerprint, const LedgerRecord& record) {
  add(kLedger, Kind::kPut, view(fingerprint_key(fingerprint)), encode_ledger(record));
}

void StoreBatch::lower_depth(Fingerprint fingerprint, std::uint32_t depth) {
  add(kDepths, Kind::kMerge, view(fingerprint_key(fingerprint)), view(encode_depth(depth)));
}
void StoreBatch::forget_depth(Fingerprint fingerprint) {
  add(kDepths, Kind::kDelete, view(fingerprint_key(fingerprint)));
}

void StoreBatch::set_aside(Fingerprint fingerprint, std::string_view value) {
  add(kSetAside, Kind::kPut, view(fingerprint_key(fingerprint)), value);
}
void StoreBatch::remove_set_aside(Fingerprint fingerprint) {
  add(kSetAside, Kind::kDelete, view(fingerprint_key(fingerprint)));
}

void StoreBatch::set_aside_rules(std::string_view profile) {
  add(kMeta, Kind::kPut, kSetAsideRulesKey, profile);
}

void StoreBatch::set_counters(const Counters& counters) {
  add(kMeta, Kind::kPut, kCountersKey, encode_counters(counters));
}

bool StoreBatch::visit_by_fingerprint(const Change& change, StoreChanges& changes) {
  const auto key = decode_fingerprint_key(change.key);
  if (!key) return false;
  if (change.family == kSetAside) {
    change.kind == Kind::kPut ? changes.set_aside(*key, change.value)
                              : changes.remove_set_aside(*key);
    return true;
  }
  if (change.family == kLedger) {
    const auto record = decode_ledger(change.value);
    if (record) changes.set_ledger(*key, *record);
    return record.has_value();
  }
  if (change.kind == Kind::kDelete) {
    changes.forget_depth(*key);
    return true;
  }
  const auto depth = decode_depth(change.value);
  if (depth) changes.lower_depth(*key, *depth);
  return depth.has_value();
}

bool StoreBatch::visit_run(const Change& change, StoreChanges& changes) {
  const auto header = RunReader::decode_header(change.key);
  if (!header) return false;
  const auto [first, count] = *header;
  RunReader run(change.value, first);
  std::uint64_t urls = 0;
  for (; const auto url = run.next(); ++urls) {
    if (urls == count) return false;
    changes.add_pending(url->host, url->order, url->record);
  }
  return urls == count && run.at_end();
}

bool StoreBatch::visit(const Change& change, StoreChanges& changes) {
  const bool puts = change.kind == Kind::kPut;
  switch (change.family) {
    case kMeta: {
      if (change.key == kSetAsideRulesKey) {
        changes.set_aside_rules(change.value);
        return true;
      }
      const auto counters = decode_counters(change.value);
      if (counters) changes.set_counters(*counters);
      return counters.has_value();
    }
    case kPending: {
      if (change.kind == Kind::kPutRun) return visit_run(change, changes);
      const auto key = decode_pending_key(change.key);
      if (!key) return false;
      puts ? changes.add_pending(key->first, key->second, change.value)
           : changes.remove_pending(key->first, key->second);
      return true;
    }
    case kDeferred: {
      const auto url = decode_deferred(change.key, change.value);
      if (!url) return false;
      puts ? changes.add_deferred(*url) : changes.remove_deferred(*url);
      return true;
    }
    case kHosts: {
      const auto host = decode_number_key(change.key);
      const auto record = puts ? decode_host(change.value) : std::nullopt;
      if (!host || puts != record.has_value()) return false;
      puts ? changes.set_host(*host, *record) : changes.remove_host(*host);
      return true;
    }
    case kAdmissions: {
      std::vector<Fingerprint> fingerprints;
      const auto first = decode_number_key(change.key);
      if (!first || !decode_fingerprints(change.value, fingerprints)) return false;
      changes.log_admissions(*first, fingerprints);
      return true;
    }
    default:
      return visit_by_fingerprint(change, changes);
  }
}

Result<void> StoreBatch::visit(StoreChanges& changes) const {
  for (const MessageId& message : messages_)
    changes.take_message(message);
  for (const MessageId& command : commands_)
    changes.take_command(command);
  for (const auto& [host, name] : counted_)
    changes.count_admitted(host, name);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (!visit(change(i), changes))
      return error(ErrorCode::kCorrupt, "a change of a batch cannot be decoded");
  return {};
}

}  // namespace trawl
