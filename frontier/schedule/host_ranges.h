// HostRanges: the hosts of a shared frontier that a shard has now.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "trawl/lease.h"

#include "frontier/schedule/host_table.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// Both ends are included. A bucket is such a range: see UrlIdentity.
struct HostRange {
  HostId first = 0;
  HostId last = 0;

  bool contains(HostId host) const noexcept { return host >= first && host <= last; }
  friend bool operator==(const HostRange&, const HostRange&) = default;
};

// Ranges that were taken from other owners. There are few. Not thread-safe.
class HostRanges {
 public:
  struct Taken {
    HostRange hosts;
    SteadyTime since;  // P1: until then another owner may have started requests
    // Until the range is whole, hosts after this one may have URLs in the store that are not
    // counted.
    std::optional<HostId> restored_to = std::nullopt;
    bool whole = false;
    // Hosts that were due while none of the range was to be leased from, from `resumed` on: they
    // are off the schedule until then. Some may have been forgotten.
    std::vector<HostIndex> stopped = {};
    std::size_t resumed = 0;
    SteadyTime ask_again = SteadyTime::max();
    // The store was out of reach: no host without a head has a turn until then.
    SteadyTime read_again = SteadyTime::min();
  };

  void take(const HostRange& hosts, SteadyTime since) {
    assert(hosts.first <= hosts.last && !is_forgetting(hosts));
    const auto place = std::ranges::upper_bound(ranges_, hosts.first, {}, first_of);
    assert(place == ranges_.begin() || std::prev(place)->hosts.last < hosts.first);
    assert(place == ranges_.end() || place->hosts.first > hosts.last);
    ranges_.insert(place, Taken{.hosts = hosts, .since = since});
  }
  // Nothing, if the host is not in a range, or is being forgotten. Valid until a range comes or
  // goes.
  const Taken* find(HostId host) const {
    const auto after = std::ranges::upper_bound(ranges_, host, {}, first_of);
    if (after == ranges_.begin() || std::prev(after)->hosts.last < host) return nullptr;
    return &*std::prev(after);
  }
  Taken* find(HostId host) { return const_cast<Taken*>(std::as_const(*this).find(host)); }
  // From the first on, find() finds none of its hosts. False if there is not such a range.
  bool begin_forgetting(const HostRange& hosts) {
    const auto range = std::ranges::find(ranges_, hosts, &Taken::hosts);
    if (range == ranges_.end()) return false;
    ranges_.erase(range);
    forgetting_.push_back(hosts);
    return true;
  }
  void end_forgetting(const HostRange& hosts) { std::erase(forgetting_, hosts); }

  std::vector<Taken>& all() noexcept { return ranges_; }
  // When the next range with stopped hosts is to be asked for.
  SteadyTime ask_again() const {
    SteadyTime first = SteadyTime::max();
    for (const Taken& range : ranges_)
      first = std::min(first, range.ask_again);
    return first;
  }

 private:
  static HostId first_of(const Taken& range) noexcept { return range.hosts.first; }
  bool is_forgetting(const HostRange& hosts) const {
    return std::ranges::any_of(forgetting_, [&](const HostRange& range) {
      return range.first <= hosts.last && hosts.first <= range.last;
    });
  }

  std::vector<Taken> ranges_;  // in ascending order
  std::vector<HostRange> forgetting_;
};

}  // namespace trawl
