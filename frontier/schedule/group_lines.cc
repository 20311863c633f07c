#include "frontier/schedule/group_lines.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

GroupLines::Index GroupLines::find_line(GroupId domain, GroupId address) const {
  return line_index_.find(line_key(domain, address), [&](Index i) {
    return lines_[i].domain == domain && lines_[i].address == address;
  });
}

GroupLines::Index GroupLines::find_group(bool by_domain, GroupId id) const {
  if (id == 0) return kNone;
  return group_index_.find(group_key(by_domain, id), [&](Index i) {
    return groups_[i].id == id && groups_[i].by_domain == by_domain;
  });
}

GroupLines::Index GroupLines::other_group(Index line) const {
  const bool by_domain = groups_[lines_[line].group].by_domain;
  return find_group(!by_domain, by_domain ? lines_[line].address : lines_[line].domain);
}

// Whether a start at `when` would delay the line that the group is reserved for.
bool GroupLines::is_reserved(const Group& group, SteadyTime when) const {
  const auto delay = group.by_domain ? domain_delay_ : ip_delay_;
  return group.reserved_by != kNone && when < group.until && when + delay > group.until;
}

// The turn of a group whose delay ends at `when`.
SteadyTime GroupLines::turn_of(const Group& group, SteadyTime when) const {
  return when != SteadyTime::min() && is_reserved(group, when) ? group.until : when;
}

// Whether the line is first in its group, and the group's turn has come.
bool GroupLines::is_due(Index line, SteadyTime now) const {
  const Index group = lines_[line].group;
  return first_line(group) == line && turns_.time_at(groups_[group].position) <= now &&
         !is_reserved(groups_[group], now);
}

bool GroupLines::is_waited_for(Index index, SteadyTime now) const {
  if (index == kNone) return false;
  const Group& group = groups_[index];
  return !group.lines.empty() || is_reserved(group, now) ||
         (group.reserved_by != kNone && is_due(group.reserved_by, now));
}

bool GroupLines::must_wait(GroupId domain, GroupId address, SteadyTime now) const {
  return is_waited_for(find_group(true, domain), now) ||
         is_waited_for(find_group(false, address), now);
}

// A group with a due line that also needs this group and has an earlier ticket.
GroupLines::Index GroupLines::goes_before(Index index, std::uint64_t ticket, SteadyTime now) const {
  if (index == kNone) return kNone;
  const Group& group = groups_[index];
  const Index line = group.lines.empty() ? kNone : first_line(index);
  for (const Index before : {line, group.reserved_by}) {
    if (before != kNone && ticket_of(lines_[before]) < ticket && is_due(before, now))
      return lines_[before].group;
  }
  return kNone;
}

// Terminates, since each step goes to a line with an earlier ticket.
HostIndex GroupLines::choose(SteadyTime now) {
  turn_ = turns_.top().number;
  if (is_reserved(groups_[turn_], now)) {
    turns_.move(0, groups_[turn_].until);
    return kNoHost;
  }
  for (;;) {
    const Index line = first_line(turn_);
    const std::uint64_t ticket = ticket_of(lines_[line]);
    Index before = goes_before(turn_, ticket, now);
    if (before == kNone) before = goes_before(other_group(line), ticket, now);
    if (before == kNone) return waits_[lines_[line].first].host;
    assert(ticket_of(lines_[first_line(before)]) < ticket);
    turn_ = before;
  }
}

std::optional<GroupClocks::Refusal> GroupLines::reserved(SteadyTime now) const {
  const Index line = first_line(turn_);
  const Index other = other_group(line);
  if (other == kNone) return std::nullopt;
  const Group& group = groups_[other];
  if (!is_reserved(group, now) || group.reserved_by == line ||
      ticket_of(lines_[group.reserved_by]) > ticket_of(lines_[line]))
    return std::nullopt;
  return GroupClocks::Refusal{group.by_domain, group.until};
}

// Makes the line, which must have a host, wait for its domain or its address. A group with other
// lines keeps its turn.
void GroupLines::attach(Index line, bool by_domain, SteadyTime turn) {
  const GroupId id = by_domain ? lines_[line].domain : lines_[line].address;
  Index group = find_group(by_domain, id);
  if (group == kNone) {
    group = groups_.add();
    groups_[group].id = id;
    groups_[group].by_domain = by_domain;
    group_index_.insert(group_key(by_domain, id), group);
  }
  if (groups_[group].lines.empty()) turns_.push(turn_of(groups_[group], turn), group);
  lines_[line].group = group;
  [[maybe_unused]] const bool joined =
      groups_[group].lines.emplace(ticket_of(lines_[line]), line).second;
  assert(joined);
}

void GroupLines::detach(Index line, std::uint64_t ticket) {
  const Index index = lines_[line].group;
  Group& group = groups_[index];
  [[maybe_unused]] const std::size_t left = group.lines.erase({ticket, line});
  assert(left == 1);
  if (!group.lines.empty()) return;
  turns_.remove(group.position);
  remove_if_unused(index);
}

