#include "frontier/schedule/group_wait_queues.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

GroupWaitQueues::Index GroupWaitQueues::find_queue(GroupId domain, GroupId address) const {
  return queue_index_.find(queue_key(domain, address), [&](Index i) {
    return queues_[i].domain == domain && queues_[i].address == address;
  });
}

GroupWaitQueues::Index GroupWaitQueues::find_group(bool by_domain, GroupId id) const {
  if (id == 0) return kNone;
  return group_index_.find(group_key(by_domain, id), [&](Index i) {
    return groups_[i].id == id && groups_[i].by_domain == by_domain;
  });
}

GroupWaitQueues::Index GroupWaitQueues::other_group(Index queue) const {
  const bool by_domain = groups_[queues_[queue].group].by_domain;
  return find_group(!by_domain, by_domain ? queues_[queue].address : queues_[queue].domain);
}

// Whether a start at `when` would delay the queue that the group is reserved for.
bool GroupWaitQueues::is_reserved(const Group& group, SteadyTime when) const {
  const auto delay = group.by_domain ? domain_delay_ : ip_delay_;
  return group.reserved_by != kNone && when < group.until && when + delay > group.until;
}

// The turn of a group whose delay ends at `when`.
SteadyTime GroupWaitQueues::turn_of(const Group& group, SteadyTime when) const {
  return when != SteadyTime::min() && is_reserved(group, when) ? group.until : when;
}

// Whether the queue is first in its group, and the group's turn has come.
bool GroupWaitQueues::is_due(Index queue, SteadyTime now) const {
  const Index group = queues_[queue].group;
  return first_queue(group) == queue && turns_.time_at(groups_[group].position) <= now &&
         !is_reserved(groups_[group], now);
}

bool GroupWaitQueues::is_waited_for(Index index, SteadyTime now) const {
  if (index == kNone) return false;
  const Group& group = groups_[index];
  return !group.queues.empty() || is_reserved(group, now) ||
         (group.reserved_by != kNone && is_due(group.reserved_by, now));
}

bool GroupWaitQueues::must_wait(GroupId domain, GroupId address, SteadyTime now) const {
  return is_waited_for(find_group(true, domain), now) ||
         is_waited_for(find_group(false, address), now);
}

// A group with a due queue that also needs this group and has an earlier ticket.
GroupWaitQueues::Index GroupWaitQueues::goes_before(Index index, std::uint64_t ticket,
                                                    SteadyTime now) const {
  if (index == kNone) return kNone;
  const Group& group = groups_[index];
  const Index queue = group.queues.empty() ? kNone : first_queue(index);
  for (const Index before : {queue, group.reserved_by}) {
    if (before != kNone && ticket_of(queues_[before]) < ticket && is_due(before, now))
      return queues_[before].group;
  }
  return kNone;
}

// Terminates, since each step goes to a queue with an earlier ticket.
HostIndex GroupWaitQueues::choose(SteadyTime now) {
  turn_ = turns_.top().number;
  if (is_reserved(groups_[turn_], now)) {
    turns_.move(0, groups_[turn_].until);
    return kNoHost;
  }
  for (;;) {
    const Index queue = first_queue(turn_);
    const std::uint64_t ticket = ticket_of(queues_[queue]);
    Index before = goes_before(turn_, ticket, now);
    if (before == kNone) before = goes_before(other_group(queue), ticket, now);
    if (before == kNone) return waits_[queues_[queue].first].host;
    assert(ticket_of(queues_[first_queue(before)]) < ticket);
    turn_ = before;
  }
}

std::optional<GroupRateLimiter::Refusal> GroupWaitQueues::reserved(SteadyTime now) const {
  const Index queue = first_queue(turn_);
  const Index other = other_group(queue);
  if (other == kNone) return std::nullopt;
  const Group& group = groups_[other];
  if (!is_reserved(group, now) || group.reserved_by == queue ||
      ticket_of(queues_[group.reserved_by]) > ticket_of(queues_[queue]))
    return std::nullopt;
  return GroupRateLimiter::Refusal{group.by_domain, group.until};
}

// Makes the queue, which must have a host, wait for its domain or its address. A group with other
// queues keeps its turn.
void GroupWaitQueues::attach(Index queue, bool by_domain, SteadyTime turn) {
  const GroupId id = by_domain ? queues_[queue].domain : queues_[queue].address;
  Index group = find_group(by_domain, id);
  if (group == kNone) {
    group = groups_.add();
    groups_[group].id = id;
    groups_[group].by_domain = by_domain;
    group_index_.insert(group_key(by_domain, id), group);
  }
  if (groups_[group].queues.empty()) turns_.push(turn_of(groups_[group], turn), group);
  queues_[queue].group = group;
  [[maybe_unused]] const bool joined =
      groups_[group].queues.emplace(ticket_of(queues_[queue]), queue).second;
  assert(joined);
}

void GroupWaitQueues::detach(Index queue, std::uint64_t ticket) {
  const Index index = queues_[queue].group;
  Group& group = groups_[index];
  [[maybe_unused]] const std::size_t left = group.queues.erase({ticket, queue});
  assert(left == 1);
  if (!group.queues.empty()) return;
  turns_.remove(group.position);
  remove_if_unused(index);
}

