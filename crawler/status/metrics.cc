#include "crawler/status/metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include "crawler/status/process_usage.h"
#include "crawler/status/prometheus_text.h"

namespace trawl {

namespace {

using Type = PrometheusText::Type;

double seconds_since_epoch(SystemTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void add_urls(const Crawl& crawl, const CrawlProgress& progress, PrometheusText& out) {
  const FrontierStats& stats = progress.frontier;
  out.counter("trawl_urls_admitted_total", "URLs that were new and were queued.", stats.admitted);
  out.counter("trawl_urls_seen_total", "URLs found that were known.", stats.seen);
  out.counter("trawl_urls_invalid_total", "URLs found that were invalid or too long.",
              stats.invalid);
  out.counter("trawl_urls_completed_total", "URLs that ended, fetched or not.", stats.completed);
  out.counter("trawl_fetch_retries_total", "Fetches that failed and are tried again.",
              stats.retried);
  out.metric("trawl_urls", Type::kGauge, "URLs by what they wait for.")
      .sample(stats.queued, {{"state", "queued"}})
      .sample(stats.leased, {{"state", "leased"}})
      .sample(stats.deferred, {{"state", "deferred"}})
      .sample(stats.held, {{"state", "held"}})
      .sample(stats.set_aside_failed, {{"state", "failed"}});
  out.metric("trawl_hosts", Type::kGauge, "Hosts with URLs queued, by state.")
      .sample(stats.hosts_leased, {{"state", "active"}})
      .sample(stats.hosts_waiting - std::min(stats.hosts_waiting, stats.hosts_blocked),
              {{"state", "waiting"}})
      .sample(stats.hosts_blocked, {{"state", "blocked"}})
      .sample(stats.hosts_parked, {{"state", "parked"}});
  out.gauge("trawl_requests_in_flight", "URLs that are being fetched.", progress.in_flight);
  out.metric("trawl_links_skipped_total", Type::kCounter,
             "Links that were not followed, by reason, over all runs.");
  for (const auto& [reason, count] : crawl.skipped_in_all())
    out.sample(count, {{"reason", reason}});
}

void add_pages(const Crawl& crawl, PrometheusText& out) {
  const TallyTotals totals = crawl.tally().totals();
  constexpr std::array<std::string_view, 6> kClasses = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  out.metric("trawl_pages_total", Type::kCounter,
             "Finished fetches by status class, over all runs; none: no response.");
  for (std::size_t i = 0; i < kClasses.size(); ++i)
    out.sample(totals.by_class[i], {{"class", kClasses[i]}});
  out.counter("trawl_page_bytes_total", "Bytes of bodies, decompressed.", totals.bytes());
  out.counter("trawl_redirects_total", "Pages that redirect.", totals.redirects);
  out.counter("trawl_duplicates_total", "Pages with the body of another.", totals.duplicates);
  out.counter("trawl_truncated_total", "Pages of which only a part was received.",
              totals.truncated);
  out.metric("trawl_failures_total", Type::kCounter, "Fetches that failed, by reason.");
  for (const auto& [reason, failure] : totals.failures)
    out.sample(failure.count, {{"reason", reason}});
  std::vector<double> bounds;
  for (const std::uint32_t bound : FetchTimes::kBounds)
    bounds.push_back(bound / 1000.0);
  out.metric("trawl_fetch_duration_seconds", Type::kHistogram, "How long finished fetches took.")
      .histogram(bounds, totals.times.counts, static_cast<double>(totals.times.sum_ms) / 1000);
}

void add_filter(const FrontierStats& stats, PrometheusText& out) {
  const FilterStats& filter = stats.filter;
  out.gauge("trawl_filter_urls", "URLs in the filter.", filter.inserted);
  out.gauge("trawl_filter_capacity_urls", "URLs that the filter has room for.", filter.capacity);
  out.gauge("trawl_filter_layers", "Layers of the filter.", std::uint64_t{filter.layers});
  out.gauge("trawl_filter_fill_ratio", "Share of the bits set in the newest layer.", filter.fill);
  out.gauge("trawl_filter_false_positive_ratio",
            "Probability that a new URL is taken for a known one.", stats.false_positive_rate);
  out.gauge("trawl_filter_expected_lost_urls",
            "Expected number of URLs wrongly taken for known so far.", stats.expected_lost);
  out.gauge("trawl_filter_memory_bytes", "Memory of the filter.", filter.memory_bytes);
}

void add_storage(const Crawl& crawl, const CrawlProgress& progress, PrometheusText& out) {
  out.counter("trawl_checkpoints_total", "Checkpoints published by this process.",
              progress.frontier.checkpoints);
  if (const auto last = crawl.last_checkpoint()) {
    out.gauge("trawl_checkpoint_last_timestamp_seconds",
              "When the newest checkpoint was published.", seconds_since_epoch(last->ended));
    out.gauge("trawl_checkpoint_last_duration_seconds", "How long the newest checkpoint took.",
              std::chrono::duration<double>(last->took).count());
  }
  const DurationHistogram& commits = progress.frontier.commit_times;
  out.metric("trawl_commit_duration_seconds", Type::kHistogram,
             "How long the frontier's writes took, in this process.")
      .histogram(DurationHistogram::kBounds, commits.counts, commits.sum);
  out.gauge("trawl_frontier_memory_bytes", "Memory of queues, caches and buffers, about.",
            progress.frontier.memory);
  out.gauge("trawl_bodies_memory_bytes", "Memory of bodies that are fetched or written.",
            progress.bodies_memory);
  if (const auto free = free_disk_space(crawl.state_dir()))
    out.gauge("trawl_disk_free_bytes", "Free space where the state directory is.", *free);
}

void add_cluster(const ClusterStatus& cluster, PrometheusText& out) {
  out.gauge("trawl_cluster_members", "Crawlers that share the crawl and live.",
            std::uint64_t{cluster.members.size()});
  out.gauge("trawl_cluster_buckets", "Parts that the crawl's hosts are divided into.",
            cluster.buckets);
  out.gauge("trawl_cluster_owned_buckets", "Of these, those that this crawler has.", cluster.owned);
  out.gauge("trawl_cluster_inbox_messages",
            "Messages of other crawlers that this one has not read yet.", cluster.inbox);
  out.gauge("trawl_cluster_oldest_message_seconds",
            "How long the oldest of these messages has waited.",
            std::chrono::duration<double>(cluster.oldest_message).count());
  out.gauge("trawl_cluster_waiting", "1 while this crawler waits for Redis.",
            std::uint64_t{!cluster.waits_for.empty()});
  out.counter("trawl_cluster_links_forwarded_total", "Links sent to other crawlers.",
              cluster.forwarded);
  out.counter("trawl_cluster_messages_taken_total", "Messages of other crawlers that were read.",
              cluster.messages_taken);
  out.counter("trawl_cluster_buckets_gained_total", "Buckets that this crawler got.",
              cluster.gained);
  out.counter("trawl_cluster_buckets_lost_total", "Buckets that it lost without giving them up.",
              cluster.lost);
  out.counter("trawl_cluster_batches_rolled_back_total",
              "Batches written again after a failover of Redis took them back.",
              cluster.rolled_back);
  out.counter("trawl_cluster_urls_passed_on_total",
              "URLs handed to the next owners of buckets that were lost.", cluster.passed_on);
  out.counter("trawl_cluster_urls_over_limit_total",
              "URLs of other crawlers beyond scope.max_urls_per_host.", cluster.over_limit);
  out.metric("trawl_cluster_crawl_urls", Type::kGauge, "URLs of the whole crawl, by state.")
      .sample(cluster.totals.admitted, {{"state", "admitted"}})
      .sample(cluster.totals.completed, {{"state", "completed"}})
      .sample(cluster.totals.open(), {{"state", "open"}})
      .sample(cluster.totals.held, {{"state", "held"}})
      .sample(cluster.totals.set_aside_failed, {{"state", "failed"}});
}

void add_process(PrometheusText& out) {
  const ProcessUsage usage = ProcessUsage::now();
  out.counter("process_cpu_seconds_total", "Processor time used, user and system.",
              usage.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Resident memory.", usage.resident);
  out.gauge("process_virtual_memory_bytes", "Virtual memory.", usage.virtual_memory);
  out.gauge("process_open_fds", "Open file descriptors.", usage.open_files);
  out.gauge("process_max_fds", "The most file descriptors that may be open.", usage.max_files);
  out.gauge("process_threads", "Threads.", usage.threads);
  out.gauge("process_start_time_seconds", "When the process started, since the epoch.",
            seconds_since_epoch(usage.started));
}

}  // namespace

std::string metrics_text(const Crawl& crawl) {
  const CrawlProgress progress = crawl.progress();
  PrometheusText out;
  out.metric("trawl_build_info", Type::kGauge, "The version of trawl.")
      .sample(std::uint64_t{1}, {{"version", TRAWL_VERSION}});
  out.gauge("trawl_paused", "1 while the crawl is paused.", std::uint64_t{crawl.paused()});
  add_pages(crawl, out);
  add_urls(crawl, progress, out);
  add_filter(progress.frontier, out);
  add_storage(crawl, progress, out);
  if (const auto cluster = crawl.cluster()) add_cluster(*cluster, out);
  add_process(out);
  return out.text();
}

}  // namespace trawl
