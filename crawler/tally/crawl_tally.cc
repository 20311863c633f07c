#include "crawler/tally/crawl_tally.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace trawl {

namespace {

// Texts of errors may come from servers.
constexpr std::size_t kMaxText = 500;

std::string bounded(std::string_view text) {
  return std::string(text.substr(0, kMaxText));
}

std::size_t class_of(int status) {
  return status >= 100 && status < 600 ? static_cast<std::size_t>(status / 100) : 0;
}

bool is_failed(const TalliedPage& page) {
  return page.status >= 400 || !page.error.empty() || !page.reason.empty();
}

std::string failure_reason(const TalliedPage& page) {
  if (!page.reason.empty()) return bounded(page.reason);
  if (page.status >= 400) return fmt::format("HTTP {}", page.status);
  return bounded(page.error.substr(0, page.error.find(':')));
}

void add_failure(std::map<std::string, FailureTally>& failures, const TalliedPage& page) {
  std::string reason = failure_reason(page);
  // Only for a crawl with very many reasons.
  if (failures.size() >= CrawlTally::kMaxReasons && !failures.contains(reason)) reason = "other";
  FailureTally& failure = failures[reason];
  if (failure.count++ > 0) return;
  failure.reason = reason;
  failure.url = bounded(page.url);
  failure.error = bounded(page.error);
}

void merge(const HostTally& from, HostTally& into) {
  into.fetched += from.fetched;
  for (std::size_t i = 0; i < from.by_class.size(); ++i)
    into.by_class[i] += from.by_class[i];
  into.bytes += from.bytes;
  into.failed += from.failed;
  into.duplicates += from.duplicates;
  into.elapsed_ms += from.elapsed_ms;
  into.longest_ms = std::max(into.longest_ms, from.longest_ms);
  into.last_fetch = std::max(into.last_fetch, from.last_fetch);
  if (from.smallest_gap && (!into.smallest_gap || *from.smallest_gap < *into.smallest_gap))
    into.smallest_gap = from.smallest_gap;
}

std::uint64_t rank_of(const HostTally& host, TallyOrder order) {
  switch (order) {
    case TallyOrder::kFetched:
      return host.fetched;
    case TallyOrder::kFailed:
      return host.failed;
    case TallyOrder::kBytes:
      return host.bytes;
    case TallyOrder::kSlowest:
      return host.mean_ms();
  }
  return 0;
}

}  // namespace

void FetchTimes::add(std::chrono::milliseconds time) {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  const auto bound = std::ranges::lower_bound(kBounds, ms);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ms += ms;
}

std::uint64_t TallyTotals::bytes() const {
  return std::accumulate(bytes_by_class.begin(), bytes_by_class.end(), std::uint64_t{0});
}

void TallyTotals::add(const TalliedPage& page) {
  ++lines;
  const std::size_t status_class = class_of(page.status);
  ++by_class[status_class];
  bytes_by_class[status_class] += page.bytes;
  if (page.status != 0) ++by_status[page.status];
  if (page.redirect) ++redirects;
  if (page.duplicate) ++duplicates;
  if (page.truncated) ++truncated;
  if (page.recrawl) ++recrawls;
  times.add(page.elapsed);
  if (!is_failed(page)) return;
  ++failed;
  add_failure(failures, page);
}

void HostTally::add(const TalliedPage& page) {
  ++fetched;
  ++by_class[class_of(page.status)];
  bytes += page.bytes;
  if (page.duplicate) ++duplicates;
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(page.elapsed.count(), 0));
  elapsed_ms += ms;
  longest_ms = std::max(longest_ms, static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, ~0u)));
  last_fetch = std::max(last_fetch, page.fetched_at);
  if (!is_failed(page)) return;
  ++failed;
  last_error = page.error.empty() ? failure_reason(page) : bounded(page.error);
}

CrawlTally::CrawlTally(TallySnapshot before)
    : all_(std::move(before.totals)), other_hosts_(std::move(before.other_hosts)) {
  for (HostTally& host : before.hosts) {
    std::string name = host.host;
    hosts_.emplace(std::move(name), Entry{.tally = std::move(host), .last_start = {}});
  }
  error_count_ = before.errors.size();
  // The newest first in the snapshot.
  errors_.assign(std::make_move_iterator(before.errors.rbegin()),
                 std::make_move_iterator(before.errors.rend()));
}

