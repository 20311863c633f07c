// GroupLines: hosts that may be asked as far as they go themselves, but wait for their domain's or
// their address's turn.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "trawl/lease.h"

#include "frontier/schedule/flat_index.h"
#include "frontier/schedule/group_clocks.h"
#include "frontier/schedule/host_table.h"
#include "frontier/schedule/slab.h"
#include "frontier/schedule/time_heap.h"

namespace trawl {

// Hosts with both in common stand in one line, first come, first served. A line waits for its
// domain or for its address, whichever said no last, and of the lines that wait for one group that
// goes first whose first host has waited longest. So when a group's turn comes only its first line
// is looked at, and if that must wait for its other group instead, the whole line goes there:
// however many hosts share a domain, each turn costs about the same.
//
// The group that it leaves is reserved for its first host when the other one may be asked, lest the
// two be free in turn and never at once: others have it until then if it will be free again by
// then. Of two hosts that want a group at a time the one that has waited longer has it, wherever
// they stand, and takes the other's reservation: so the host that has waited longest of all is held
// up by nothing but the delays, and each will be that one.
class GroupLines {
 public:
  GroupLines(std::chrono::milliseconds domain_delay, std::chrono::milliseconds ip_delay,
             HostTable& hosts)
      : domain_delay_(domain_delay), ip_delay_(ip_delay), hosts_(hosts), turns_(Moved{&groups_}) {}

  // When the next group may be asked, as far as is known; SteadyTime::max(): none waits.
  SteadyTime next_turn() const noexcept {
    return turns_.empty() ? SteadyTime::max() : turns_.top().time;
  }
  bool empty() const noexcept { return turns_.empty(); }
  // A group's turn has come: the host that goes first; kNoHost: it is reserved. What follows is of
  // it until a host joins or leaves a line: which group's turn it is, and whether its other group
  // is reserved for another.
  HostIndex choose(SteadyTime now);
  bool turn_is_domains() const { return groups_[turn_].by_domain; }
  std::optional<GroupClocks::Refusal> reserved(SteadyTime now) const;

  // True if hosts are in line for the domain or the address, or it is reserved for one, so that
  // another one must join them.
  bool must_wait(GroupId domain, GroupId address, SteadyTime now) const;
  // A host joins its line; if there is none yet, a new one waits for the group that said no, or for
  // the one that others wait for.
  void join(HostIndex host, GroupId domain, GroupId address,
            const std::optional<GroupClocks::Refusal>& refusal, SteadyTime now);
  // A host leaves its line, wherever it stands.
  void leave(HostIndex host);

  // The chosen host was told no.
  void put_off(const GroupClocks::Refusal& refusal);
  // The chosen host may be asked: it leaves, and its group's next turn is then.
  void serve(SteadyTime next_turn);
  // A group may have its turn earlier than was thought.
  void wake(bool domain, GroupId id, SteadyTime when);

  std::size_t bytes() const noexcept;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = FlatIndex::kNone;
  struct Wait {
    HostIndex host = kNoHost;
    Index previous = kNone;
    Index next = kNone;
    Index line = kNone;
    std::uint64_t ticket = 0;
  };
  struct Line {
    GroupId domain = 0;
    GroupId address = 0;
    Index first = kNone;  // waits
    Index last = kNone;
    Index group = kNone;     // that it waits for
    Index reserved = kNone;  // its other one, for its first host
  };
  struct Group {
    GroupId id = 0;
    bool by_domain = false;
    std::uint32_t position = 0;                       // in turns_, if it has lines
    Index reserved_by = kNone;                        // a line that waits for another group
    SteadyTime until = SteadyTime::min();             // when that may be asked
    std::set<std::pair<std::uint64_t, Index>> lines;  // by the ticket of their first hosts
  };
  struct Moved {
    Slab<Group>* groups;
    void operator()(Index group, std::uint32_t position) const {
      (*groups)[group].position = position;
    }
  };

  static std::uint64_t group_key(bool by_domain, GroupId id) { return by_domain ? id : ~id; }
  static std::uint64_t line_key(GroupId domain, GroupId address) {
    return domain * 0x9E3779B97F4A7C15u + address;
  }
  std::uint64_t ticket_of(const Line& line) const { return waits_[line.first].ticket; }
  Index find_line(GroupId domain, GroupId address) const;
  Index find_group(bool by_domain, GroupId id) const;
  Index first_line(Index group) const {
    assert(!groups_[group].lines.empty());
    return groups_[group].lines.begin()->second;
  }
  Index other_group(Index line) const;
  bool is_reserved(const Group& group, SteadyTime when) const;
  SteadyTime turn_of(const Group& group, SteadyTime when) const;
  bool is_due(Index line, SteadyTime now) const;
  bool is_waited_for(Index group, SteadyTime now) const;
  Index goes_before(Index group, std::uint64_t ticket, SteadyTime now) const;
  void attach(Index line, bool by_domain, SteadyTime turn);
  void detach(Index line, std::uint64_t ticket);
  void reserve(Index group, Index line, SteadyTime until);
  void release(Index line);
  void remove_if_unused(Index group);

  const std::chrono::milliseconds domain_delay_;
  const std::chrono::milliseconds ip_delay_;
  HostTable& hosts_;
  Slab<Wait> waits_;
  Slab<Line> lines_;
  Slab<Group> groups_;
  FlatIndex line_index_;
  FlatIndex group_index_;
  TimeHeap<Moved> turns_;  // of the groups that have a line
  Index turn_ = kNone;     // the group of the chosen host
  std::uint64_t next_ticket_ = 0;
};

}  // namespace trawl
