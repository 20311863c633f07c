#include "frontier/schedule/lease_table.h"

#include <cassert>
#include <utility>

namespace trawl {

void LeaseTable::append(List& list, LeaseIndex i) {
  assert((list.first == kNoLease) == (list.last == kNoLease));
  slots_[i].previous = list.last;
  slots_[i].next = kNoLease;
  (list.last == kNoLease ? list.first : slots_[list.last].next) = i;
  list.last = i;
}

void LeaseTable::unlink(List& list, LeaseIndex i) {
  LeaseSlot& slot = slots_[i];
  assert((slot.previous == kNoLease) == (list.first == i));
  assert((slot.next == kNoLease) == (list.last == i));
  (slot.previous == kNoLease ? list.first : slots_[slot.previous].next) = slot.next;
  (slot.next == kNoLease ? list.last : slots_[slot.next].previous) = slot.previous;
}

LeaseIndex LeaseTable::open(HostIndex host_index, const QueueOrder& order, std::string record,
                            SteadyTime now) {
  assert(!is_taken(hosts_[host_index].id, order.sequence));  // N1: one lease a URL
  const LeaseIndex i = slots_.add();
  LeaseSlot& slot = slots_[i];
  Host& host = hosts_[host_index];
  slot.number = next_++;
  slot.host_id = host.id;
  slot.host = host_index;
  slot.order = order;
  slot.since = now;
  slot.record = std::move(record);
  record_bytes_ += slot.record.capacity();
  by_number_.insert(slot.number, i);

  slot.earlier = newest_of(host.id, order.sequence);
  if (slot.earlier == kNoLease) {
    by_url_.insert(url_key(host.id, order.sequence), i);
  } else {
    by_url_.replace(url_key(host.id, order.sequence), slot.earlier, i);
  }
  slot.before = host.newest_lease;
  if (slot.before != kNoLease) slots_[slot.before].after = i;
  host.newest_lease = i;
  if (host.leased++ == 0) ++leased_hosts_;
  append(open_, i);
  return i;
}

LeaseIndex LeaseTable::find(std::uint64_t number) const {
  return by_number_.find(number, [&](LeaseIndex i) { return slots_[i].number == number; });
}

LeaseIndex LeaseTable::newest_of(HostId host, std::uint64_t sequence) const {
  return by_url_.find(url_key(host, sequence), [&](LeaseIndex i) {
    return slots_[i].order.sequence == sequence && slots_[i].host_id == host;
  });
}

bool LeaseTable::is_taken(HostId host, std::uint64_t sequence) const {
  for (LeaseIndex i = newest_of(host, sequence); i != kNoLease; i = slots_[i].earlier) {
    if (slots_[i].state != LeaseSlot::State::kExpired) return true;
  }
  return false;
}

void LeaseTable::leave_host(LeaseIndex i) {
  const LeaseSlot& slot = slots_[i];
  assert(slot.state == LeaseSlot::State::kOpen);
  Host& host = hosts_[slot.host];
  assert(host.leased > 0);
  if (slot.before != kNoLease) slots_[slot.before].after = slot.after;
  (slot.after == kNoLease ? host.newest_lease : slots_[slot.after].before) = slot.before;
  if (slot.fetched) --host.fetched_leases;
  if (--host.leased == 0) --leased_hosts_;
  unlink(open_, i);
}

void LeaseTable::leave_url(LeaseIndex i) {
  const HostId host = slots_[i].host_id;
  const std::uint64_t sequence = slots_[i].order.sequence;
  const LeaseIndex earlier = slots_[i].earlier;
  LeaseIndex later = newest_of(host, sequence);
  if (later == i) {
    if (earlier == kNoLease) {
      by_url_.erase(url_key(host, sequence), i);
    } else {
      by_url_.replace(url_key(host, sequence), i, earlier);
    }
    return;
  }
  while (slots_[later].earlier != i) {
    later = slots_[later].earlier;
    assert(later != kNoLease);
  }
  slots_[later].earlier = earlier;
}

// Frees a lease that was removed from its URL.
void LeaseTable::free(LeaseIndex i) {
  LeaseSlot& slot = slots_[i];
  assert(slot.state != LeaseSlot::State::kOpen);
  if (slot.state == LeaseSlot::State::kExpired) {
    assert(expired_count_ > 0);
    unlink(expired_, i);
    --expired_count_;
  }
  by_number_.erase(slot.number, i);
  slots_.remove(i);
}

std::string LeaseTable::end(LeaseIndex i) {
  LeaseSlot& slot = slots_[i];
  leave_host(i);
  slot.state = LeaseSlot::State::kEnded;
  assert(record_bytes_ >= slot.record.capacity());
  record_bytes_ -= slot.record.capacity();
  return std::exchange(slot.record, {});
}

std::string LeaseTable::expire(LeaseIndex i) {
  std::string record = end(i);
  slots_[i].state = LeaseSlot::State::kExpired;
  append(expired_, i);
  ++expired_count_;
  return record;
}

std::string LeaseTable::remove(LeaseIndex i) {
  std::string record = end(i);
  leave_url(i);
  free(i);
  return record;
}

void LeaseTable::forget(LeaseIndex i) {
  if (slots_[i].state == LeaseSlot::State::kOpen) end(i);
  leave_url(i);
  free(i);
}

void LeaseTable::renew(LeaseIndex i, SteadyTime expires) {
  assert(slots_[i].state == LeaseSlot::State::kOpen);
  slots_[i].expires = expires;
  unlink(open_, i);
  append(open_, i);
}

void LeaseTable::note_fetched(LeaseIndex i) {
  LeaseSlot& slot = slots_[i];
  assert(slot.state == LeaseSlot::State::kOpen);
  Host& host = hosts_[slot.host];
  if (slot.fetched || host.fetched_leases == kMaxFetchedLeases) return;
  slot.fetched = true;
  ++host.fetched_leases;
}

void LeaseTable::end_late(LeaseIndex i) {
  assert(slots_[i].state == LeaseSlot::State::kExpired && expired_count_ > 0);
  unlink(expired_, i);
  --expired_count_;
  slots_[i].state = LeaseSlot::State::kEnded;
}

void LeaseTable::forget_url(HostId host, std::uint64_t sequence) {
  const LeaseIndex newest = newest_of(host, sequence);
  if (newest == kNoLease) return;
  LeaseIndex i = newest;
  if (slots_[newest].state == LeaseSlot::State::kOpen) {
    slots_[newest].url_ended = true;
    i = std::exchange(slots_[newest].earlier, kNoLease);
  } else {
    by_url_.erase(url_key(host, sequence), newest);
  }
  while (i != kNoLease) {
    const LeaseIndex earlier = slots_[i].earlier;
    free(i);
    i = earlier;
  }
}

void LeaseTable::forget_expired(HostId host, std::uint64_t sequence) {
  LeaseIndex i = newest_of(host, sequence);
  while (i != kNoLease) {
    const LeaseIndex earlier = slots_[i].earlier;
    if (slots_[i].state == LeaseSlot::State::kExpired) {
      leave_url(i);
      free(i);
    }
    i = earlier;
  }
}

void LeaseTable::limit_expired(std::size_t most) {
  while (expired_count_ > most) {
    const LeaseIndex oldest = expired_.first;
    assert(oldest != kNoLease);
    leave_url(oldest);
    free(oldest);
  }
}

}  // namespace trawl
