#include "crawler/run/crawl_steering.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/local_time.h"
#include "crawler/config/config_values.h"
#include "crawler/log/room_log.h"

namespace trawl {

namespace {

// URLs per call of Frontier::offer(), which other threads wait for.
constexpr std::size_t kOfferBatch = 4096;

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

// A host that is blocked without an end is blocked for as long as the frontier allows, so that the
// crawl waits for it; it is known by what is left of that.
constexpr std::chrono::days kNoEnd{360};
constexpr std::chrono::days kLongestEnd{180};

bool is_without_end(SystemTime until) {
  return until > std::chrono::system_clock::now() + kLongestEnd;
}

// `trouble`: the failures of this run, which the frontier does not count when those of a robots.txt
// are among them.
std::string reason_of(const HostRow& row, const std::optional<HostTrouble>& trouble) {
  const std::string failures =
      row.failures == 0 ? ""
                        : fmt::format("{}{} failure{} in a row", trouble ? trouble->why + ", " : "",
                                      row.failures, row.failures == 1 ? "" : "s");
  switch (row.state) {
    case HostState::kActive:
      break;
    case HostState::kBlocked:
      if (!failures.empty() && row.blocked_until) return failures;
      return row.blocked_until ? "blocked by a call" : "blocked by a call, until it is unblocked";
    case HostState::kParked:
      return failures.empty() ? "parked in an earlier run" : "parked: " + failures;
    case HostState::kAtLimit:
      return "as many pages fetched as scope.max_pages_per_host allows";
  }
  return failures;
}

HostRow row_of(const HostCounts& counts, const HostTroubles& troubles) {
  HostRow row{.host = counts.host,
              .state = counts.state,
              .queued = counts.queued,
              .queued_is_exact = counts.is_exact,
              .leased = counts.leased,
              .failures = counts.failures,
              .delay = counts.delay,
              .blocked_until = counts.blocked_until};
  const bool without_end = row.blocked_until && is_without_end(*row.blocked_until);
  if (without_end) row.blocked_until.reset();
  if (counts.next_start && !without_end) {
    const auto wait = *counts.next_start - std::chrono::steady_clock::now();
    row.next_start = std::chrono::time_point_cast<SystemTime::duration>(
        std::chrono::system_clock::now() + std::max(wait, std::chrono::nanoseconds(0)));
  }
  const auto trouble = troubles.of(row.host);
  if (trouble) row.failures = std::max(row.failures, trouble->failures);
  row.reason = reason_of(row, trouble);
  return row;
}

}  // namespace

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
  const auto busiest = frontier_.busiest_hosts(order, limit);
  if (!busiest) return tl::unexpected(busiest.error());
  std::vector<HostRow> rows;
  rows.reserve(busiest->size());
  for (const HostCounts& counts : *busiest)
    rows.push_back(row_of(counts, context_.host_troubles));
  return rows;
}

Result<HostRow> CrawlSteering::host(const std::string& name) const {
  const auto counts = frontier_.host_counts(name);
  if (!counts) return tl::unexpected(counts.error());
  return row_of(*counts, context_.host_troubles);
}

Result<void> CrawlSteering::set_host(const std::string& name, const HostSettings& settings) {
  if (settings.delay && !context_.asked_delays.set(name, *settings.delay)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("delays are set for {} hosts already: set politeness.delay instead",
                             AskedDelays::kMostHosts));
  }
  auto set = frontier_.set_host(name, settings);
  if (set && settings.delay) {
    room_log(LogRoom::kStatus)
        .info("{}: a call set its delay to {}", name, format_duration(*settings.delay));
  }
  return set;
}

Result<void> CrawlSteering::block_host(const std::string& name, std::optional<SystemTime> until) {
  auto blocked = frontier_.set_host(
      name, {.blocked_until = until.value_or(std::chrono::system_clock::now() + kNoEnd)});
  if (blocked) {
    room_log(LogRoom::kStatus)
        .info("{}: blocked by a call until {}", name,
              until ? to_local_time(*until, std::chrono::system_clock::now()) : "it is unblocked");
  }
  return blocked;
}

Result<void> CrawlSteering::unblock_host(const std::string& name) {
  auto unblocked = frontier_.set_host(name, {.blocked_until = HostSettings::kNotBlocked});
  if (unblocked) room_log(LogRoom::kStatus).info("{}: unblocked by a call", name);
  return unblocked;
}

Result<std::uint64_t> CrawlSteering::drop_host(const std::string& name) {
  auto dropped = frontier_.drop_host(name);
  if (dropped)
    room_log(LogRoom::kStatus).info("{}: a call dropped its {} queued URLs", name, *dropped);
  return dropped;
}

}  // namespace trawl