void GroupLines::remove_if_unused(Index index) {
  const Group& group = groups_[index];
  if (!group.lines.empty() || group.reserved_by != kNone) return;
  group_index_.erase(group_key(group.by_domain, group.id), index);
  groups_.remove(index);
}

void GroupLines::reserve(Index index, Index line, SteadyTime until) {
  Group& group = groups_[index];
  if (group.reserved_by != kNone) lines_[group.reserved_by].reserved = kNone;
  group.reserved_by = line;
  group.until = until;
  lines_[line].reserved = index;
  if (group.lines.empty()) return;
  if (const SteadyTime turn = turns_.time_at(group.position); turn_of(group, turn) != turn)
    turns_.move(group.position, until);
}

// Releases the reservation: others may use the group immediately, as far as is known.
void GroupLines::release(Index line) {
  const Index index = std::exchange(lines_[line].reserved, kNone);
  if (index == kNone) return;
  Group& group = groups_[index];
  group.reserved_by = kNone;
  if (!group.lines.empty()) turns_.move(group.position, SteadyTime::min());
  remove_if_unused(index);
}

void GroupLines::join(HostIndex host, GroupId domain, GroupId address,
                      const std::optional<GroupClocks::Refusal>& refusal, SteadyTime now) {
  assert(hosts_[host].place == Host::Place::kNowhere);
  const Index wait = waits_.add();
  Index line = find_line(domain, address);
  const bool is_new = line == kNone;
  if (is_new) {
    line = lines_.add();
    lines_[line].domain = domain;
    lines_[line].address = address;
    line_index_.insert(line_key(domain, address), line);
  }
  waits_[wait] = {.host = host,
                  .previous = lines_[line].last,
                  .next = kNone,
                  .line = line,
                  .ticket = next_ticket_++};
  (is_new ? lines_[line].first : waits_[lines_[line].last].next) = wait;
  lines_[line].last = wait;
  hosts_[host].place = Host::Place::kLine;
  hosts_[host].position = wait;
  if (!is_new) return;
  if (refusal) {
    attach(line, refusal->by_domain, refusal->again);
  } else {
    attach(line, is_waited_for(find_group(true, domain), now), SteadyTime::min());
  }
}

void GroupLines::leave(HostIndex host) {
  assert(hosts_[host].place == Host::Place::kLine);
  const Index index = hosts_[host].position;
  assert(waits_[index].host == host);
  hosts_[host].place = Host::Place::kNowhere;
  const Wait wait = waits_[index];
  waits_.remove(index);
  Line& line = lines_[wait.line];
  (wait.previous == kNone ? line.first : waits_[wait.previous].next) = wait.next;
  (wait.next == kNone ? line.last : waits_[wait.next].previous) = wait.previous;
  if (wait.previous != kNone) return;
  release(wait.line);
  if (line.first == kNone) {
    detach(wait.line, wait.ticket);
    line_index_.erase(line_key(line.domain, line.address), wait.line);
    lines_.remove(wait.line);
    return;
  }
  auto& lines = groups_[line.group].lines;
  auto place = lines.extract({wait.ticket, wait.line});
  assert(!place.empty() && wait.ticket < ticket_of(line));
  place.value().first = ticket_of(line);
  lines.insert(std::move(place));
}

void GroupLines::put_off(const GroupClocks::Refusal& refusal) {
  const Index group = turn_;
  const Index line = first_line(group);
  if (refusal.by_domain == groups_[group].by_domain) {
    turns_.move(groups_[group].position, turn_of(groups_[group], refusal.again));
    if (const Index other = lines_[line].reserved; other != kNone)
      reserve(other, line, refusal.again);
    return;
  }
  release(line);
  reserve(group, line, refusal.again);
  detach(line, ticket_of(lines_[line]));
  attach(line, refusal.by_domain, refusal.again);
  // A later line loses its reservation.
  const Index now_in = lines_[line].group;
  const Index holder = groups_[now_in].reserved_by;
  if (holder != kNone && ticket_of(lines_[holder]) > ticket_of(lines_[line])) {
    lines_[holder].reserved = kNone;
    groups_[now_in].reserved_by = kNone;
  }
  turns_.move(groups_[now_in].position, turn_of(groups_[now_in], refusal.again));
}

void GroupLines::serve(SteadyTime next_turn) {
  const HostIndex host = waits_[lines_[first_line(turn_)].first].host;
  turns_.move(groups_[turn_].position, turn_of(groups_[turn_], next_turn));
  leave(host);
}

void GroupLines::wake(bool by_domain, GroupId id, SteadyTime when) {
  const Index index = find_group(by_domain, id);
  if (index == kNone || groups_[index].lines.empty()) return;
  const Group& group = groups_[index];
  when = turn_of(group, when);
  if (turns_.time_at(group.position) > when) turns_.move(group.position, when);
}

std::size_t GroupLines::bytes() const noexcept {
  constexpr std::size_t kSetNodeBytes = 64;
  return waits_.bytes() + lines_.bytes() + groups_.bytes() + line_index_.bytes() +
         group_index_.bytes() + turns_.bytes() + lines_.size() * kSetNodeBytes;
}

}  // namespace trawl
