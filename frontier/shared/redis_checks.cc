#include "frontier/shared/redis_checks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frontier/shared/node_info.h"
#include "frontier/shared/redis_values.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

class Checks {
 public:
  Checks(RedisClient& client, const RedisCheckOptions& options)
      : client_(client), options_(options) {}

  Result<RedisChecks> run() {
    masters_ = client_.slots().nodes();
    std::vector<RedisAddress> nodes = masters_;
    const auto& replicas = client_.slots().replicas();
    nodes.insert(nodes.end(), replicas.begin(), replicas.end());
    if (auto passed = check_infos(nodes); !passed) return tl::unexpected(passed.error());
    if (auto passed = check_settings(nodes); !passed) return tl::unexpected(passed.error());
    warn_of_single_copies();
    compare_clocks();
    return std::move(findings_);
  }

 private:
  bool is_master(const RedisAddress& node) const {
    return std::ranges::find(masters_, node) != masters_.end();
  }
  void warn(std::string text) { findings_.warnings.push_back(std::move(text)); }
  void warn_unchecked(std::string_view node, std::string_view what, std::string_view why) {
    warn(fmt::format("{} does not say {}, so it could not be checked: {}", node, what, why));
  }

  Result<void> check_infos(const std::vector<RedisAddress>& nodes) {
    for (const auto& [node, reply] : client_.ask_nodes(nodes, {"INFO"})) {
      if (!reply) {
        if (is_master(node)) return tl::unexpected(reply.error());
        warn(fmt::format("a replica does not answer: {}", reply.error().message));
        continue;
      }
      if (!reply->is_text()) {
        warn_unchecked(
            "the Redis node " + node.text(),
            "its version, whether it evicts keys, and whether it has an append-only file",
            reply->text + "; allow this user +info");
        continue;
      }
      const NodeInfo info(node, reply->text);
      const auto version = info.check_version();
      if (!version) return tl::unexpected(version.error());
      if (!version->empty()) warn(*version);
      if (auto passed = check_eviction(info); !passed) return passed;
      if (auto passed = check_file(info); !passed) return passed;
    }
    return {};
  }

