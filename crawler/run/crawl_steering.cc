#include "crawler/run/crawl_steering.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

namespace trawl {

namespace {

// URLs per call of Frontier::offer(), which other threads wait for.
constexpr std::size_t kOfferBatch = 4096;
constexpr std::size_t kMostBlocksNoted = 10'000;

class OfferBatch {
 public:
  explicit OfferBatch(OfferReport& report) : report_(report) {}

  void add(const Url& url, std::int32_t priority, std::uint32_t depth) {
    urls_.push_back({std::string(url.href_without_fragment()), priority, depth});
  }
  bool full() const { return urls_.size() >= kOfferBatch; }

  Result<void> offer(Frontier& frontier, HostUrlQuota& urls_of_hosts) {
    if (urls_.empty()) return {};
    std::vector<UrlRequest> requests;
    requests.reserve(urls_.size());
    for (const OfferedUrl& url : urls_)
      requests.push_back({.url = url.url, .priority = *url.priority, .depth = url.depth});
    const auto admissions = frontier.offer(requests);
    if (!admissions) return tl::unexpected(admissions.error());
    for (std::size_t i = 0; i < urls_.size(); ++i) {
      const Admission admission = (*admissions)[i];
      count(admission);
      if (!urls_of_hosts.limited()) continue;
      if (const auto url = Url::parse(urls_[i].url))
        urls_of_hosts.note(politeness_group(*url), urls_[i].url, admission);
    }
    urls_.clear();
    return {};
  }

 private:
  void count(Admission admission) {
    switch (admission) {
      case Admission::kNew:
      case Admission::kForwarded:
        ++report_.fresh;
        break;
      case Admission::kSeen:
      case Admission::kHeld:
        ++report_.seen;
        break;
      case Admission::kInvalid:
      case Admission::kTooLong:
      case Admission::kNoteTooLong:
        ++report_.invalid;
        break;
    }
  }

  OfferReport& report_;
  std::vector<OfferedUrl> urls_;
};

std::string reason_of(const HostCounts& counts) {
  const std::string failures = counts.failures == 0 ? ""
                               : counts.failures == 1
                                   ? "1 failure"
                                   : fmt::format("{} failures in a row", counts.failures);
  switch (counts.state) {
    case HostState::kActive:
      break;
    case HostState::kBlocked:
      return failures.empty() ? "blocked by its own wish (Retry-After)" : failures;
    case HostState::kParked:
      return failures.empty() ? "parked: by a call of an earlier run, or for lack of a robots.txt"
                              : "parked after " + failures;
    case HostState::kAtLimit:
      return "as many pages fetched as scope.max_pages_per_host allows";
  }
  return failures;
}

}  // namespace

HostRow CrawlSteering::row_of(HostCounts counts) const {
  HostRow row{.host = counts.host,
              .state = counts.state,
              .queued = counts.queued,
              .queued_is_exact = counts.is_exact,
              .leased = counts.leased,
              .failures = counts.failures,
              .delay = counts.delay,
              .blocked_until = counts.blocked_until,
              .reason = reason_of(counts)};
  const bool kept_back = counts.state == HostState::kBlocked || counts.state == HostState::kParked;
  const MutexLock lock(blocks_mutex_);
  if (kept_back && blocked_by_call_.contains(row.host)) {
    row.state = HostState::kBlocked;
    row.reason = "blocked by a call" +
                 (row.reason.empty() || counts.failures == 0 ? std::string() : ", " + row.reason);
  }
  if (counts.next_start) {
    const auto wait = *counts.next_start - std::chrono::steady_clock::now();
    row.next_start = std::chrono::time_point_cast<SystemTime::duration>(
        std::chrono::system_clock::now() + std::max(wait, std::chrono::nanoseconds(0)));
  }
  return row;
}

void CrawlSteering::pause(PauseReason reason) {
  if (context_.set_paused(reason, true)) spdlog::info("paused");
}

void CrawlSteering::unpause(PauseReason reason) {
  if (!context_.set_paused(reason, false)) return;
  spdlog::info(context_.paused() ? "still paused for another reason" : "goes on");
  wake_();
}

Result<OfferReport> CrawlSteering::offer(std::span<const OfferedUrl> urls) {
  const ReaderLock use(using_parts_);
  OfferReport report;
  report.offered = urls.size();
  OfferBatch batch(report);
  for (const OfferedUrl& offered : urls) {
    const auto url = Url::parse(offered.url);
    if (!url) {
      ++report.invalid;
      continue;
    }
    const UrlVerdict verdict = context_.rules.decider.decide(*url, {.depth = offered.depth});
    if (!verdict.is_fetched()) {
      ++report.skipped[std::string(to_string(*verdict.reason))];
      continue;
    }
    batch.add(*url, offered.priority.value_or(context_.rules.priorities.of(*url, offered.depth)),
              offered.depth);
    if (!batch.full()) continue;
    if (auto done = batch.offer(frontier_, context_.urls_of_hosts); !done)
      return tl::unexpected(done.error());
  }
  if (auto done = batch.offer(frontier_, context_.urls_of_hosts); !done)
    return tl::unexpected(done.error());
  return report;
}

Result<std::vector<HostRow>> CrawlSteering::hosts(HostOrder order, std::size_t limit) const {
  auto busiest = frontier_.busiest_hosts(order, limit);
  if (!busiest) return tl::unexpected(busiest.error());
  std::vector<HostRow> rows;
  rows.reserve(busiest->size());
  for (HostCounts& counts : *busiest)
    rows.push_back(row_of(std::move(counts)));
  return rows;
}

Result<HostRow> CrawlSteering::host(const std::string& name) const {
  auto counts = frontier_.host_counts(name);
  if (!counts) return tl::unexpected(counts.error());
  return row_of(std::move(*counts));
}

Result<void> CrawlSteering::set_host(const std::string& name, const HostSettings& settings) {
  if (settings.delay && !context_.asked_delays.set(name, *settings.delay)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("delays are set for {} hosts already: set politeness.delay instead",
                             AskedDelays::kMostHosts));
  }
  return frontier_.set_host(name, settings);
}

Result<void> CrawlSteering::block_host(const std::string& name, std::optional<SystemTime> until) {
  if (auto set = set_host(name, {.blocked_until = until.value_or(HostSettings::kParked)}); !set)
    return set;
  const MutexLock lock(blocks_mutex_);
  if (blocked_by_call_.size() < kMostBlocksNoted) blocked_by_call_.insert(name);
  return {};
}

Result<void> CrawlSteering::unblock_host(const std::string& name) {
  if (auto set = set_host(name, {.blocked_until = HostSettings::kNotBlocked}); !set) return set;
  const MutexLock lock(blocks_mutex_);
  blocked_by_call_.erase(name);
  return {};
}

}  // namespace trawl
