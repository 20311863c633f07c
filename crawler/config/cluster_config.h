// ClusterConfig: [cluster]: a frontier that many crawlers share, in Redis.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/redis_place.h"

namespace trawl {

// When a change counts as stored.
enum class ClusterDurability : std::uint8_t {
  kAsync,       // a master has it
  kReplicated,  // a replica has it, if the master has any
  kSynced,      // and it is on disks
};

struct ClusterConfig {
  std::vector<std::string> redis = {};  // valid for redis_place(); none: the frontier is embedded
  std::string name = {};                // of the crawl: see is_crawl_name()
  std::uint32_t buckets = 256;
  std::string member = {};  // empty: see cluster_member()
  std::chrono::milliseconds takeover_after{10'000};
  ClusterDurability durability = ClusterDurability::kReplicated;
  std::string username = {};                 // empty: Redis' default user
  std::filesystem::path password_file = {};  // empty: without a password
  bool tls = false;
  std::filesystem::path ca_file = {};  // PEM; empty: the system's
  bool shared_ip_delay = false;        // politeness.ip_delay is over all crawlers

  bool enabled() const { return !redis.empty(); }
  friend bool operator==(const ClusterConfig&, const ClusterConfig&) = default;
};

// The nodes of `redis` together, the crawl's name, and whether TLS is used, which is then not
// kOpen. Errors: kInvalidArgument for nodes that contradict each other or `tls`.
Result<RedisPlace> redis_place(const ClusterConfig& cluster);
// The name of this crawler: as configured, or "HOST:STATE_DIR", which another run has too.
std::string cluster_member(const ClusterConfig& cluster, const std::filesystem::path& state_dir);
// The longest that may be configured.
inline constexpr std::size_t kMaxMemberBytes = 255;

// The first line of the file. Empty if no file is given. Errors name the file, and do not show what
// it holds: kNotFound, kPermission and the like; kInvalidArgument if it is not one line of text.
Result<std::string> read_redis_password(const std::filesystem::path& file);

}  // namespace trawl
