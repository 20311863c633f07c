// HostPace: gives hosts the delay and the number of requests that [[politeness.host]] has for them.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <unordered_set>

#include "trawl/fingerprint.h"
#include "trawl/frontier.h"
#include "trawl/result.h"

#include "base/one_thread.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/host_politeness.h"

namespace trawl {

// As durable settings of hosts in the frontier. For one thread, and the hosts it leases.
class HostPace {
 public:
  // `hosts` must outlive this.
  HostPace(Frontier& frontier, const HostPoliteness& hosts);

  // Call before anything is leased. If the last run had other entries, which are in a small file in
  // the state directory, removes what they set. Reads only that file if nothing changed. Errors:
  // kIo, those of the frontier.
  static Result<void> begin(Frontier& frontier, bool resumed,
                            const std::filesystem::path& state_dir, const HostPoliteness& hosts);
  // The small file, which --fresh deletes.
  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "host-politeness";
  }

  // Call when a batch of leases was taken, and then for each of them before its request. Returns
  // true if the host got its settings just now: the lease was given without regard to them, and
  // must be released. Errors: those of the frontier.
  void begin_batch() { fresh_.clear(); }
  Result<bool> on_lease(std::string_view host);

  // The entries have changed.
  void begin_anew() {
    thread_.check();
    known_.clear();
  }

  // Sets the delay of a host whose robots.txt demands `crawl_delay` (0: none).
  Result<void> set_crawl_delay(std::string_view host, std::chrono::milliseconds crawl_delay);

 private:
  static constexpr std::size_t kMaxHosts = 1u << 18;

  // The settings of a host with this entry.
  HostSettings settings_of(const HostPolitenessText& entry,
                           std::chrono::milliseconds crawl_delay) const;

  Frontier& frontier_;
  const HostPoliteness& hosts_;
  const KeyedHash hash_;
  std::unordered_set<std::uint64_t> known_;  // hosts with an entry that have their settings
  std::unordered_set<std::uint64_t> fresh_;  // those since begin_batch()
  OneThread thread_;
};

}  // namespace trawl
