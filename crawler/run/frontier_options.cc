// frontier_options_of(): the keys of a config that are about the frontier.
#include <chrono>
#include <utility>

#include "trawl/canonicalizer.h"

#include "crawler/run/crawl.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/crawl_resources.h"

namespace trawl {

Result<EmbeddedOptions> frontier_options_of(const CrawlConfig& config) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  EmbeddedOptions options;
  options.directory = config.crawl.state_dir;
  options.seen.expected_urls = config.filter.expected_urls;
  options.seen.false_positive_rate = config.filter.false_positive_rate;
  options.seen.max_memory = config.filter.max_memory.value_or(0);
  options.seen.mode = config.filter.mode;
  options.seen.ledger = config.frontier.ledger;
  options.store.max_memory = config.frontier.max_memory;
  options.store.durability = config.frontier.durability;
  options.politeness.delay = config.politeness.delay;
  options.politeness.domain_delay = config.politeness.domain_delay;
  options.politeness.ip_delay = config.politeness.ip_delay;
  options.politeness.adaptive_delay = config.politeness.adaptive_delay;
  options.politeness.max_adaptive_delay = config.politeness.max_adaptive_delay;
  options.politeness.leases_per_host = config.politeness.per_host_connections;
  options.retry.retries = config.politeness.retries;
  options.retry.retry_delay = config.politeness.retry_delay;
  options.retry.host_backoff = config.politeness.host_backoff;
  options.retry.max_host_backoff = config.politeness.max_host_backoff;
  options.retry.host_failures = config.politeness.host_failures;
  options.retry.park_time = config.politeness.park_time;
  options.store.max_set_aside = config.frontier.max_set_aside;
  options.limits.lease_timeout = kLeaseTimeout;
  options.limits.max_open_leases = most_leases(config.fetch.connections);
  options.limits.max_url_length = config.scope.max_url_length;
  options.checkpoints.keep = config.checkpoint.keep;
  options.checkpoints.max_replay = config.checkpoint.max_replay;
  options.checkpoints.interval = config.checkpoint.interval.value_or(std::chrono::milliseconds(0));
  options.checkpoints.admissions = config.checkpoint.admissions;
  options.checkpoints.max_rate = config.checkpoint.max_rate;
  options.seen.profile = std::move(*profile);
  return options;
}

}  // namespace trawl
