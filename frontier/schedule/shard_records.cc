// ShardState: the stored records of hosts, which are read without the shard's lock.
//
// A host comes into memory with the first URL that the shard learns of, when it wakes, or when a
// call needs it. It is `unread` then: its URLs are queued and counted, but it is not scheduled, and
// what needs its record waits. lease() reads the records of many such hosts at once; a call that
// needs one host reads that one.
//
// A read has three steps, as that of a head has: begin, under the lock; the read of the store,
// without it; end_records(), under the lock again. What was read holds then, since the stored
// record of a host changes only by way of a host whose record is known:
//
// - A host leaves memory only when its record is_saved(): all that record_of() returned is durable,
//   and nothing has changed since. So each later read finds it.
// - While a host is `unread` nothing changes its record, and record_of() returns nothing. It may be
//   asked all the same, by a change that was stored with that of another operation before the host
//   was forgotten.
//
// An unread host stays in memory: it is forgotten at its turn, and has none.
#include <algorithm>
#include <cassert>
#include <limits>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

// Hosts whose records are read together.
constexpr std::size_t kRecordsAtOnce = 256;

}  // namespace

HostIndex ShardState::add_host(HostId id) {
  const HostIndex i = hosts_.add(id);
  // P1: what was started just before a restart, or by the owner before, is not known, and every
  // host waits its full delay.
  if (const auto since = rests_since(id)) hosts_[i].surely_started = *since;
  if (options_.domains != nullptr || options_.addresses != nullptr) {
    if (groups_.size() <= i) groups_.resize(std::max<std::size_t>(i + 1, groups_.size() * 3 / 2));
    groups_[i] = {};
  }
  return i;
}

void ShardState::set_record(HostIndex i, const std::optional<HostRecord>& record) {
  Host& host = hosts_[i];
  host.answered = record && record->answered;
  if (!record || record->is_default()) return;
  host.extra = std::make_unique<HostExtra>(HostExtra{.record = *record});
  host.extra->record.answered = false;  // see Host::answered
  update_block(i);
}

// A host that is not in memory. It may sleep.
HostIndex ShardState::add_unread(HostId id) {
  const std::uint64_t urls = sleeping_.remove(id);
  const HostIndex i = urls > 0 ? wake(id, urls) : add_host(id);
  hosts_[i].unread = true;
  return i;
}

bool ShardState::is_known(HostId id) const {
  const HostIndex i = hosts_.find(id);
  return i != kNoHost && !hosts_[i].unread;
}

bool ShardState::is_present(HostId id) const {
  return hosts_.find(id) != kNoHost || sleeping_.urls(id) > 0;
}

bool ShardState::is_unread(HostId id) const {
  const HostIndex i = hosts_.find(id);
  return i != kNoHost && hosts_[i].unread;
}

void ShardState::begin_record(HostIndex i, RecordRead& read) {
  Host& host = hosts_[i];
  assert(host.unread && !host.record_under_way);
  host.record_under_way = true;
  ++records_under_way_;
  read.hosts.push_back(i);
  read.records.push_back({.host = host.id});
}

RecordRead ShardState::begin_arrivals() {
  RecordRead read;
  if (closed()) return read;
  take_inbox();
  // Which thread commits, and so the order in the inbox, is up to the machine.
  if (options_.deterministic)
    std::ranges::sort(arrived_, {},
                      [this](HostIndex i) { return i < hosts_.end() ? hosts_[i].id : HostId(); });
  while (!arrived_.empty() && read.hosts.size() < kRecordsAtOnce) {
    const HostIndex i = arrived_.front();
    arrived_.pop_front();
    // Otherwise it was read alone.
    if (i < hosts_.end() && hosts_[i].unread && !hosts_[i].record_under_way) begin_record(i, read);
  }
  return read;
}

RecordRead ShardState::begin_record_of(HostId id) {
  RecordRead read;
  const HostIndex found = hosts_.find(id);
  const HostIndex i = found != kNoHost ? found : add_unread(id);
  if (hosts_[i].unread && !hosts_[i].record_under_way) begin_record(i, read);
  return read;
}

void ShardState::end_records(const RecordRead& read, bool succeeded) {
  for (std::size_t n = 0; n < read.hosts.size(); ++n) {
    const HostIndex i = read.hosts[n];
    Host& host = hosts_[i];
    assert(host.id == read.records[n].host && host.unread && host.record_under_way);
    host.record_under_way = false;
    if (host.gone) {
      remove_if_read(i);
      continue;
    }
    if (!succeeded) {
      arrived_.push_back(i);
      continue;
    }
    host.unread = false;
    set_record(i, read.records[n].record);
    reschedule(i);
  }
  records_under_way_ -= read.hosts.size();
}

// Whether the store has the host's record as it is in memory.
bool ShardState::is_saved(const Host& host) const {
  if (host.record_unsaved) return false;
  return options_.forget_uncommitted || !uncommitted_.contains(host.id);
}

HostRecord ShardState::record_of(const Host& host) const {
  HostRecord record = host.extra ? host.extra->record : HostRecord{};
  record.answered = host.answered;
  return record;
}

std::optional<HostRecord> ShardState::record_of(HostId id, std::uint64_t change) {
  if (!is_here(id)) return std::nullopt;
  ++uncommitted_[id];
  const HostIndex i = hosts_.find(id);
  if (i == kNoHost || hosts_[i].unread) return std::nullopt;
  commit_change(id, change);
  const auto journal = pending_changes_.find(id);
  hosts_[i].record_unsaved = journal != pending_changes_.end();
  if (journal == pending_changes_.end()) return record_of(hosts_[i]);
  HostRecord record = journal->second.record();
  record.answered = hosts_[i].answered;
  return record;
}

// What record_of() returned is durable.
void ShardState::note_saved(const SavedHost& saved) {
  const auto host = uncommitted_.find(saved.host);
  assert(host != uncommitted_.end() || options_.in_ranges);
  if (host == uncommitted_.end()) return;
  if (--host->second == 0) uncommitted_.erase(host);
}

void ShardState::commit_change(HostId id, std::uint64_t change) {
  const auto journal = pending_changes_.find(id);
  if (journal == pending_changes_.end()) return;
  journal->second.commit(change);
  if (journal->second.empty()) pending_changes_.erase(journal);
}

}  // namespace trawl