  Result<void> check_eviction(const NodeInfo& info) {
    const auto policy = info["maxmemory_policy"];
    if (!policy) {
      warn_unchecked(info.node(), "whether it evicts keys", "INFO has no maxmemory_policy");
    } else if (*policy != "noeviction") {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} evicts keys when its memory is full (maxmemory-policy {}), so "
                               "URLs would be lost; set maxmemory-policy noeviction on every node",
                               info.node(), *policy));
    }
    return {};
  }

  Result<void> check_file(const NodeInfo& info) {
    if (options_.durability == SharedDurability::kAsync) return {};
    const auto enabled = info["aof_enabled"];
    if (!enabled) {
      warn_unchecked(info.node(), "whether it has an append-only file", "INFO has no aof_enabled");
    } else if (*enabled != "1") {
      return error(
          ErrorCode::kInvalidArgument,
          fmt::format("{} has no append-only file, so it comes back empty when it is "
                      "started again, and its part of the crawl is lost; set appendonly "
                      "yes on every node, or cluster.durability = \"async\" if that may be",
                      info.node()));
    }
    return {};
  }

  // The values of a setting on all nodes; those that a node does not say are a warning.
  std::vector<std::pair<RedisAddress, std::string>> setting(const std::vector<RedisAddress>& nodes,
                                                            std::string_view name) {
    std::vector<std::pair<RedisAddress, std::string>> values;
    for (const auto& [node, reply] : client_.ask_nodes(nodes, {"CONFIG", "GET", name})) {
      if (!reply) continue;  // it did not answer before
      if (reply->is_array() && reply->elements.size() == 2) {
        values.emplace_back(node, reply->elements[1].text);
        continue;
      }
      warn_unchecked("the Redis node " + node.text(), name,
                     reply->is_error() ? reply->text + "; allow this user +config|get"
                                       : "it has no such setting");
    }
    return values;
  }

  Result<void> check_settings(const std::vector<RedisAddress>& nodes) {
    if (options_.durability == SharedDurability::kSynced) {
      const auto values = setting(nodes, "appendfsync");
      findings_.syncs_always =
          values.size() == nodes.size() &&
          std::ranges::all_of(values, [](const auto& one) { return one.second == "always"; });
    }
    if (!client_.slots().is_cluster()) return {};
    for (const auto& [node, value] : setting(nodes, "cluster-node-timeout")) {
      const auto timeout = number_in(value);
      if (timeout && 2 * *timeout < static_cast<std::uint64_t>(options_.lease.count())) continue;
      return error(
          ErrorCode::kInvalidArgument,
          fmt::format("the Redis node {} has cluster-node-timeout {} ms, which must be less "
                      "than half of cluster.takeover_after ({} ms): with every failover "
                      "all its buckets would change their owners; lower the former, or "
                      "raise the latter",
                      node.text(), value, options_.lease.count()));
    }
    for (const auto& [node, value] : setting(nodes, "cluster-require-full-coverage")) {
      if (value == "no") continue;
      warn(
          fmt::format("the Redis node {} has cluster-require-full-coverage {}: when one master is "
                      "lost with its replicas the whole crawl stands still, instead of its part; "
                      "no is better for a crawl",
                      node.text(), value));
    }
    return {};
  }

  void warn_of_single_copies() {
    for (const RedisAddress& node : client_.slots().nodes_without_replicas()) {
      warn(
          fmt::format("the Redis node {} has no replica: while it is away its part of the crawl "
                      "stands still, and if its disk is lost so are its URLs, queued and seen; {}",
                      node.text(),
                      options_.durability == SharedDurability::kAsync
                          ? "without an append-only file so they are whenever it stops"
                          : "when its machine fails, it comes back without its last two seconds, "
                            "unless appendfsync is always"));
    }
  }

  void compare_clocks() {
    constexpr milliseconds kFar = std::chrono::minutes(1);
    const auto wall = [] {
      return std::chrono::duration_cast<milliseconds>(
          std::chrono::system_clock::now().time_since_epoch());
    };
    const milliseconds before = wall();
    std::vector<milliseconds> ahead;
    for (const auto& [node, reply] : client_.ask_nodes(masters_, {"TIME"})) {
      const auto seconds =
          reply && reply->elements.size() == 2 ? number_in(reply->elements[0].text) : std::nullopt;
      const auto micros = seconds ? number_in(reply->elements[1].text) : std::nullopt;
      if (!micros || *seconds > 100'000'000'000) continue;
      ahead.push_back(milliseconds(*seconds * 1000 + *micros / 1000) - before);
    }
    if (ahead.empty()) return;
    std::ranges::sort(ahead);
    findings_.clock_ahead = ahead[ahead.size() / 2];
    if (ahead.back() - ahead.front() > kFar) {
      warn(
          fmt::format("the clocks of the Redis nodes differ by {} s: set them by NTP; after a "
                      "failover retries and turns of addresses would come too early or too late",
                      (ahead.back() - ahead.front()).count() / 1000));
    }
    if (std::chrono::abs(findings_.clock_ahead) > kFar) {
      warn(
          fmt::format("this machine's clock is {} s {} those of the Redis nodes: set it by NTP; "
                      "the crawl goes by theirs",
                      std::chrono::abs(findings_.clock_ahead).count() / 1000,
                      findings_.clock_ahead.count() > 0 ? "behind" : "ahead of"));
    }
  }

  RedisClient& client_;
  const RedisCheckOptions& options_;
  std::vector<RedisAddress> masters_;
  RedisChecks findings_;
};

}  // namespace

Result<RedisChecks> check_redis(RedisClient& client, const RedisCheckOptions& options) {
  return Checks(client, options).run();
}

}  // namespace trawl
