// HostTable: the hosts that a shard has in memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

// What few hosts have: a record that is not a default one.
struct HostExtra {
  HostRecord record;
  SteadyTime unblocked = SteadyTime::min();  // when record.blocked_until will have passed
  // The first of the failures in a row without any answer; none if it answered last.
  std::optional<SteadyTime> silent_since = std::nullopt;
};

// One politeness group. There may be very many: 80 bytes, of which its place in the table and in
// the schedule takes some 60 more.
struct Host {
  enum class Place : std::uint8_t { kNowhere, kScheduled, kLine };

  HostId id = 0;
  HostQueue queue;
  std::unique_ptr<HostExtra> extra;               // null: its record is a default one
  SteadyTime surely_started = SteadyTime::min();  // the last request that was surely made
  SteadyTime not_before = SteadyTime::min();
  std::uint32_t newest_lease = FlatIndex::kNone;  // of its open leases, in the LeaseTable
  std::uint32_t leased = 0;                       // its open leases
  float response_time = -1;                       // smoothed, in milliseconds; < 0: none known
  std::uint32_t position = 0;                     // in what `place` says
  Place place = Place::kNowhere;
  std::uint16_t drops = 0;      // between begin_drop() and end_drop(), so many times
  bool record_changed = false;  // since the host came into memory
  bool record_unsaved = false;  // nobody asked for it since it changed
  bool answered = false;        // HostRecord::answered: so many have only that in theirs
  bool nameless = false;        // its name did not exist when it was asked last
  bool revived = false;         // when its time came, which is not stored yet
  bool counted_leasable = false;
  bool counted_given_up = false;
  bool groups_known = false;  // of its URLs, which domain it belongs to, or that it is apart
  bool apart = false;         // UrlRequest::queue: it belongs to no domain and no address

  const HostRecord* record() const noexcept { return extra ? &extra->record : nullptr; }
  bool given_up() const noexcept { return extra && extra->record.given_up; }
  bool at_limit() const noexcept { return extra && extra->record.remaining == 0; }
};

class HostTable {
 public:
  HostIndex find(HostId id) const {
    return index_.find(id, [&](HostIndex i) { return hosts_[i].id == id; });
  }
  // A host that is not there yet.
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
    index_.erase(hosts_[i].id, i);
    hosts_.remove(i);
  }
  Host& operator[](HostIndex i) noexcept { return hosts_[i]; }
  const Host& operator[](HostIndex i) const noexcept { return hosts_[i]; }

  std::size_t size() const noexcept { return hosts_.size(); }
  // Numbers are below this; those not in use are of hosts without anything.
  HostIndex end() const noexcept { return hosts_.end(); }
  std::size_t bytes() const noexcept { return hosts_.bytes() + index_.bytes(); }

 private:
  Slab<Host> hosts_;
  FlatIndex index_;
};

}  // namespace trawl
