// ShardState: starts of requests, when their addresses are known.
//
// A lease is given when the delays of its host, domain and address have passed, as far as the
// address is known. Its request begins later, and requests do not begin in the order of their
// leases: name lookups take different times. So start() checks the clocks again. It removes what
// was recorded for the lease and records the real start; a refused request must ask again.
//
// A request that asks again must not be overtaken repeatedly. Hosts wait in line for their domain
// and address as soon as these are known (group_wait_queues.h). Requests to a host on behalf of
// other hosts are not leases and are in no line: the first that is refused gets the next turn,
// which is recorded with the host and its groups; later ones get times after it, with a turn of the
// host's own URLs between each two.
#include <algorithm>
#include <utility>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// For waits up to this long the answer is kSoon: the caller keeps the lease. Few requests that were
// leased in turn have to wait at all: only after others that were late by as much.
constexpr milliseconds kSoon{25};
// When a host that may not be asked at the moment is asked for again: see ShardOptions::may_lease.
constexpr milliseconds kAskedAgain{50};
// A read of the store that takes this long has held up requests.
constexpr milliseconds kStandstill{10};
// The number of entries for requests from which outdated ones are dropped.
constexpr std::size_t kMostStarts = 10'000;

}  // namespace

// `last`: when the previous request began.
std::optional<GroupRateLimiter::Refusal> ShardState::host_refusal(HostIndex i, SteadyTime last,
                                                                  SteadyTime now) const {
  const Host& host = hosts_[i];
  const milliseconds delay = delay_of(host);
  if (delay.count() == 0) return std::nullopt;
  if (last + delay > now)
    return GroupRateLimiter::Refusal{.by_domain = false, .again = last + delay};
  const auto unsent = unsent_.find(host.id);
  if (unsent == unsent_.end() || unsent->second.waited_for_until <= now) return std::nullopt;
  return GroupRateLimiter::Refusal{
      .by_domain = false,
      .again = std::min(unsent->second.waited_for_until, GroupRateLimiter::ask_again(delay, now)),
      .busy = true};
}

// P1: the request begins now, and is noted for its host; for its groups it is already.
StartTurn ShardState::granted(HostIndex i, const HostGroups& groups, SteadyTime now) {
  Host& host = hosts_[i];
  host.surely_started = std::max(host.surely_started, now);
  const milliseconds delay = delay_of(host);
  if (delay.count() > 0) {
    if (unsent_.size() >= kMostStarts) forget_passed_starts(now);
    unsent_[host.id] = {.begun = now,
                        .waited_for_until = now + delay + GroupRateLimiter::send_timeout(delay)};
  }
  return {.when = StartTurn::When::kNow,
          .at = now,
          .host = host.id,
          .domain = groups.domain,
          .address = groups.address};
}

// P1: what began before and was not sent yet is sent now, so that others wait for it as much
// longer. A store on this machine is quick enough.
void ShardState::note_standstill(SteadyTime since) {
  const SteadyTime::duration by = options_.clock() - since;
  if (!options_.in_ranges || by < kStandstill) return;
  for (auto& [host, start] : unsent_)
    if (start.waited_for_until > since) start.waited_for_until += by;
  for (GroupRateLimiter* const clocks : {options_.domains, options_.addresses})
    if (clocks != nullptr) clocks->wait_longer(since, by);
}

void ShardState::forget_passed_starts(SteadyTime now) {
  std::erase_if(unsent_, [now](const auto& start) { return start.second.waited_for_until <= now; });
  std::erase_if(elsewhere_, [now](const auto& others) {
    return others.second.last <= now && others.second.next.value_or(now) <= now;
  });
}

Result<StartTurn> ShardState::start(std::uint64_t number, std::string_view address) {
  const auto open = open_lease(number);
  if (!open) return tl::unexpected(open.error());
  const HostIndex i = leases_[*open].host;
  if (!groups_.empty()) learn_address_only(i, address);
  const HostGroups groups = groups_of(i);
  LeaseSlot& slot = leases_[*open];
  const SteadyTime now = options_.clock();
  // The URL goes back into its queue: its host is another owner's soon, or again leased here later.
  if (!may_lease_now(hosts_[i].id))
    return StartTurn{.when = StartTurn::When::kLater, .at = now + kAskedAgain};
  const auto noted = [&](GroupId group, GroupId before) {
    const bool is_noted = !slot.started && group == before;
    return GroupRateLimiter::Noted{group, is_noted ? std::optional(slot.since) : std::nullopt};
  };
  const auto domain = noted(groups.domain, slot.groups.domain);
  const auto at_address = noted(groups.address, slot.groups.address);
  auto refusal = host_refusal(i, hosts_[i].surely_started, now);
  const bool by_host = refusal.has_value();
  if (!refusal)
    refusal =
        GroupRateLimiter::begin(options_.domains, domain, options_.addresses, at_address, now);
  if (refusal) {
    // Otherwise it was not leased in turn: others wait for that group too.
    const bool in_turn = by_host || (refusal->by_domain ? domain : at_address).at.has_value();
    const bool soon = refusal->busy || (in_turn && refusal->again - now <= kSoon);
    return StartTurn{.when = soon ? StartTurn::When::kSoon : StartTurn::When::kLater,
                     .at = refusal->again};
  }
  if (!slot.started && slot.groups.address != groups.address && options_.addresses != nullptr) {
    options_.addresses->undo_start(slot.groups.address, slot.since);
    group_queues_.wake(false, slot.groups.address, last_now_);
  }
  slot.groups = groups;
  slot.started = now;
  const StartTurn turn = granted(i, groups, now);
  // The next turn belongs to the requests on behalf of other hosts.
  const auto others = elsewhere_.find(hosts_[i].id);
  if (others != elsewhere_.end() && others->second.last > now)
    hosts_[i].not_before = std::max(hosts_[i].not_before, now + 2 * delay_of(hosts_[i]));
  reschedule(i);
  return turn;
}

