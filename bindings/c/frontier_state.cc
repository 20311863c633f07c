// What a frontier holds, and the calls that steer it.
#include <algorithm>
#include <limits>
#include <memory>

#include "bindings/c/frontier_handle.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_hosts {
  std::vector<HostInfo> hosts;
};
struct trawl_found {
  UrlState state;
};

namespace {

constexpr std::size_t kMaxHosts = 1'000'000;

tl::expected<HostSettings, Failure> settings_of(const trawl_host_settings& given) {
  constexpr std::uint32_t kKnown = TRAWL_HOST_DELAY | TRAWL_HOST_EXACT_DELAY | TRAWL_HOST_LEASES |
                                   TRAWL_HOST_LIMIT | TRAWL_HOST_ADDRESS | TRAWL_HOST_BLOCKED_UNTIL;
  if ((given.set & ~kKnown) != 0) return invalid("settings->set has an unknown bit");
  const auto address = view_of(given.address, "settings->address");
  if (!address) return tl::unexpected(address.error());
  HostSettings settings;
  if ((given.set & TRAWL_HOST_DELAY) != 0)
    settings.delay = std::chrono::milliseconds(given.delay_ms);
  if ((given.set & TRAWL_HOST_EXACT_DELAY) != 0) settings.exact_delay = given.exact_delay != 0;
  if ((given.set & TRAWL_HOST_LEASES) != 0) settings.leases = given.leases;
  if ((given.set & TRAWL_HOST_LIMIT) != 0) {
    settings.limit = given.limit == TRAWL_NO_LIMIT ? HostSettings::kNoLimit : given.limit;
  }
  if ((given.set & TRAWL_HOST_ADDRESS) != 0) settings.address = std::string(*address);
  if ((given.set & TRAWL_HOST_BLOCKED_UNTIL) != 0) {
    if (given.blocked_until_ms == TRAWL_NOT_BLOCKED) {
      settings.blocked_until = HostSettings::kNotBlocked;
    } else if (given.blocked_until_ms == TRAWL_PARKED) {
      settings.blocked_until = HostSettings::kParked;
    } else {
      settings.blocked_until = wall_time(given.blocked_until_ms);
    }
  }
  return settings;
}

std::int32_t number_of(HostState state) {
  switch (state) {
    case HostState::kActive:
      return TRAWL_HOST_ACTIVE;
    case HostState::kBlocked:
      return TRAWL_HOST_BLOCKED;
    case HostState::kParked:
      return TRAWL_HOST_PARKED;
    case HostState::kAtLimit:
      return TRAWL_HOST_AT_LIMIT;
  }
  return TRAWL_HOST_ACTIVE;
}

std::int32_t number_of(UrlState::Kind kind) {
  switch (kind) {
    case UrlState::Kind::kUnknown:
      return TRAWL_URL_UNKNOWN;
    case UrlState::Kind::kWaiting:
      return TRAWL_URL_WAITING;
    case UrlState::Kind::kDeferred:
      return TRAWL_URL_DEFERRED;
    case UrlState::Kind::kLeased:
      return TRAWL_URL_LEASED;
    case UrlState::Kind::kHeld:
      return TRAWL_URL_HELD;
    case UrlState::Kind::kFailed:
      return TRAWL_URL_FAILED;
    case UrlState::Kind::kDone:
      return TRAWL_URL_DONE;
    case UrlState::Kind::kSeen:
      return TRAWL_URL_SEEN;
  }
  return TRAWL_URL_UNKNOWN;
}

trawl_host host_of(const HostInfo& found) {
  trawl_host out;
  trawl_host_init(&out);
  out.host = str_of(found.host);
  out.state = number_of(found.state);
  out.leased = found.leased;
  out.queued = found.queued;
  out.failures = found.failures;
  const HostSettings& settings = found.settings;
  if (settings.delay) {
    out.set |= TRAWL_HOST_DELAY;
    out.delay_ms = settings.delay->count();
  }
  if (settings.exact_delay) {
    out.set |= TRAWL_HOST_EXACT_DELAY;
    out.exact_delay = *settings.exact_delay ? 1 : 0;
  }
  if (settings.leases) {
    out.set |= TRAWL_HOST_LEASES;
    out.leases = *settings.leases;
  }
  if (settings.limit) {
    out.set |= TRAWL_HOST_LIMIT;
    out.limit = *settings.limit == HostSettings::kNoLimit ? TRAWL_NO_LIMIT : *settings.limit;
  }
  if (settings.blocked_until) {
    out.set |= TRAWL_HOST_BLOCKED_UNTIL;
    out.blocked_until_ms = *settings.blocked_until == HostSettings::kParked ? TRAWL_PARKED
                           : *settings.blocked_until == HostSettings::kNotBlocked
                               ? TRAWL_NOT_BLOCKED
                               : unix_ms(*settings.blocked_until);
  }
  return out;
}

tl::expected<RetryWhich, Failure> which_of(const trawl_retry& given) {
  RetryWhich which;
  switch (given.state) {
    case TRAWL_ANY_SET_ASIDE:
      break;
    case TRAWL_ONLY_HELD:
      which.state = SetAsideState::kHeld;
      break;
    case TRAWL_ONLY_FAILED:
      which.state = SetAsideState::kFailed;
      break;
    default:
      return invalid(
          "which->state is unknown: use TRAWL_ANY_SET_ASIDE, TRAWL_ONLY_HELD or "
          "TRAWL_ONLY_FAILED");
  }
  const auto key = view_of(given.key, "which->key");
  if (!key) return tl::unexpected(key.error());
  const auto host = view_of(given.host, "which->host");
  if (!host) return tl::unexpected(host.error());
  const auto reason = view_of(given.reason, "which->reason");
  if (!reason) return tl::unexpected(reason.error());
  if (given.first_status > given.last_status)
    return invalid("which->first_status is above which->last_status");
  which.key = std::string(*key);
  which.host = std::string(*host);
  which.reason = std::string(*reason);
  which.first_status = given.first_status;
  which.last_status = given.last_status;
  return which;
}

}  // namespace

