// LeaseTable: the leases of a shard, by number and by URL. A URL is known by its host and sequence:
// the sequences of a shared frontier are those of a bucket, and a shard has several.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trawl/lease.h"

#include "frontier/schedule/flat_index.h"
#include "frontier/schedule/group_rate_limiter.h"
#include "frontier/schedule/host_table.h"
#include "frontier/schedule/slab.h"
#include "frontier/store/queued_url.h"

namespace trawl {

using LeaseIndex = std::uint32_t;
inline constexpr LeaseIndex kNoLease = FlatIndex::kNone;

// A lease is open until it ends or expires. An ended lease is kept until its URL's end is durable;
// an expired lease until its URL ends or max_expired others have expired.
struct LeaseSlot {
  enum class State : std::uint8_t { kOpen, kEnded, kExpired };

  std::uint64_t number = 0;
  HostId host_id = 0;
  QueueOrder order;
  HostGroups groups;     // for which its request is recorded
  SteadyTime since{};    // when it was handed out
  SteadyTime expires{};  // while open, if it does
  // When its request really started, if that is recorded; it counts however the lease ends.
  std::optional<SteadyTime> started = std::nullopt;
  std::string record;              // while open
  HostIndex host = kNoHost;        // while open
  LeaseIndex before = kNoLease;    // the host's open lease before it
  LeaseIndex after = kNoLease;     // ... and after it
  LeaseIndex previous = kNoLease;  // in the list of open or of expired leases
  LeaseIndex next = kNoLease;      //
  LeaseIndex earlier = kNoLease;   // an expired lease of the same URL
  State state = State::kOpen;
  bool held = false;       // it is handed out later: `since` is not known yet
  bool fetched = false;    // while open: its request has ended
  bool url_ended = false;  // while open: an earlier, expired lease of its URL ended the URL
};

class LeaseTable {
 public:
  LeaseTable(std::uint64_t first, HostTable& hosts) : hosts_(hosts), first_(first), next_(first) {}

  LeaseSlot& operator[](LeaseIndex i) noexcept { return slots_[i]; }
  const LeaseSlot& operator[](LeaseIndex i) const noexcept { return slots_[i]; }

  // Opens a lease, which counts for its host. It expires after all that are open now.
  LeaseIndex open(HostIndex host, const QueueOrder& order, std::string record, SteadyTime now);
  // The lease with that number; kNoLease if forgotten or never given.
  LeaseIndex find(std::uint64_t number) const;
  bool was_given(std::uint64_t number) const { return number >= first_ && number < next_; }
  // The newest lease of a URL; `earlier` links to the others.
  LeaseIndex newest_of(HostId host, std::uint64_t sequence) const;
  // True if the URL must not be leased now: it is leased, or its end is not durable yet.
  bool is_taken(HostId host, std::uint64_t sequence) const;

  // Ends or expires an open lease: removes it from its host and returns its record.
  std::string end(LeaseIndex i);
  std::string expire(LeaseIndex i);
  std::string remove(LeaseIndex i);
  // Makes an open lease expire after all others.
  void renew(LeaseIndex i, SteadyTime expires);
  // The request of an open lease has ended; it counts in Host::fetched_leases, if that has room.
  void note_fetched(LeaseIndex i);
  // Ends an expired lease.
  void end_late(LeaseIndex i);
  // Forgets a URL's leases when its end is durable, except an open one.
  void forget_url(HostId host, std::uint64_t sequence);
  // Forgets a URL's expired leases.
  void forget_expired(HostId host, std::uint64_t sequence);
  // Forgets the expired leases except the last `most`.
  void limit_expired(std::size_t most);

  // Forgets a lease, in whatever state it is.
  void forget(LeaseIndex i);

  // All numbers are below this. Not all are in use.
  LeaseIndex end() const noexcept { return slots_.end(); }
  bool is_used(LeaseIndex i) const noexcept { return find(slots_[i].number) == i; }

  // The open lease that expires first.
  LeaseIndex first_to_expire() const { return open_.first; }
  // When the host's newest open lease was given.
  SteadyTime newest_start(const Host& host) const {
    if (host.newest_lease == kNoLease) return SteadyTime::min();
    return slots_[host.newest_lease].held ? kNotYet : slots_[host.newest_lease].since;
  }
  // Open leases, and those whose end is not durable yet.
  std::size_t leased() const noexcept {
    assert(expired_count_ <= slots_.size());
    return slots_.size() - expired_count_;
  }
  // Hosts with open leases.
  std::size_t leased_hosts() const noexcept { return leased_hosts_; }
  std::size_t bytes() const noexcept {
    return slots_.bytes() + by_number_.bytes() + by_url_.bytes() + record_bytes_;
  }

 private:
  static constexpr SteadyTime kNotYet = SteadyTime::max() - 4 * kMaxDelay;
  struct List {
    LeaseIndex first = kNoLease;
    LeaseIndex last = kNoLease;
  };
  static std::uint64_t url_key(HostId host, std::uint64_t sequence) { return host + sequence; }
  void append(List& list, LeaseIndex i);
  void unlink(List& list, LeaseIndex i);
  void leave_host(LeaseIndex i);
  void leave_url(LeaseIndex i);
  void free(LeaseIndex i);

  HostTable& hosts_;
  Slab<LeaseSlot> slots_;
  FlatIndex by_number_;
  FlatIndex by_url_;  // url_key() to newest lease
  List open_;
  List expired_;
  std::size_t expired_count_ = 0;
  std::size_t record_bytes_ = 0;
  std::size_t leased_hosts_ = 0;
  const std::uint64_t first_;
  std::uint64_t next_;
};

}  // namespace trawl
