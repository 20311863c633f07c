#include <cassert>

#include "frontier/store/store.h"
#include "frontier/store/store_records.h"

namespace trawl {

void Store::Batch::add(Family family, Kind kind, std::string_view key, std::string_view value) {
  entries_.push_back({.offset = bytes_.size(),
                      .key_size = static_cast<std::uint32_t>(key.size()),
                      .value_size = static_cast<std::uint32_t>(value.size()),
                      .family = family,
                      .kind = kind});
  bytes_.append(key).append(value);
}

Store::Batch::Change Store::Batch::change(std::size_t i) const {
  assert(i < entries_.size());
  const Entry& entry = entries_[i];
  const std::string_view bytes(bytes_);
  return {.family = entry.family,
          .kind = entry.kind,
          .key = bytes.substr(entry.offset, entry.key_size),
          .value = bytes.substr(entry.offset + entry.key_size, entry.value_size)};
}

void Store::Batch::clear() {
  bytes_.clear();
  entries_.clear();
}

void Store::Batch::add_pending(HostId host, const QueueOrder& order, std::string_view record) {
  add(kPending, Kind::kPut, view(pending_key_bytes(host, order)), record);
}
void Store::Batch::remove_pending(HostId host, const QueueOrder& order) {
  add(kPending, Kind::kSingleDelete, view(pending_key_bytes(host, order)));
}

void Store::Batch::add_deferred(std::int64_t not_before, std::uint64_t sequence, HostId host,
                                std::int32_t priority, std::string_view record) {
  std::string value;
  value.reserve(record.size() + 12);
  encode_deferred(value, host, priority, record);
  add(kDeferred, Kind::kPut, view(deferred_key(not_before, sequence)), value);
}
void Store::Batch::remove_deferred(std::int64_t not_before, std::uint64_t sequence) {
  add(kDeferred, Kind::kDelete, view(deferred_key(not_before, sequence)));
}

void Store::Batch::log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints) {
  assert(!fingerprints.empty());
  std::string value;
  value.reserve(fingerprints.size() * 16);
  encode_fingerprints(value, fingerprints);
  add(kAdmissions, Kind::kPut, view(number_key(first)), value);
}

void Store::Batch::set_host(HostId host, const HostRecord& record) {
  add(kHosts, Kind::kPut, view(number_key(host)), encode_host(record));
}
void Store::Batch::remove_host(HostId host) {
  add(kHosts, Kind::kDelete, view(number_key(host)));
}

void Store::Batch::set_ledger(Fingerprint fingerprint, const LedgerRecord& record) {
  add(kLedger, Kind::kPut, view(fingerprint_key(fingerprint)), encode_ledger(record));
}

void Store::Batch::lower_depth(Fingerprint fingerprint, std::uint32_t depth) {
  add(kDepths, Kind::kMerge, view(fingerprint_key(fingerprint)), view(encode_depth(depth)));
}
void Store::Batch::forget_depth(Fingerprint fingerprint) {
  add(kDepths, Kind::kDelete, view(fingerprint_key(fingerprint)));
}

void Store::Batch::set_aside(Fingerprint fingerprint, std::string_view value) {
  add(kSetAside, Kind::kPut, view(fingerprint_key(fingerprint)), value);
}
void Store::Batch::remove_set_aside(Fingerprint fingerprint) {
  add(kSetAside, Kind::kDelete, view(fingerprint_key(fingerprint)));
}

void Store::Batch::set_aside_rules(std::string_view profile) {
  add(kMeta, Kind::kPut, kSetAsideRulesKey, profile);
}

void Store::Batch::set_counters(const Counters& counters) {
  add(kMeta, Kind::kPut, kCountersKey, encode_counters(counters));
}

}  // namespace trawl
