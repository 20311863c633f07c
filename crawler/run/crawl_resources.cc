#include "crawler/run/crawl_resources.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "crawler/run/unread_pages.h"

namespace trawl {

namespace {

// File descriptors of the store, the output and all else; each connection takes one more.
constexpr rlim_t kForTheRest = 128;

// Idle connections that are kept in all, if the requests in progress are fewer: another handshake
// costs more than several pages, and an idle connection with TLS takes some 25 KiB.
constexpr std::size_t kMostIdle = 1024;

// Pages whose links and ends are being written, at least.
constexpr std::uint32_t kLeastEnding = 16;

std::uint32_t most_connections_of_a_host(const CrawlConfig::Politeness& politeness) {
  std::uint32_t most = politeness.per_host_connections;
  for (const HostPolitenessText& host : politeness.hosts)
    most = std::max(most, host.connections.value_or(0));
  return most;
}

}  // namespace

Result<void> check_descriptors(std::uint32_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= connections + kForTheRest) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("fetch.connections = {} needs {} open files, but the limit is {}: lower "
                           "fetch.connections, or raise the limit with ulimit -n",
                           connections, connections + kForTheRest, limit.rlim_cur));
}

std::uint32_t most_leases(const CrawlConfig& config) {
  const std::uint32_t connections = config.fetch.connections;
  // Redis gets first the links and then the end, and both are collected: more pages wait, and the
  // more do, the fewer writes.
  if (config.cluster.enabled()) return connections + std::max(connections, kLeastEnding);
  // Of pages that wait to be read by another thread: see Fetcher::note_fetched().
  constexpr std::uint32_t kPlaces = UnreadPages::kPlaces;
  const std::uint32_t fetched =
      std::min((config.fetch.threads - 1) * kPlaces, std::max(connections, kPlaces));
  return connections + std::max(connections / 16, kLeastEnding) + fetched;
}

std::size_t connections_kept(std::size_t connections, std::size_t threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  const std::size_t used = connections + kForTheRest;
  const std::size_t left = limit.rlim_cur - std::min<std::size_t>(used, limit.rlim_cur);
  return std::clamp<std::size_t>(left / threads, 1, std::max(connections, kMostIdle / threads));
}

HttpOptions http_options(const CrawlConfig& config, std::size_t connections,
                         std::shared_ptr<BodyMemoryBudget> bodies,
                         std::shared_ptr<RateLimiter> rate) {
  const CrawlConfig::Fetch& fetch = config.fetch;
  return {.user_agent = config.crawl.user_agent,
          .timeout = fetch.timeout,
          .connect_timeout = fetch.connect_timeout,
          .first_byte_timeout = fetch.first_byte_timeout,
          .min_speed = fetch.min_speed,
          .min_speed_time = fetch.min_speed_time,
          .max_header_bytes = fetch.max_header,
          .connections = connections,
          .http2 = fetch.http2,
          .multiplex = most_connections_of_a_host(config.politeness) > 1,
          .keep_encoded = true,  // digests are of them
          .allow_private_addresses = fetch.allow_private_addresses,
          .verify_tls = fetch.verify_tls,
          .ca_file = fetch.ca_file,
          .resolver = {.servers = fetch.dns_servers,
                       .timeout = fetch.dns_timeout,
                       .negative_age = fetch.dns_negative_age,
                       .ip_version = fetch.ip_version},
          .budget = std::move(bodies),
          .rate = std::move(rate)};
}

}  // namespace trawl