void trawl_host_settings_init(trawl_host_settings* settings) {
  clear_struct(settings);
}
void trawl_host_init(trawl_host* host) {
  clear_struct(host);
}
void trawl_retry_init(trawl_retry* which) {
  clear_struct(which);
}
void trawl_url_state_init(trawl_url_state* state) {
  clear_struct(state);
}
void trawl_progress_init(trawl_progress* progress) {
  clear_struct(progress);
}
void trawl_stats_init(trawl_stats* stats) {
  clear_struct(stats);
}

trawl_status trawl_frontier_set_host(trawl_frontier* frontier, trawl_str host,
                                     const trawl_host_settings* settings, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto name = view_of(host, "host");
    if (!name) return tl::unexpected(name.error());
    const auto given = read_struct(settings, trawl_host_settings_init, "settings");
    if (!given) return tl::unexpected(given.error());
    const auto wanted = settings_of(*given);
    if (!wanted) return tl::unexpected(wanted.error());
    return checked(opened.set_host(*name, *wanted));
  });
}

trawl_status trawl_frontier_hosts(trawl_frontier* frontier, trawl_str after, size_t limit,
                                  trawl_hosts** hosts, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(hosts, "hosts"); !given) return given;
    const auto name = view_of(after, "after");
    if (!name) return tl::unexpected(name.error());
    if (limit == 0) return invalid("limit is 0: ask for at least one host");
    auto found = opened.hosts(*name, std::min(limit, kMaxHosts));
    if (!found) return failure(found.error());
    *hosts = new trawl_hosts{std::move(*found)};
    return {};
  });
}

trawl_status trawl_frontier_host(trawl_frontier* frontier, trawl_str name, trawl_hosts** hosts,
                                 trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(hosts, "hosts"); !given) return given;
    const auto host = view_of(name, "name");
    if (!host) return tl::unexpected(host.error());
    auto found = opened.host(*host);
    if (!found) return failure(found.error());
    std::vector<HostInfo> one;
    one.push_back(std::move(*found));
    *hosts = new trawl_hosts{std::move(one)};
    return {};
  });
}

size_t trawl_hosts_count(const trawl_hosts* hosts) {
  return hosts == nullptr ? 0 : hosts->hosts.size();
}

trawl_status trawl_hosts_get(const trawl_hosts* hosts, size_t index, trawl_host* host,
                             trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(hosts, "hosts"); !given) return given;
    if (index >= hosts->hosts.size()) return invalid("index is not below trawl_hosts_count()");
    return write_struct(host, host_of(hosts->hosts[index]), "host");
  });
}

void trawl_hosts_free(trawl_hosts* hosts) {
  delete hosts;
}

trawl_status trawl_frontier_drop_host(trawl_frontier* frontier, trawl_str host, uint64_t* dropped,
                                      trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto name = view_of(host, "host");
    if (!name) return tl::unexpected(name.error());
    const auto count = opened.drop_host(*name);
    if (!count) return failure(count.error());
    if (dropped != nullptr) *dropped = *count;
    return {};
  });
}

trawl_status trawl_frontier_retry(trawl_frontier* frontier, const trawl_retry* which,
                                  uint64_t* queued, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    trawl_retry all;
    trawl_retry_init(&all);
    const auto given = read_struct(which == nullptr ? &all : which, trawl_retry_init, "which");
    if (!given) return tl::unexpected(given.error());
    const auto wanted = which_of(*given);
    if (!wanted) return tl::unexpected(wanted.error());
    const auto count = opened.retry(*wanted);
    if (!count) return failure(count.error());
    if (queued != nullptr) *queued = *count;
    return {};
  });
}

