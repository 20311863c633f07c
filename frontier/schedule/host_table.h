// HostTable: the hosts of a shard in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "trawl/lease.h"

#include "frontier/schedule/flat_index.h"
#include "frontier/schedule/host_queue.h"
#include "frontier/schedule/slab.h"
#include "frontier/store/host_record.h"
#include "frontier/store/queued_url.h"

namespace trawl {

using HostIndex = std::uint32_t;
inline constexpr HostIndex kNoHost = FlatIndex::kNone;

// For the few hosts whose record is not the default one.
struct HostExtra {
  HostRecord record;
  SteadyTime unblocked = SteadyTime::min();  // record.blocked_until on the clock of delays
  // The first of the current failures in a row without an answer; absent if its last request was
  // answered.
  std::optional<SteadyTime> silent_since = std::nullopt;
};

// One politeness group. There may be very many: 88 bytes each, and some 60 more in the table and
// the schedule.
struct Host {
  enum class Place : std::uint8_t { kNowhere, kScheduled, kGroupQueue };

  HostId id = 0;
  HostQueue queue;
  std::unique_ptr<HostExtra> extra;               // null: its record is the default one
  SteadyTime surely_started = SteadyTime::min();  // the last request that was certainly made
  SteadyTime not_before = SteadyTime::min();
  std::uint32_t newest_lease = FlatIndex::kNone;  // its newest open lease, in the LeaseTable
  std::uint32_t leased = 0;                       // its open leases
  // URLs in its queue that are durable, leased ones included. While `is_counted` is false, without
  // those that waited at the restart; it may be negative then.
  std::int64_t queued = 0;
  float response_time = -1;    // smoothed, in milliseconds; < 0: unknown
  std::uint32_t position = 0;  // in the structure that `place` names
  Place place = Place::kNowhere;
  std::uint8_t turns = 0;           // leases since it came into memory, up to 255
  std::uint16_t drops = 0;          // number of drops between begin_drop() and end_drop()
  bool record_unsaved : 1 = false;  // record_of() was not called since it changed
  bool answered : 1 = false;  // HostRecord::answered, here since most records have nothing else
  // Its head waits to be read; is being read; it is off the schedule until its head was read.
  bool wants_head : 1 = false;
  bool head_under_way : 1 = false;
  bool awaits_head : 1 = false;
  // Its stored record is not known yet; it is being read.
  bool unread : 1 = false;
  bool record_under_way : 1 = false;
  std::uint8_t fetched_leases = 0;  // of its open leases: see Frontier::fetched()
  bool nameless : 1 = false;        // its name did not exist at the last request
  bool revived : 1 = false;         // by park_time, not stored yet
  bool counted_leasable : 1 = false;
  bool counted_given_up : 1 = false;
  bool counted_waiting : 1 = false;
  bool groups_known : 1 = false;  // its domain and `apart` were derived from a URL
  bool apart : 1 = false;         // UrlRequest::queue: without domain and address
  bool is_counted : 1 = true;
  // It was due while nothing of its range was to be leased: see HostRanges.
  bool stopped : 1 = false;
  // It was forgotten while a read of it was under way: nothing leads to it except that read.
  bool gone : 1 = false;

  const HostRecord* record() const noexcept { return extra ? &extra->record : nullptr; }
  bool given_up() const noexcept { return extra && extra->record.given_up; }
  bool at_limit() const noexcept { return extra && extra->record.remaining == 0; }
};

static_assert(sizeof(Host) <= 88, "there may be very many");
static_assert(kMaxFetchedLeases <= std::numeric_limits<decltype(Host::fetched_leases)>::max());

class HostTable {
 public:
  HostIndex find(HostId id) const {
    return index_.find(id, [&](HostIndex i) { return hosts_[i].id == id; });
  }
  // Has what find() reads of these hosts read into the processor's cache, all at once. The numbers
  // returned are kNoHost for hosts that are not in the table, and rarely those of others.
  template <std::size_t N>
  std::array<HostIndex, N> prefetch(const std::array<HostId, N>& ids, std::size_t n) const {
    assert(n <= N);
    for (std::size_t i = 0; i < n; ++i)
      index_.prefetch(ids[i]);
    std::array<HostIndex, N> numbers{};
    for (std::size_t i = 0; i < n; ++i) {
      numbers[i] = index_.likely_number(ids[i]);
      if (numbers[i] == kNoHost) continue;
      const auto* const bytes = reinterpret_cast<const char*>(&hosts_[numbers[i]]);
      __builtin_prefetch(bytes);
      __builtin_prefetch(bytes + sizeof(Host) - 1);
    }
    return numbers;
  }
  // Adds a host that is not in the table.
  HostIndex add(HostId id) {
    assert(find(id) == kNoHost);
    const HostIndex i = hosts_.add();
    hosts_[i].id = id;
    index_.insert(id, i);
    return i;
  }
  // One that nothing leads to any more.
  void remove(HostIndex i) {
    assert(hosts_[i].leased == 0 && !hosts_[i].queue.has_urls());
    assert(hosts_[i].place == Host::Place::kNowhere);
    if (!hosts_[i].gone) index_.erase(hosts_[i].id, i);
    hosts_.remove(i);
  }
  // find() no longer finds it; its number remains in use until remove().
  void detach(HostIndex i) {
    assert(!hosts_[i].gone);
    index_.erase(hosts_[i].id, i);
    hosts_[i].gone = true;
  }
  // Whether find() finds a host with this number.
  bool is_found(HostIndex i) const { return find(hosts_[i].id) == i; }
  Host& operator[](HostIndex i) noexcept { return hosts_[i]; }
  const Host& operator[](HostIndex i) const noexcept { return hosts_[i]; }

  std::size_t size() const noexcept { return hosts_.size(); }
  // All numbers are below this; unused ones are of empty hosts.
  HostIndex end() const noexcept { return hosts_.end(); }
  std::size_t bytes() const noexcept { return hosts_.bytes() + index_.bytes(); }

 private:
  Slab<Host> hosts_;
  FlatIndex index_;
};

}  // namespace trawl
