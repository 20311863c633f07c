#include "frontier/shared/shared_options_checks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "frontier/common/option_checks.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxNodes = 1000;
constexpr std::size_t kMaxCrawlName = 64;
constexpr std::size_t kMaxMemberName = 255;
constexpr BucketId kMaxBuckets = 4096;
constexpr std::chrono::milliseconds kMinLease{500};
constexpr std::chrono::milliseconds kMaxLease{600'000};

tl::unexpected<Error> wrong_option(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

bool is_name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == '-';
}

Result<void> check_cluster(const ClusterOptions& cluster) {
  if (cluster.redis.empty() || cluster.redis.size() > kMaxNodes) {
    return wrong_option(
        fmt::format("cluster.redis must have from 1 to {} addresses, not {}: name "
                    "some nodes of the Redis Cluster, or one server",
                    kMaxNodes, cluster.redis.size()));
  }
  for (const std::string& node : cluster.redis) {
    const auto address = parse_redis_address(node);
    if (!address) return wrong_option("cluster.redis: " + address.error().message);
  }
  if (!cluster.username.empty() && cluster.password.empty())
    return wrong_option("cluster.username needs a cluster.password");
  if (!cluster.ca_file.empty() && !cluster.tls)
    return wrong_option("cluster.ca_file needs cluster.tls");
  if (cluster.name.empty() || cluster.name.size() > kMaxCrawlName ||
      !std::ranges::all_of(cluster.name, is_name_character)) {
    return wrong_option(
        fmt::format("cluster.name must be 1 to {} letters, digits, \".\", \"_\" "
                    "and \"-\", not \"{}\"",
                    kMaxCrawlName, escape_unsafe(cluster.name)));
  }
  if (cluster.buckets == 0 || cluster.buckets > kMaxBuckets) {
    return wrong_option(
        fmt::format("cluster.buckets must be from 1 to {}, not {}", kMaxBuckets, cluster.buckets));
  }
  if (cluster.takeover_after < kMinLease || cluster.takeover_after > kMaxLease) {
    return wrong_option(
        fmt::format("cluster.takeover_after must be from 500 ms to 10 minutes, not "
                    "{} ms",
                    cluster.takeover_after.count()));
  }
  return {};
}

Result<void> check_member(const SharedOptions& options) {
  if (options.directory.empty() && options.cluster.member.empty()) {
    return wrong_option(
        "cluster.member is needed without a directory: give each crawler a name "
        "that it has in each of its runs");
  }
  const std::string member = member_name(options);
  const bool is_text = std::ranges::none_of(
      member, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (member.size() <= kMaxMemberName && is_text) return {};
  return wrong_option(
      fmt::format("cluster.member must have 1 to {} bytes without control "
                  "characters, not {} bytes: \"{}\"",
                  kMaxMemberName, member.size(), escape_unsafe(member)));
}

// What an EmbeddedFrontier has and a shared one has not.
Result<void> check_unsupported(const SharedOptions& options) {
  if (options.seen.mode != FilterMode::kBloom)
    return wrong_option(
        "seen.mode: a shared frontier has no exact mode; lower "
        "seen.false_positive_rate instead");
  if (options.seen.ledger) return wrong_option("seen.ledger: a shared frontier has no ledger");
  if (options.seen.replace_profile) {
    return wrong_option(
        "seen.replace_profile: the profile of a shared frontier cannot be "
        "replaced; begin another crawl under another cluster.name");
  }
  if (options.store.durability != Durability::kAsync)
    return wrong_option(
        "store.durability does not apply to a shared frontier: set "
        "cluster.durability");
  if (options.cluster.shared_ip_delay && options.politeness.ip_delay.count() == 0)
    return wrong_option("cluster.shared_ip_delay needs a politeness.ip_delay");
  return {};
}

}  // namespace

Result<void> check_options(const SharedOptions& options) {
  if (auto valid = check_cluster(options.cluster); !valid) return valid;
  if (auto valid = check_member(options); !valid) return valid;
  if (auto valid = check_unsupported(options); !valid) return valid;
  if (auto valid =
          check_options(options.politeness, options.retry, options.limits, options.seen.profile);
      !valid)
    return valid;
  return check_options(options.limits, options.seen, options.store);
}

// In lifetimes of a lease: longer than any failover takes, with the start of the old master again.
constexpr int kReplicaPatience = 6;

RedisOptions redis_options(const ClusterOptions& cluster) {
  RedisOptions redis{.username = cluster.username,
                     .password = cluster.password,
                     .tls = cluster.tls,
                     .ca_file = cluster.ca_file.string(),
                     .replica_patience = std::chrono::ceil<std::chrono::seconds>(
                         kReplicaPatience * cluster.takeover_after)};
  for (const std::string& node : cluster.redis)
    if (auto address = parse_redis_address(node)) redis.addresses.push_back(std::move(*address));
  return redis;
}

SharedConfig shared_config(const SharedOptions& options) {
  const PolitenessOptions& politeness = options.politeness;
  return {.buckets = options.cluster.buckets,
          .profile = options.seen.profile.name(),
          .expected_urls = options.seen.expected_urls,
          .delay = politeness.delay,
          .domain_delay = politeness.domain_delay,
          .address_delay =
              options.cluster.shared_ip_delay ? politeness.ip_delay : std::chrono::milliseconds(0),
          .lease = options.cluster.takeover_after,
          .hash = options.testing.hash};
}

std::string member_name(const SharedOptions& options) {
  if (!options.cluster.member.empty()) return options.cluster.member;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::error_code failed;
  const auto directory = std::filesystem::absolute(options.directory, failed).lexically_normal();
  return fmt::format("{}:{}", host.data(),
                     failed ? options.directory.string() : directory.string());
}

}  // namespace trawl
