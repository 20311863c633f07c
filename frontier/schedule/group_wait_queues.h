// GroupWaitQueues: hosts whose own delay has passed, but which wait for the turn of their domain or
// address.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "trawl/lease.h"

#include "frontier/schedule/flat_index.h"
#include "frontier/schedule/group_rate_limiter.h"
#include "frontier/schedule/host_table.h"
#include "frontier/schedule/slab.h"
#include "frontier/schedule/time_heap.h"

namespace trawl {

// Hosts with the same domain and address form one queue, first come, first served. A queue waits
// for its domain or its address, whichever refused it last. Of the queues that wait for a group,
// the one whose first host has waited longest goes first. So a group's turn examines only its first
// queue; if that must wait for its other group instead, the whole queue moves there. The cost of a
// turn hardly depends on the number of hosts that share a domain.
//
// The group that it leaves is reserved for its first host at the time when the other group becomes
// free. Otherwise the two groups could be free alternately and never at the same time. Until then
// other hosts may use it if it will be free again by then. Of two hosts that need a group at the
// same time, the one that has waited longer gets it, in whichever queue it is, and takes the
// other's reservation. So only delays hold up the host that has waited longest of all, and every
// host becomes that one at some time.
class GroupWaitQueues {
 public:
  GroupWaitQueues(std::chrono::milliseconds domain_delay, std::chrono::milliseconds ip_delay,
                  HostTable& hosts)
      : domain_delay_(domain_delay), ip_delay_(ip_delay), hosts_(hosts), turns_(Moved{&groups_}) {}

  void set_delays(std::chrono::milliseconds domain_delay, std::chrono::milliseconds ip_delay) {
    domain_delay_ = domain_delay;
    ip_delay_ = ip_delay;
  }
  // When the next group's turn comes, as far as is known; SteadyTime::max() if no host waits.
  SteadyTime next_turn() const noexcept {
    return turns_.empty() ? SteadyTime::max() : turns_.top().time;
  }
  bool empty() const noexcept { return turns_.empty(); }
  // Hosts that wait.
  std::size_t size() const noexcept { return waits_.size(); }
  // Chooses the host that goes first when a group's turn has come; kNoHost if the group is
  // reserved. The following calls refer to this choice until a host joins or leaves a queue.
  HostIndex choose(SteadyTime now);
  bool turn_is_domains() const { return groups_[turn_].by_domain; }
  std::optional<GroupRateLimiter::Refusal> reserved(SteadyTime now) const;

  // True if hosts wait for the domain or the address, or one of them is reserved, so that a host
  // must join a queue.
  bool must_wait(GroupId domain, GroupId address, SteadyTime now) const;
  // Adds a host to its queue. A new queue waits for the group that refused the host, or for the one
  // that others wait for.
  void join(HostIndex host, GroupId domain, GroupId address,
            const std::optional<GroupRateLimiter::Refusal>& refusal, SteadyTime now);
  // Removes a host from its queue.
  void leave(HostIndex host);

  // The chosen host was refused.
  void put_off(const GroupRateLimiter::Refusal& refusal);
  // The chosen host was leased: removes it, and sets its group's next turn.
  void serve(SteadyTime next_turn);
  // A group's turn may come earlier than recorded.
  void wake(bool domain, GroupId id, SteadyTime when);

  std::size_t bytes() const noexcept;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = FlatIndex::kNone;
  struct Wait {
    HostIndex host = kNoHost;
    Index previous = kNone;
    Index next = kNone;
    Index queue = kNone;
    std::uint64_t ticket = 0;
  };
  struct Queue {
    GroupId domain = 0;
    GroupId address = 0;
    Index first = kNone;  // waits
    Index last = kNone;
    Index group = kNone;     // the group that it waits for
    Index reserved = kNone;  // its other group, reserved for its first host
  };
  struct Group {
    GroupId id = 0;
    bool by_domain = false;
    std::uint32_t position = 0;                        // in turns_, if the group has queues
    Index reserved_by = kNone;                         // the queue, waiting for another group, that
                                                       // reserved it
    SteadyTime until = SteadyTime::min();              // when that other group becomes free
    std::set<std::pair<std::uint64_t, Index>> queues;  // by the ticket of their first hosts
  };
  struct Moved {
    Slab<Group>* groups;
    void operator()(Index group, std::uint32_t position) const {
      (*groups)[group].position = position;
    }
  };

  static std::uint64_t group_key(bool by_domain, GroupId id) { return by_domain ? id : ~id; }
  static std::uint64_t queue_key(GroupId domain, GroupId address) {
    return domain * 0x9E3779B97F4A7C15u + address;
  }
  std::uint64_t ticket_of(const Queue& queue) const { return waits_[queue.first].ticket; }
  Index find_queue(GroupId domain, GroupId address) const;
  Index find_group(bool by_domain, GroupId id) const;
  Index first_queue(Index group) const {
    assert(!groups_[group].queues.empty());
    return groups_[group].queues.begin()->second;
  }
  Index other_group(Index queue) const;
  bool is_reserved(const Group& group, SteadyTime when) const;
  SteadyTime turn_of(const Group& group, SteadyTime when) const;
  bool is_due(Index queue, SteadyTime now) const;
  bool is_waited_for(Index group, SteadyTime now) const;
  Index goes_before(Index group, std::uint64_t ticket, SteadyTime now) const;
  void attach(Index queue, bool by_domain, SteadyTime turn);
  void detach(Index queue, std::uint64_t ticket);
  void reserve(Index group, Index queue, SteadyTime until);
  void release(Index queue);
  void remove_if_unused(Index group);

  std::chrono::milliseconds domain_delay_;
  std::chrono::milliseconds ip_delay_;
  HostTable& hosts_;
  Slab<Wait> waits_;
  Slab<Queue> queues_;
  Slab<Group> groups_;
  FlatIndex queue_index_;
  FlatIndex group_index_;
  TimeHeap<Moved> turns_;  // the groups with queues
  Index turn_ = kNone;     // the group of the chosen host
  std::uint64_t next_ticket_ = 0;
};

}  // namespace trawl
