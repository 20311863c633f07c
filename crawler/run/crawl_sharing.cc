// A crawl whose frontier is in Redis, shared with other crawlers.
//
// What an embedded frontier has at open(), a shared one gets later, in buckets, from other crawlers
// or from none: so what a run does at its start to URLs that are set aside and to parked hosts is
// done when the first buckets have come, on a thread of its own, as it reads them all. The limits
// of pages and bytes are over all crawlers, so this one takes portions of them (limit_portions.h).
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "crawler/decide/recrawl_plan.h"
#include "crawler/log/room_log.h"
#include "crawler/run/crawl_impl.h"
#include "crawler/run/held_urls.h"
#include "crawler/state/state_contents.h"

namespace trawl {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWatchEvery{500};
// Buckets come one after the other: they are settled together when no more has come for this time.
constexpr std::chrono::seconds kCalm{2};

LimitSource source_of(SharedFrontier& frontier, SharedLimit of) {
  return {
      .take = [&frontier, of](std::uint64_t limit,
                              std::uint64_t need) { return frontier.take(of, limit, need); },
      .give_back = [&frontier, of](std::uint64_t amount) { return frontier.give_back(of, amount); },
      .taken = [&frontier, of] { return frontier.taken(of); }};
}

bool is_alone(const ClusterStatus& status) {
  return status.members.size() <= 1;
}

// By the members' last heartbeats: crawlers that start together own none at first.
bool has_buckets_of_nobody(const ClusterStatus& status) {
  std::uint64_t owned = 0;
  for (const ClusterStatus::Member& member : status.members)
    owned += member.is_self ? status.owned : member.buckets;
  return owned < status.buckets;
}

}  // namespace

Result<std::unique_ptr<Frontier>> CrawlImpl::open_shared_frontier(const CrawlOpening& opening) {
  auto options = shared_options_of(config_);
  if (!options) return tl::unexpected(options.error());
  options->store.shards = threads_wanted_;
  if (urls_of_hosts_.limited()) options->url_limit = &urls_of_hosts_;
  options->page_limit = [limits = LimitByHost::pages(config_)](std::string_view host) {
    return limits.of(host);
  };
  options->on_trouble = [](const Error& trouble) {
    room_log(LogRoom::kFrontier).warn("{}", trouble.message);
  };
  has_earlier_files_ = is_of_member(config_.crawl.state_dir);
  auto frontier = opening.shared_frontier(*options, &opened_);
  if (!frontier) return tl::unexpected(frontier.error());
  shared_ = frontier->get();
  return std::unique_ptr<Frontier>(*std::move(frontier));
}

void CrawlImpl::share_limits() {
  const auto make = [this](SharedLimit of, std::optional<std::uint64_t> limit) {
    return std::make_unique<LimitPortions>(source_of(*shared_, of), limit,
                                           LimitPortions::Calls{.changed = [this] { wake_all(); },
                                                                .failed =
                                                                    [this](const Error& failure) {
                                                                      context_->stop_with(failure);
                                                                      wake_all();
                                                                    }});
  };
  page_portions_ = make(SharedLimit::kPages, config_.scope.max_pages);
  byte_portions_ = make(SharedLimit::kBytes, config_.scope.max_bytes);
  pages_.emplace(*page_portions_);
  limits_->share_bytes(*byte_portions_);
}

Result<void> CrawlImpl::return_portions() {
  if (!is_shared()) return {};
  for (LimitPortions* portions : {page_portions_.get(), byte_portions_.get()}) {
    const auto closed = portions->close();
    if (closed) continue;
    // Nothing of the crawl is lost, but what the limits allow.
    spdlog::warn(
        "what this crawler had left of scope.max_pages and scope.max_bytes is not given "
        "back to the others: {}",
        closed.error().message);
    return {};
  }
  return {};
}

std::optional<ClusterStatus> CrawlImpl::cluster() const {
  if (!is_shared()) return std::nullopt;
  auto status = shared_->cluster_status();
  const MutexLock lock(last_stats_mutex_);
  if (status) last_cluster_ = *std::move(status);
  return last_cluster_;
}

FrontierCounters CrawlImpl::counters(const FrontierStats& own) const {
  const auto shared = cluster();
  return shared ? shared->totals : own;
}

// A crawl that is to end does not wait for a Redis that is away: those who wait for it hold it up.
void CrawlImpl::limit_waits() {
  if (!is_shared() || wait_limit_) return;
  wait_limit_.emplace([this] { return !shared_->waits_for().empty(); },
                      [this] { return context_->phase() == CrawlPhase::kAborting; },
                      [this] { shared_->stop_waiting(); });
}

// When it has not changed for a while: buckets come and go one after the other.
void CrawlImpl::tell_share(const ClusterStatus& status, steady_clock::time_point now) {
  const Share share{.members = status.members.size(), .owned = status.owned};
  if (share != share_) {
    share_ = share;
    share_since_ = now;
  }
  if (share == told_share_ || share.members == 0 ||
      now < share_since_ + config_.cluster.takeover_after / 2)
    return;
  told_share_ = share;
  room_log(LogRoom::kFrontier)
      .info("{} crawler{} the crawl {}; this one has {} of {} buckets", share.members,
            share.members == 1 ? " works on" : "s share", config_.cluster.name, share.owned,
            status.buckets);
}