void GroupWaitQueues::remove_if_unused(Index index) {
  const Group& group = groups_[index];
  if (!group.queues.empty() || group.reserved_by != kNone) return;
  group_index_.erase(group_key(group.by_domain, group.id), index);
  groups_.remove(index);
}

void GroupWaitQueues::reserve(Index index, Index queue, SteadyTime until) {
  Group& group = groups_[index];
  if (group.reserved_by != kNone) queues_[group.reserved_by].reserved = kNone;
  group.reserved_by = queue;
  group.until = until;
  queues_[queue].reserved = index;
  if (group.queues.empty()) return;
  if (const SteadyTime turn = turns_.time_at(group.position); turn_of(group, turn) != turn)
    turns_.move(group.position, until);
}

// Releases the reservation: others may use the group immediately, as far as is known.
void GroupWaitQueues::release(Index queue) {
  const Index index = std::exchange(queues_[queue].reserved, kNone);
  if (index == kNone) return;
  Group& group = groups_[index];
  group.reserved_by = kNone;
  if (!group.queues.empty()) turns_.move(group.position, SteadyTime::min());
  remove_if_unused(index);
}

void GroupWaitQueues::join(HostIndex host, GroupId domain, GroupId address,
                           const std::optional<GroupRateLimiter::Refusal>& refusal,
                           SteadyTime now) {
  assert(hosts_[host].place == Host::Place::kNowhere);
  const Index wait = waits_.add();
  Index queue = find_queue(domain, address);
  const bool is_new = queue == kNone;
  if (is_new) {
    queue = queues_.add();
    queues_[queue].domain = domain;
    queues_[queue].address = address;
    queue_index_.insert(queue_key(domain, address), queue);
  }
  waits_[wait] = {.host = host,
                  .previous = queues_[queue].last,
                  .next = kNone,
                  .queue = queue,
                  .ticket = next_ticket_++};
  (is_new ? queues_[queue].first : waits_[queues_[queue].last].next) = wait;
  queues_[queue].last = wait;
  hosts_[host].place = Host::Place::kGroupQueue;
  hosts_[host].position = wait;
  if (!is_new) return;
  if (refusal) {
    attach(queue, refusal->by_domain, refusal->again);
  } else {
    attach(queue, is_waited_for(find_group(true, domain), now), SteadyTime::min());
  }
}

void GroupWaitQueues::leave(HostIndex host) {
  assert(hosts_[host].place == Host::Place::kGroupQueue);
  const Index index = hosts_[host].position;
  assert(waits_[index].host == host);
  hosts_[host].place = Host::Place::kNowhere;
  const Wait wait = waits_[index];
  waits_.remove(index);
  Queue& queue = queues_[wait.queue];
  (wait.previous == kNone ? queue.first : waits_[wait.previous].next) = wait.next;
  (wait.next == kNone ? queue.last : waits_[wait.next].previous) = wait.previous;
  if (wait.previous != kNone) return;
  release(wait.queue);
  if (queue.first == kNone) {
    detach(wait.queue, wait.ticket);
    queue_index_.erase(queue_key(queue.domain, queue.address), wait.queue);
    queues_.remove(wait.queue);
    return;
  }
  auto& queues = groups_[queue.group].queues;
  auto place = queues.extract({wait.ticket, wait.queue});
  assert(!place.empty() && wait.ticket < ticket_of(queue));
  place.value().first = ticket_of(queue);
  queues.insert(std::move(place));
}

void GroupWaitQueues::put_off(const GroupRateLimiter::Refusal& refusal) {
  const Index group = turn_;
  const Index queue = first_queue(group);
  if (refusal.by_domain == groups_[group].by_domain) {
    turns_.move(groups_[group].position, turn_of(groups_[group], refusal.again));
    if (const Index other = queues_[queue].reserved; other != kNone)
      reserve(other, queue, refusal.again);
    return;
  }
  release(queue);
  reserve(group, queue, refusal.again);
  detach(queue, ticket_of(queues_[queue]));
  attach(queue, refusal.by_domain, refusal.again);
  // A later queue loses its reservation.
  const Index now_in = queues_[queue].group;
  const Index holder = groups_[now_in].reserved_by;
  if (holder != kNone && ticket_of(queues_[holder]) > ticket_of(queues_[queue])) {
    queues_[holder].reserved = kNone;
    groups_[now_in].reserved_by = kNone;
  }
  turns_.move(groups_[now_in].position, turn_of(groups_[now_in], refusal.again));
}

void GroupWaitQueues::serve(SteadyTime next_turn) {
  const HostIndex host = waits_[queues_[first_queue(turn_)].first].host;
  turns_.move(groups_[turn_].position, turn_of(groups_[turn_], next_turn));
  leave(host);
}

void GroupWaitQueues::wake(bool by_domain, GroupId id, SteadyTime when) {
  const Index index = find_group(by_domain, id);
  if (index == kNone || groups_[index].queues.empty()) return;
  const Group& group = groups_[index];
  when = turn_of(group, when);
  if (turns_.time_at(group.position) > when) turns_.move(group.position, when);
}

std::size_t GroupWaitQueues::bytes() const noexcept {
  constexpr std::size_t kSetNodeBytes = 64;
  return waits_.bytes() + queues_.bytes() + groups_.bytes() + queue_index_.bytes() +
         group_index_.bytes() + turns_.bytes() + queues_.size() * kSetNodeBytes;
}

}  // namespace trawl
