// The small web that the crash worker crawls, and the options it crawls with.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/embedded_frontier.h"

#include "base/mix.h"

namespace trawl::test {

inline constexpr std::uint64_t kCrashHosts = 20;
inline constexpr std::uint32_t kCrashOpenLeases = 24;
inline constexpr std::size_t kCrashThreads = 4;
// What the worker writes to standard output for each page, and the size of the pipe that the test
// gives it: the worker gets no more than so many pages ahead of the test.
inline constexpr std::size_t kCrashProgressBytes = 1024;
inline constexpr std::size_t kCrashPipeBytes = 4 * kCrashProgressBytes;

// Page n of `pages` links to its children in a binary tree, and to others that other pages link to
// as well, so that threads race for the same new URLs.
inline std::vector<std::uint64_t> crash_links_of(std::uint64_t page, std::uint64_t pages) {
  std::vector<std::uint64_t> links;
  for (const std::uint64_t child : {2 * page + 1, 2 * page + 2}) {
    if (child < pages) links.push_back(child);
  }
  const std::uint64_t near = page + 1 + mix64(page) % 40;
  for (std::uint64_t n = near; n < std::min(near + 6, pages); ++n)
    links.push_back(n);
  return links;
}

// What is offered, and durable, before page n is completed.
inline std::uint64_t crash_offer_of(std::uint64_t page, std::uint64_t pages) {
  return std::min(page + 1 + mix64(~page) % 60, pages - 1);
}

// Fetching some pages fails for so many times.
inline std::uint32_t crash_failures_of(std::uint64_t page) {
  return mix64(page + 1) % 4 == 0 ? 1 + mix64(page + 2) % 2 : 0;
}

inline EmbeddedOptions crash_options(const std::filesystem::path& directory, std::uint64_t pages) {
  EmbeddedOptions options;
  options.directory = directory;
  options.seen.expected_urls = pages / 8;  // it grows
  options.seen.false_positive_rate = 1e-9;
  options.politeness.delay = std::chrono::milliseconds(0);
  options.politeness.leases_per_host = 1'000'000;
  options.limits.max_open_leases = kCrashOpenLeases;
  options.store.shards = 2;
  options.testing.least_run_in_file = 150;  // some are in files, others in the log
  options.retry.retries = 100;
  options.retry.retry_delay = std::chrono::milliseconds(0);
  options.retry.host_backoff = std::chrono::milliseconds(0);
  options.retry.host_failures = 0;
  return options;
}

}  // namespace trawl::test
