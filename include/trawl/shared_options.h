// The options of a frontier that many crawlers share, in Redis.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/frontier_options.h"
#include "trawl/host_url_limit.h"

namespace trawl {

// What must hold for a write to count.
enum class SharedDurability : std::uint8_t {
  // A master has it. A failover may take back what was written shortly before: the crawlers write
  // it again, unless one of them dies at that time.
  kAsync,
  // A replica has it, if the master has any: survives the loss of any one node.
  kReplicated,
  // And it is on disks: survives power loss of all nodes. Redis must sync its append-only file
  // always (`appendfsync always`).
  kSynced,
};

// Which Redis, which crawl there, and which of its crawlers this is. Most users set `redis` and
// `name` alone. A crawl's memory in Redis is about 120 bytes for each queued URL and 9 for each URL
// ever admitted, and the same again in each replica.
struct ClusterOptions {
  // Some nodes of one Redis Cluster, or one server without cluster mode: HOST or HOST:PORT, IPv6 as
  // in "[::1]:6379"; without a port it is 6379. The other nodes are found by asking these. From 1
  // to 1,000.
  std::vector<std::string> redis = {};
  // For AUTH; an empty user name is Redis' "default", an empty password means no AUTH.
  std::string username = {};
  std::string password = {};
  // TLS to all nodes. `ca_file`: the authorities that are trusted, in PEM; empty: the system's.
  bool tls = false;
  std::filesystem::path ca_file = {};

  // The crawl: crawlers with the same name share a frontier, and crawls with different names may
  // share a Redis. 1 to 64 letters, digits, ".", "_" and "-".
  std::string name = {};
  // The hosts are divided into this many parts (1 to 4,096), each of which one crawler owns at a
  // time. Some 20 or more for each crawler make the shares even. Fixed when the crawl begins.
  std::uint32_t buckets = 256;
  // The name of this crawler among those of the crawl: the same in each of its runs, and no other
  // crawler's. 1 to 255 bytes without control characters. Empty: the machine's host name, ":", and
  // SharedOptions::directory as an absolute path.
  std::string member = {};
  // After this time without a sign of a crawler its hosts go to others, from 500 ms to 10 minutes.
  // A crawler that cannot reach Redis starts no requests after 0.8 of it. The same for all crawlers
  // of the crawl. The cluster's own `cluster-node-timeout` must be less than half of it.
  std::chrono::milliseconds takeover_after{10'000};
  SharedDurability durability = SharedDurability::kReplicated;
  // PolitenessOptions::ip_delay holds over all crawlers, by one more question to Redis for each
  // request. Otherwise each crawler keeps it for itself.
  bool shared_ip_delay = false;
};

// How a crawler opens a frontier that it shares with others. All crawlers of a crawl must have the
// same cluster.buckets, seen.profile, seen.expected_urls, politeness.delay,
// politeness.domain_delay, and, if shared, politeness.ip_delay.
struct SharedOptions {
  // Where this crawler keeps which crawl it takes part in, so that it notices when Redis has lost
  // it, and its last session, so that it gets its hosts back at once when it is started again.
  // Created if missing, its parents too; one process at a time has it open. Empty: nothing is kept,
  // and cluster.member must be given; a crawler that is started again then waits for
  // cluster.takeover_after.
  std::filesystem::path directory = {};
  ClusterOptions cluster = {};

  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  // `max_open_leases` is for this crawler.
  LimitOptions limits = {};
  // `expected_urls` is for the whole crawl. The filter is in the memory of the crawlers, each for
  // its own hosts; `max_memory` is for this one. FilterMode::kExact, `ledger` and `replace_profile`
  // are refused.
  SeenOptions seen = {};
  // Limits the URLs of a host that are admitted, whichever crawler found them: asked for what other
  // crawlers send to the owner of the host, which holds what has no place
  // (ClusterStatus::over_limit). Must outlive the frontier; null: no limit.
  HostUrlLimit* url_limit = nullptr;
  // The limit of pages of a host, which the caller sets as HostSettings::limit. When a bucket
  // comes, each of its hosts that was given another limit gets what it has not used of this one;
  // absent: none. Null: limits stay as they are.
  std::function<std::optional<std::uint64_t>(std::string_view host)> page_limit = {};
  // For this crawler. Durability::kSync is refused: see ClusterOptions::durability.
  StorageOptions store = {};
  // Called with what does not work and is tried again, for people: once when it begins. From any
  // thread; must not call the frontier.
  std::function<void(const Error&)> on_trouble = {};
  // Without `ends_follow_links`: the ends always do. `hash` is for a crawl that begins.
  TestingOptions testing = {};
};

}  // namespace trawl