void CrawlImpl::watch_cluster() {
  const auto now = steady_clock::now();
  if (context_->phase() != CrawlPhase::kRunning) limit_waits();
  if (!is_shared() || now < watched_ + kWatchEvery) return;
  watched_ = now;
  ClusterStatus status = *cluster();
  if (status.waits_for != watched_status_.waits_for) {
    if (status.waits_for.empty())
      room_log(LogRoom::kFrontier).info("Redis answers again: the crawl goes on");
    else
      room_log(LogRoom::kFrontier).warn("the crawl waits for Redis: {}", status.waits_for);
  }
  if (status.waits_for.empty()) tell_share(status, now);
  note_gained(status, now);
  watched_status_ = std::move(status);
}

void CrawlImpl::note_gained(const ClusterStatus& status, steady_clock::time_point now) {
  if (status.gained == gained_) return;
  gained_ = status.gained;
  gained_at_ = now;
}

// The totals are some seconds old; those of a finished crawl have nothing open. The exit code
// depends on them.
bool CrawlImpl::waits_for_totals(const Progress& end) {
  if (!end.finished || cluster()->totals.open() == 0) return false;
  constexpr std::chrono::seconds kLongest{5};
  const auto now = steady_clock::now();
  if (finished_at_ == steady_clock::time_point{}) finished_at_ = now;
  return now < finished_at_ + kLongest;
}

// Afterwards what comes was another crawler's in its run, which has settled it. Until then a bucket
// may be that of a crawler that is dead.
bool CrawlImpl::is_settling_time() const {
  return steady_clock::now() < started_ + 2 * config_.cluster.takeover_after + 2 * kCalm;
}

// Buckets that nobody owns yet may have URLs that this run would queue again.
bool CrawlImpl::may_settle_more(const Progress& end) const {
  if (!opened_.resumed || !is_settling_time()) return false;
  const ClusterStatus now = *cluster();
  if (now.totals.held + now.totals.set_aside_failed == 0 && end.finished) return false;
  return has_buckets_of_nobody(now);
}

bool CrawlImpl::settles_buckets(const Progress* end) {
  if (!is_shared()) return false;
  const auto now = steady_clock::now();
  if (settling_.valid()) {
    if (settling_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return true;
    if (const auto done = settling_.get(); !done) context_->stop_with(done.error());
  }
  // The end may come sooner than the next look, even before the second one.
  const auto at_end = end != nullptr ? cluster() : std::nullopt;
  const ClusterStatus& status = at_end ? *at_end : watched_status_;
  note_gained(status, now);
  if (gained_ == settled_) return end != nullptr && may_settle_more(*end);
  if (end == nullptr && now < gained_at_ + kCalm) return false;
  const FrontierStats own = stats();
  const bool revives = settled_ == 0 && is_alone(status) && own.hosts_parked > 0;
  settled_ = gained_;
  if (!opened_.resumed || !is_settling_time() || (own.held + own.set_aside_failed == 0 && !revives))
    return end != nullptr && may_settle_more(*end);
  // Deferred if no thread can be created: the next call then does the work.
  settling_ = std::async(std::launch::async | std::launch::deferred,
                         [this, revives] { return settle_buckets(revives); });
  return true;
}

Result<void> CrawlImpl::settle_buckets(bool revives) const {
  // A reload may replace those in effect meanwhile, and must not wait.
  const CrawlConfig config = steering_->config();
  const auto rules = CrawlRules::create(config, parse_seeds(config), seed_redirects_);
  if (!rules) return tl::unexpected(rules.error());
  // URLs that an earlier run of this crawler, or another crawler, put off: the guard decides about
  // them when they are leased.
  const auto suspects = frontier_->retry({.state = SetAsideState::kHeld,
                                          .reason = std::string(CrashLoopBreaker::kSuspect),
                                          .wanted = [](const SetAsideUrl&) { return true; }});
  if (!suspects) return tl::unexpected(suspects.error());
  const auto held = retry_held_urls(*frontier_, config, **rules, context_->urls_of_hosts);
  if (!held) return tl::unexpected(held.error());
  if (*held > 0) spdlog::info("queued {} URLs that rules of an earlier run excluded", *held);
  const auto planned = plan_failed_urls(*frontier_, (*rules)->recrawl);
  if (!planned) return tl::unexpected(planned.error());
  if (*planned > 0) spdlog::info("{} failed URLs are scheduled to be fetched again", *planned);
  if (!revives) return {};
  std::string after;
  for (;;) {
    constexpr std::size_t kAtOnce = 1000;
    const auto hosts = frontier_->hosts(after, kAtOnce);
    if (!hosts) return tl::unexpected(hosts.error());
    if (hosts->empty()) return {};
    for (const HostInfo& host : *hosts) {
      if (host.state != HostState::kParked) continue;
      auto revived = frontier_->set_host(host.host, {.blocked_until = HostSettings::kNotBlocked});
      if (!revived) return revived;
    }
    after = hosts->back().host;
  }
}

}  // namespace trawl