CrawlTally::Entry& CrawlTally::entry_of(std::string_view host) {
  if (const auto found = hosts_.find(host); found != hosts_.end()) return found->second;
  if (hosts_.size() >= kMaxHosts) forget_small_hosts();
  Entry& entry = hosts_[std::string(host)];
  entry.tally.host = host;
  return entry;
}

// Halves the table, so that each call pays for many hosts to come.
void CrawlTally::forget_small_hosts() {
  std::vector<std::pair<std::uint64_t, const std::string*>> by_fetches;
  by_fetches.reserve(hosts_.size());
  for (const auto& [name, entry] : hosts_)
    by_fetches.emplace_back(entry.tally.fetched, &name);
  const auto middle = by_fetches.begin() + static_cast<std::ptrdiff_t>(by_fetches.size() / 2);
  std::nth_element(by_fetches.begin(), middle, by_fetches.end());
  for (auto it = by_fetches.begin(); it != middle; ++it) {
    const auto found = hosts_.find(*it->second);
    merge(found->second.tally, other_hosts_);
    hosts_.erase(found);
  }
}

void CrawlTally::add(const TalliedPage& page) {
  const MutexLock lock(mutex_);
  all_.add(page);
  run_.add(page);
  entry_of(page.host).tally.add(page);
  if (!is_failed(page)) return;
  ++error_count_;
  errors_.push_back({.time = page.fetched_at,
                     .url = bounded(page.url),
                     .status = page.status,
                     .reason = failure_reason(page),
                     .error = bounded(page.error)});
  if (errors_.size() > kMaxErrors) errors_.pop_front();
}

void CrawlTally::note_start(std::string_view host, std::chrono::steady_clock::time_point sent) {
  const MutexLock lock(mutex_);
  Entry& entry = entry_of(host);
  if (entry.last_start) {
    const auto gap = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(sent - *entry.last_start, std::chrono::steady_clock::duration{0}));
    auto& smallest = entry.tally.smallest_gap;
    if (!smallest || gap < *smallest) smallest = gap;
  }
  entry.last_start = sent;
}

TallyTotals CrawlTally::totals() const {
  const MutexLock lock(mutex_);
  return all_;
}

TallyTotals CrawlTally::of_this_run() const {
  const MutexLock lock(mutex_);
  return run_;
}

std::vector<HostTally> CrawlTally::top_hosts(TallyOrder order, std::size_t limit) const {
  std::vector<HostTally> hosts;
  {
    const MutexLock lock(mutex_);
    hosts.reserve(hosts_.size());
    for (const auto& [name, entry] : hosts_)
      if (entry.tally.fetched > 0) hosts.push_back(entry.tally);
  }
  sort_hosts(hosts, order, limit);
  return hosts;
}

std::optional<HostTally> CrawlTally::host(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = hosts_.find(name);
  return found == hosts_.end() ? std::nullopt : std::optional(found->second.tally);
}

std::vector<RecentError> CrawlTally::recent_errors(std::size_t limit) const {
  const MutexLock lock(mutex_);
  const std::size_t count = std::min(limit, errors_.size());
  return {errors_.rbegin(), errors_.rbegin() + static_cast<std::ptrdiff_t>(count)};
}

std::uint64_t CrawlTally::error_count() const {
  const MutexLock lock(mutex_);
  return error_count_;
}

TallySnapshot CrawlTally::snapshot() const {
  TallySnapshot snapshot;
  const MutexLock lock(mutex_);
  snapshot.totals = all_;
  for (const auto& [name, entry] : hosts_)
    snapshot.hosts.push_back(entry.tally);
  snapshot.other_hosts = other_hosts_;
  snapshot.errors.assign(errors_.rbegin(), errors_.rend());
  return snapshot;
}

void sort_hosts(std::vector<HostTally>& hosts, TallyOrder order, std::size_t limit) {
  const auto before = [order](const HostTally& one, const HostTally& other) {
    const std::uint64_t first = rank_of(one, order);
    const std::uint64_t second = rank_of(other, order);
    return first != second ? first > second : one.host < other.host;
  };
  const auto kept = static_cast<std::ptrdiff_t>(std::min(limit, hosts.size()));
  std::partial_sort(hosts.begin(), hosts.begin() + kept, hosts.end(), before);
  hosts.resize(static_cast<std::size_t>(kept));
}

}  // namespace trawl
