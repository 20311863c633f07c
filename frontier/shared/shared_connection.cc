#include "frontier/shared/shared_connection.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/bucket_store.h"
#include "frontier/shared/shared_options_checks.h"
#include "frontier/shared/shared_session.h"

namespace trawl {

namespace {

Result<std::optional<SharedSession>> last_session(const SharedOptions& options) {
  if (options.directory.empty()) return std::nullopt;
  auto last = SharedSession::read(options.directory);
  if (!last || !*last || (*last)->crawl == options.cluster.name) return last;
  return error(ErrorCode::kAlreadyExists,
               fmt::format("{} takes part in the crawl {}, not in {}; use another directory, or "
                           "the cluster.name of before",
                           options.directory.string(), (*last)->crawl, options.cluster.name));
}

}  // namespace

Result<std::unique_ptr<RedisClient>> SharedConnection::client() const {
  return RedisClient::connect(redis);
}

Result<std::unique_ptr<RedisClient>> SharedConnection::ownership_client() const {
  RedisOptions options = redis;
  options.connect_timeout = std::min(options.connect_timeout, ownership.lease / 5);
  options.answer_timeout = std::min(options.answer_timeout, ownership.lease / 5);
  return RedisClient::connect(std::move(options));
}

Result<SharedConnection> connect_shared(const SharedOptions& options) {
  if (auto valid = check_options(options); !valid) return tl::unexpected(valid.error());
  const auto last = last_session(options);
  if (!last) return tl::unexpected(last.error());
  const ClusterOptions& cluster = options.cluster;
  RedisOptions redis = redis_options(cluster);
  auto client = RedisClient::connect(redis);
  if (!client) return tl::unexpected(client.error());
  auto checks =
      check_redis(**client, {.lease = cluster.takeover_after, .durability = cluster.durability});
  if (!checks) return tl::unexpected(checks.error());
  if (cluster.durability == SharedDurability::kSynced && !checks->syncs_always) {
    return error(ErrorCode::kInvalidArgument,
                 "cluster.durability = \"synced\" needs a Redis that syncs its append-only file "
                 "before it answers: CONFIG SET appendfsync always on each node (and CONFIG "
                 "REWRITE), or use \"replicated\"");
  }
  BucketKeys keys(cluster.name);
  auto crawl = join_crawl(**client, keys, shared_config(options),
                          *last ? std::optional((*last)->id) : std::nullopt);
  if (!crawl) return tl::unexpected(crawl.error());
  // Of another program, they would only be found when they are needed.
  BucketStore seen(**client, keys, false);
  if (auto members = seen.members(); !members && members.error().code == ErrorCode::kCorrupt)
    return tl::unexpected(members.error());
  const std::string session = new_session();
  // A copy of the directory of another crawler, which may live, has that one's name.
  const bool is_own = *last && (*last)->member == member_name(options);
  // Before anything is claimed under it.
  if (!options.directory.empty()) {
    const SharedSession now{
        .crawl = cluster.name, .member = member_name(options), .id = crawl->id, .session = session};
    if (auto written = now.write(options.directory); !written)
      return tl::unexpected(written.error());
  }
  return SharedConnection{
      .redis = std::move(redis),
      .keys = std::move(keys),
      .crawl = std::move(*crawl),
      .checks = std::move(*checks),
      .ownership = {.member = member_name(options),
                    .session = session,
                    .buckets = cluster.buckets,
                    .lease = cluster.takeover_after,
                    .previous_session = is_own ? (*last)->session : std::string()},
      .replicated = cluster.durability != SharedDurability::kAsync};
}

}  // namespace trawl