StartTurn ShardState::start_elsewhere(HostId id, std::string_view name, std::string_view address) {
  assert(is_known(id));
  take_inbox();
  const HostIndex i = hosts_.find(id);
  if (!groups_.empty()) {
    learn_domain(i, name);
    learn_address_only(i, address);
  }
  const HostGroups groups = groups_of(i);
  const SteadyTime now = options_.clock();
  if (!may_lease_now(id))
    return StartTurn{.when = StartTurn::When::kLater, .at = now + kAskedAgain};
  Elsewhere& others = elsewhere_[id];
  // Another request comes first.
  if (others.next && *others.next > now) {
    const milliseconds step = longest_delay(i) * (hosts_[i].queue.has_urls() ? 2 : 1);
    others.last = std::max(others.last, *others.next) + step;
    reschedule(i);
    return StartTurn{.when = StartTurn::When::kLater, .at = others.last};
  }
  const auto noted = [&](GroupId group, GroupId before) {
    return GroupRateLimiter::Noted{group, group == before ? others.next : std::nullopt};
  };
  const SteadyTime last = std::max(hosts_[i].surely_started, leases_.newest_start(hosts_[i]));
  auto refusal = host_refusal(i, last, now);
  if (!refusal) {
    refusal = GroupRateLimiter::begin(options_.domains, noted(groups.domain, others.groups.domain),
                                      options_.addresses,
                                      noted(groups.address, others.groups.address), now);
  }
  if (refusal) return told_later(i, others, groups, *refusal, now);
  others.next.reset();
  if (others.last <= now) elsewhere_.erase(id);
  if (elsewhere_.size() >= kMostStarts) forget_passed_starts(now);
  const StartTurn turn = granted(i, groups, now);
  reschedule(i);
  return turn;
}

// Reserves that time: neither the host's own URLs nor other hosts of its groups start then.
StartTurn ShardState::told_later(HostIndex i, Elsewhere& others, const HostGroups& groups,
                                 const GroupRateLimiter::Refusal& refusal, SteadyTime now) {
  const SteadyTime next = refusal.again;
  const auto note = [&](GroupRateLimiter* clocks, GroupId group, GroupId before) {
    if (clocks == nullptr) return;
    if (others.next) clocks->undo_start(before, *others.next);
    // Other hosts of the group need not wait for this host's long delay.
    if (next - now <= clocks->delay()) clocks->note_start(group, next);
  };
  note(options_.domains, groups.domain, others.groups.domain);
  note(options_.addresses, groups.address, others.groups.address);
  others.next = next;
  others.groups = groups;
  Host& host = hosts_[i];
  host.not_before = std::max(host.not_before, next + delay_of(host));
  reschedule(i);
  const bool soon = next - now <= kSoon && others.last <= now;
  return {.when = soon ? StartTurn::When::kSoon : StartTurn::When::kLater, .at = next};
}

milliseconds ShardState::longest_delay(HostIndex i) const {
  milliseconds longest = delay_of(hosts_[i]);
  for (const GroupRateLimiter* const clocks : {options_.domains, options_.addresses}) {
    if (clocks != nullptr) longest = std::max(longest, clocks->delay());
  }
  return std::max(longest, milliseconds(1));
}

void ShardState::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                      std::string_view address) {
  const auto unsent = unsent_.find(turn.host);
  if (unsent != unsent_.end() && unsent->second.begun == turn.at) unsent_.erase(unsent);
  if (options_.domains != nullptr) options_.domains->sent(turn.domain, turn.at, when);
  const HostIndex i = hosts_.find(turn.host);
  if (options_.addresses != nullptr && (i == kNoHost || !hosts_[i].apart)) {
    const GroupId where = address.empty() ? turn.address : options_.addresses->id(address);
    const bool elsewhere = where != turn.address;
    options_.addresses->sent(turn.address, turn.at, elsewhere ? std::nullopt : when);
    if (elsewhere && when) options_.addresses->note_start(where, *when);
  }
  if (!when || i == kNoHost) return;
  hosts_[i].surely_started = std::max(hosts_[i].surely_started, *when);
  reschedule(i);
}

}  // namespace trawl
