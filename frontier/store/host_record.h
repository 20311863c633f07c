// HostRecord: the stored state of a host apart from its queue.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

struct HostRecord {
  std::string name;  // Lease::host
  std::optional<std::chrono::milliseconds> delay = std::nullopt;
  bool exact_delay = false;  // HostSettings::exact_delay
  std::optional<std::uint32_t> max_leases = std::nullopt;
  std::optional<std::uint64_t> remaining = std::nullopt;  // URLs that may still be completed
  // In a shared frontier: the limit of which that is left.
  std::optional<std::uint64_t> limit = std::nullopt;
  std::uint32_t failures = 0;  // in a row
  // Milliseconds since the epoch of std::chrono::system_clock; 0: not blocked.
  std::int64_t blocked_until = 0;
  bool given_up = false;
  bool answered = false;  // the host has answered a request of this crawl

  // Ignores the name and `answered`.
  bool is_default() const {
    return !delay && !exact_delay && !max_leases && !remaining && failures == 0 &&
           blocked_until == 0 && !given_up;
  }
  friend bool operator==(const HostRecord&, const HostRecord&) = default;
};

std::string encode_host(const HostRecord& host);
std::optional<HostRecord> decode_host(std::string_view value);

}  // namespace trawl
