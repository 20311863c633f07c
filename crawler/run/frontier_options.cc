// frontier_options_of(), shared_options_of(): the keys of a config that are about the frontier.
#include <chrono>
#include <utility>

#include "trawl/canonicalizer.h"

#include "crawler/run/crawl.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/crawl_resources.h"

namespace trawl {

namespace {

SharedDurability shared_durability(ClusterDurability durability) {
  switch (durability) {
    case ClusterDurability::kAsync:
      return SharedDurability::kAsync;
    case ClusterDurability::kReplicated:
      return SharedDurability::kReplicated;
    case ClusterDurability::kSynced:
      return SharedDurability::kSynced;
  }
  return SharedDurability::kReplicated;
}

}  // namespace

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
  options.limits.max_open_leases = most_leases(config);
  options.limits.max_url_length = config.scope.max_url_length;
  options.checkpoints.keep = config.checkpoint.keep;
  options.checkpoints.max_replay = config.checkpoint.max_replay;
  options.checkpoints.interval = config.checkpoint.interval.value_or(std::chrono::milliseconds(0));
  options.checkpoints.admissions = config.checkpoint.admissions;
  options.checkpoints.max_rate = config.checkpoint.max_rate;
  options.seen.profile = std::move(*profile);
  return options;
}

Result<SharedOptions> shared_options_of(const CrawlConfig& config) {
  auto own = frontier_options_of(config);
  if (!own) return tl::unexpected(own.error());
  const ClusterConfig& cluster = config.cluster;
  const auto place = redis_place(cluster);
  if (!place) return tl::unexpected(place.error());
  auto password = read_redis_password(cluster.password_file);
  if (!password) return tl::unexpected(password.error());
  SharedOptions options;
  options.directory = own->directory;
  for (const RedisNode& node : place->nodes)
    options.cluster.redis.push_back(node.text());
  options.cluster.username = cluster.username;
  options.cluster.password = *std::move(password);
  options.cluster.tls = place->tls == RedisPlace::Tls::kYes;
  if (options.cluster.tls) options.cluster.ca_file = cluster.ca_file;
  options.cluster.shared_ip_delay = cluster.shared_ip_delay;
  options.cluster.name = cluster.name;
  options.cluster.buckets = cluster.buckets;
  options.cluster.member = cluster_member(cluster, config.crawl.state_dir);
  options.cluster.takeover_after = cluster.takeover_after;
  options.cluster.durability = shared_durability(cluster.durability);
  options.politeness = own->politeness;
  options.retry = own->retry;
  options.limits = own->limits;
  options.seen = std::move(own->seen);
  options.store = own->store;
  options.store.durability = Durability::kAsync;  // ClusterOptions::durability decides
  return options;
}

}  // namespace trawl
