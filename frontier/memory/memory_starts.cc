// MemoryState: when requests may start, according to the delays.
#include <algorithm>
#include <utility>

#include "trawl/url_groups.h"

#include "frontier/common/queue_names.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

namespace {

// For waits up to this long the answer is kSoon: the caller keeps the lease.
constexpr std::chrono::milliseconds kSoon{25};
// The most requests remembered that began and were not reported by sent().
constexpr std::size_t kMostTurns = 10'000;

StartTurn later(SteadyTime at, SteadyTime now) {
  return {.when = at - now <= kSoon ? StartTurn::When::kSoon : StartTurn::When::kLater, .at = at};
}

}  // namespace

std::chrono::milliseconds MemoryState::delay_of(const MemoryHost& host) const {
  const PolitenessOptions& politeness = options_.politeness;
  const milliseconds own = host.set.delay.value_or(milliseconds(0));
  if (host.set.exact_delay) return own;
  milliseconds delay = std::max(politeness.delay, own);
  if (politeness.adaptive_delay > 0 && host.response_time) {
    const double most = static_cast<double>(politeness.max_adaptive_delay.count());
    const double wanted = std::min(politeness.adaptive_delay * *host.response_time, most);
    delay = std::max(delay, milliseconds(static_cast<std::int64_t>(wanted)));
  }
  return delay;
}

bool MemoryState::is_paced(const MemoryHost& host) const {
  const PolitenessOptions& politeness = options_.politeness;
  return delay_of(host).count() > 0 || politeness.domain_delay.count() > 0 ||
         politeness.ip_delay.count() > 0;
}

std::vector<MemoryState::Delayed> MemoryState::clocks_of(MemoryHost& host) {
  std::vector<Delayed> clocks{{&host.clock, delay_of(host)}};
  if (host.named) return clocks;
  if (const milliseconds delay = options_.politeness.domain_delay; delay.count() > 0) {
    const std::string domain(registrable_domain(without_port(host.name)));
    clocks.push_back({&domains_[domain], delay});
  }
  if (const milliseconds delay = options_.politeness.ip_delay;
      delay.count() > 0 && host.set.address)
    clocks.push_back({&addresses_[*host.set.address], delay});
  return clocks;
}

SteadyTime MemoryState::next_start(MemoryHost& host) {
  SteadyTime next = host.not_before;
  for (const auto& [clock, delay] : clocks_of(host))
    next = std::max(next, clock->next(delay));
  return next;
}

// The host's running requests may go to that address too.
void MemoryState::learn_address(MemoryHost& host, std::string_view address) {
  if (options_.politeness.ip_delay.count() == 0 || host.named) return;
  if (host.set.address.value_or("") == address) return;
  RequestRateLimiter* const before = host.set.address ? &addresses_[*host.set.address] : nullptr;
  host.set.address =
      address.empty() ? std::nullopt : std::optional<std::string>(std::in_place, address);
  for (auto& [id, lease] : leases_) {
    if (lease.host != &host || lease.clocks.empty()) continue;
    if (before != nullptr && std::erase(lease.clocks, before) > 0)
      before->note_began(lease.since, std::nullopt);
    if (address.empty()) continue;
    lease.clocks.push_back(&addresses_[*host.set.address]);
    lease.clocks.back()->hand_out(lease.since);
    if (lease.began) lease.clocks.back()->note(*lease.began);
  }
}

StartTurn MemoryState::begin(const std::vector<Delayed>& clocks, SteadyTime now) {
  std::vector<RequestRateLimiter*>& told = turns_[++last_turn_];
  for (const auto& [clock, delay] : clocks) {
    clock->begin(now, delay);
    told.push_back(clock);
  }
  if (turns_.size() > kMostTurns) turns_.erase(turns_.begin());
  return {.when = StartTurn::When::kNow, .at = now, .host = last_turn_};
}

Result<StartTurn> MemoryState::start(std::uint64_t id, std::string_view address) {
  const auto lease = open(id);
  if (!lease) return tl::unexpected(lease.error());
  MemoryHost& host = *(*lease)->host;
  if (!address.empty()) learn_address(host, address);
  const SteadyTime now = options_.clock();
  const auto clocks = clocks_of(host);
  SteadyTime next = SteadyTime::min();
  for (const auto& [clock, delay] : clocks)
    next = std::max(next, clock->next_by_starts(delay));
  if (next > now) return later(next, now);
  for (const auto& [clock, delay] : clocks) {
    if (const auto again = clock->ask_again(now, delay))
      return StartTurn{.when = StartTurn::When::kSoon, .at = *again};
  }
  for (RequestRateLimiter* const clock : std::exchange((*lease)->clocks, {}))
    clock->note_began((*lease)->since, std::nullopt);
  // The next turn belongs to the requests on behalf of other hosts.
  if (host.last_elsewhere > now)
    host.not_before = std::max(host.not_before, now + 2 * delay_of(host));
  return begin(clocks, now);
}

Result<StartTurn> MemoryState::start_elsewhere(std::string_view name, std::string_view address) {
  if (auto valid = check_name(name); !valid) return tl::unexpected(valid.error());
  MemoryHost& host = add_host(name);
  if (!address.empty()) learn_address(host, address);
  const SteadyTime now = options_.clock();
  const auto clocks = clocks_of(host);
  if (host.elsewhere > now) {
    // Another such request comes first, with a turn of the host's own URLs in between.
    milliseconds step(1);
    for (const auto& [clock, delay] : clocks)
      step = std::max(step, delay * (host.queue.empty() ? 1 : 2));
    host.last_elsewhere = std::max(host.last_elsewhere, host.elsewhere) + step;
    return StartTurn{.when = StartTurn::When::kLater, .at = host.last_elsewhere};
  }
  for (RequestRateLimiter* const clock : std::exchange(host.told, {}))
    clock->note_began(host.elsewhere, std::nullopt);
  SteadyTime next = SteadyTime::min();
  for (const auto& [clock, delay] : clocks) {
    next = std::max(next, clock->next(delay));
    if (const auto again = clock->ask_again(now, delay)) next = std::max(next, *again);
  }
  if (next <= now) return begin(clocks, now);
  // Reserves that time: neither the host's own URLs nor other hosts of its groups start then.
  host.elsewhere = next;
  host.not_before = std::max(host.not_before, next + delay_of(host));
  for (const auto& [clock, delay] : clocks) {
    if (clock == &host.clock) continue;
    clock->hand_out(next);
    host.told.push_back(clock);
  }
  return later(next, now);
}

void MemoryState::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                       std::string_view address) {
  const auto found = turns_.extract(turn.host);
  if (!found) return;
  for (RequestRateLimiter* const clock : found.mapped())
    clock->sent(turn.at, when);
  if (when && !address.empty() && options_.politeness.ip_delay.count() > 0)
    addresses_[std::string(address)].note(*when);
}

}  // namespace trawl
