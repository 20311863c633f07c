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
  // `hosts` must outlive this; see reloaded().
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
  // must be released, after set_crawl_delay() if robots.txt is known. Errors: those of the
  // frontier.
  void begin_batch() { fresh_.clear(); }
  Result<bool> on_lease(std::string_view host);

  // Sets the delay of a host whose robots.txt demands `crawl_delay` and somebody else `asked` (0:
  // none).
  Result<void> set_crawl_delay(std::string_view host, std::chrono::milliseconds crawl_delay,
                               std::chrono::milliseconds asked);

  // Call when config and entries have changed while the crawl runs. Each host gets its settings
  // when it is leased from next.
  void reloaded();
  // Call after: hosts that wait for the delay of an entry that is gone, or longer than the one now,
  // need not wait for it to end. Reads all queues if there is such an entry. Errors: those of the
  // frontier.
  static Result<void> shorten_delays(Frontier& frontier, const HostPoliteness& before,
                                     const HostPoliteness& now);
  // Call before: adds the new entries to the small file, so that the next run can remove what they
  // set. Errors: kIo.
  static Result<void> note_entries(const std::filesystem::path& state_dir,
                                   const HostPoliteness& hosts);

 private:
  static constexpr std::size_t kMaxHosts = 1u << 18;

  // The settings of a host with this entry.
  static HostSettings settings_of(const HostPolitenessText& entry,
                                  std::chrono::milliseconds crawl_delay,
                                  std::chrono::milliseconds asked);

  Frontier& frontier_;
  const HostPoliteness& hosts_;
  const KeyedHash hash_;
  std::unordered_set<std::uint64_t> known_;  // hosts with an entry that have their settings
  std::unordered_set<std::uint64_t> fresh_;  // those since begin_batch()
  // Hosts that had settings by entries before reloaded().
  std::unordered_set<std::uint64_t> former_;
  OneThread thread_;
};

}  // namespace trawl
