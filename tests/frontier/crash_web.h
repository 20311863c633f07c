// The small web that the crash worker crawls, and the options it crawls with.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trawl/frontier.h"

#include "filter/mix.h"

namespace trawl::test {

inline constexpr std::uint64_t kCrashPages = 4'000;
inline constexpr std::uint64_t kCrashHosts = 20;
inline constexpr std::uint32_t kCrashOpenLeases = 24;
// What the worker writes to standard output for each page, and the size of the pipe that the test
// gives it: the worker gets no more than so many pages ahead of the test.
inline constexpr std::size_t kCrashProgressBytes = 1024;
inline constexpr std::size_t kCrashPipeBytes = 64 * kCrashProgressBytes;

// Page n links to its children in a binary tree, and to others that other pages link to as well,
// so that threads race for the same new URLs.
inline std::vector<std::uint64_t> crash_links_of(std::uint64_t page) {
  std::vector<std::uint64_t> links;
  for (const std::uint64_t child : {2 * page + 1, 2 * page + 2}) {
    if (child < kCrashPages) links.push_back(child);
  }
  const std::uint64_t near = page + 1 + mix64(page) % 40;
  for (std::uint64_t n = near; n < std::min(near + 6, kCrashPages); ++n)
    links.push_back(n);
  return links;
}

inline FrontierOptions crash_options(const std::filesystem::path& directory) {
  FrontierOptions options;
  options.directory = directory;
  options.expected_urls = kCrashPages;
  options.false_positive_rate = 1e-9;
  options.delay = std::chrono::milliseconds(0);
  options.leases_per_host = 1'000'000;
  options.max_open_leases = kCrashOpenLeases;
  options.shards = 2;
  return options;
}

}  // namespace trawl::test