trawl_status trawl_frontier_lookup(trawl_frontier* frontier, trawl_str url_or_key,
                                   trawl_found** found, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(found, "found"); !given) return given;
    const auto key = view_of(url_or_key, "url_or_key");
    if (!key) return tl::unexpected(key.error());
    auto state = opened.lookup(*key);
    if (!state) return failure(state.error());
    *found = new trawl_found{std::move(*state)};
    return {};
  });
}

trawl_status trawl_found_get(const trawl_found* found, trawl_url_state* state,
                             trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(found, "found"); !given) return given;
    const UrlState& known = found->state;
    trawl_url_state out;
    trawl_url_state_init(&out);
    out.state = number_of(known.kind);
    out.status = known.status;
    if (known.at) out.at_ms = unix_ms(*known.at);
    out.fetches = known.fetches;
    out.depth = known.depth;
    out.host = str_of(known.host);
    out.reason = str_of(known.reason);
    out.note = str_of(known.note);
    return write_struct(state, out, "state");
  });
}

void trawl_found_free(trawl_found* found) {
  delete found;
}

trawl_status trawl_frontier_progress(trawl_frontier* frontier, trawl_progress* progress,
                                     trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier&) -> Checked {
    const auto now = progress_of(*frontier);
    if (!now) return failure(now.error());
    trawl_progress out;
    trawl_progress_init(&out);
    out.at_end = now->at_end() ? 1 : 0;
    out.finished = now->finished ? 1 : 0;
    out.exhausted = now->exhausted ? 1 : 0;
    out.only_recrawls_wait = now->only_recrawls_wait ? 1 : 0;
    return write_struct(progress, out, "progress");
  });
}

trawl_status trawl_frontier_stats(trawl_frontier* frontier, trawl_stats* stats,
                                  trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto now = opened.stats();
    if (!now) return failure(now.error());
    trawl_stats out;
    trawl_stats_init(&out);
    out.admitted = now->admitted;
    out.completed = now->completed;
    out.failed = now->failed;
    out.skipped = now->skipped;
    out.succeeded = now->succeeded;
    out.held = now->held;
    out.set_aside_failed = now->set_aside_failed;
    out.seen = now->seen;
    out.invalid = now->invalid;
    out.dropped = now->dropped;
    out.retried = now->retried;
    out.recrawls = now->recrawls;
    out.deferred = now->deferred;
    out.queued = now->queued;
    out.leased = now->leased;
    out.hosts = now->hosts;
    out.hosts_blocked = now->hosts_blocked;
    out.hosts_parked = now->hosts_parked;
    out.expired = now->expired;
    out.checkpoints = now->checkpoints;
    out.memory = now->memory;
    out.filter_memory = now->filter.memory_bytes;
    out.filter_keys = now->filter.inserted;
    out.false_positive_rate = now->false_positive_rate;
    out.expected_lost = now->expected_lost;
    return write_struct(stats, out, "stats");
  });
}

trawl_status trawl_frontier_flush(trawl_frontier* frontier, trawl_error** error) {
  return with_frontier(frontier, error, [](Frontier& opened) { return checked(opened.flush()); });
}

trawl_status trawl_frontier_checkpoint(trawl_frontier* frontier, trawl_error** error) {
  return with_frontier(frontier, error,
                       [](Frontier& opened) { return checked(opened.checkpoint()); });
}

trawl_status trawl_frontier_request_checkpoint(trawl_frontier* frontier, trawl_error** error) {
  return with_frontier(frontier, error,
                       [](Frontier& opened) { return checked(opened.request_checkpoint()); });
}

int trawl_frontier_event_fd(trawl_frontier* frontier, trawl_error** error) {
  int fd = -1;
  const trawl_status status = with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    const auto& wake = frontier->wake;
    if (wake->get() < 0)
      return failure(TRAWL_IO, "the system gave no eventfd: raise the limit of open files");
    // relaxed: on_wake() orders the rest.
    if (!frontier->watched.exchange(true, std::memory_order_relaxed)) {
      if (const auto watching = opened.on_wake([wake] { wake->signal(); }); !watching) {
        frontier->watched.store(false, std::memory_order_relaxed);
        return failure(watching.error());
      }
      wake->signal();  // what became due before is not missed
    }
    fd = wake->get();
    return {};
  });
  return status == TRAWL_OK ? fd : -1;
}

trawl_status trawl_frontier_next_due(trawl_frontier* frontier, int64_t* wait_ms,
                                     trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(wait_ms, "wait_ms"); !given) return given;
    const auto due = opened.next_due();
    if (!due) return failure(due.error());
    *wait_ms = *due ? ms_until(**due) : -1;
    return {};
  });
}
