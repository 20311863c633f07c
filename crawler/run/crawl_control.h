// The values of Crawl's steering calls: hosts, offered URLs, reloads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trawl/lease.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

// A crawl passes through these phases in order, and never back.
enum class CrawlPhase : std::uint8_t {
  kRunning,
  kDraining,  // no new leases; requests in flight are finished
  kAborting,  // requests in flight are dropped
};

// A URL that somebody adds to a running crawl.
struct OfferedUrl {
  std::string url;
  // Absent: by crawl.order and crawl.priorities.
  std::optional<std::int32_t> priority = std::nullopt;
  std::uint32_t depth = 0;
};

// Each offered URL is counted once.
struct OfferReport {
  std::uint64_t offered = 0;  // the sum of the others
  std::uint64_t fresh = 0;    // admitted: queued
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;                          // no http(s) URL, or too long
  std::map<std::string, std::uint64_t> skipped = {};  // by the scope: reason and count
};

// A config that was read again.
struct ReadConfig {
  CrawlConfig config;
  CrawlConfig saved;  // for later runs: without what holds for this run alone
};

// What Crawl::reload() did.
struct ReloadReport {
  std::vector<std::string> changed;        // "key: old -> new", in effect now
  std::vector<std::string> needs_restart;  // the same, not in effect
  std::uint64_t held = 0;                  // URLs that are set aside now, also by earlier rules
  std::uint64_t requeued = 0;              // held URLs that the new rules allow
  std::vector<std::string> warnings;
};

// One host of a crawl, from counters in memory: nothing is read from the disk.
struct HostRow {
  std::string host;
  HostState state = HostState::kActive;
  std::uint64_t queued = 0;  // waiting URLs, including leased and excluding deferred ones
  // False while the URLs that earlier runs queued are still being counted: there are at least
  // `queued`.
  bool queued_is_exact = true;
  std::uint32_t leased = 0;
  std::uint32_t failures = 0;          // in a row
  std::chrono::milliseconds delay{0};  // in effect: the longest of all that apply to the host
  std::optional<SystemTime> next_start =
      std::nullopt;  // of its next request; absent: none waits for a time
  std::optional<SystemTime> blocked_until = std::nullopt;
  std::string reason = {};  // why it is blocked or parked, in words; empty if it is not
};

struct CheckpointInfo {
  SystemTime ended;
  std::chrono::milliseconds took{0};
};

}  // namespace trawl
