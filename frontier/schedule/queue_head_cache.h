// QueueHeadCache: limits the parts of the hosts' queues that are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontier/schedule/host_table.h"

namespace trawl {

// M1: each host has an equal share of the bytes, and at most 64 URLs. While there is room, a read
// may exceed the share. Shares shrink as hosts are added; a head that exceeds its share is cut when
// the bytes run out. With so many hosts that a share has no room for a URL, heads hold only what a
// read returned, and only while there is room.
class QueueHeadCache {
 public:
  static constexpr std::size_t kMostUrls = 64;
  static constexpr std::size_t kFewUrls = 4;
  // Heads that are read together. A thread that leases waits for them.
  static constexpr std::size_t kHostsAtOnce = 32;
  // A head with no more URLs is read ahead.
  static constexpr std::size_t kLowUrls = 16;

  QueueHeadCache(std::uint64_t max_bytes, HostTable& hosts)
      : max_bytes_(max_bytes), hosts_(hosts) {}

  // The number of URLs to read from the store for a host: its share; while there is room.
  std::size_t read_limit() const;
  std::size_t ahead_limit() const;
  // Bytes of records after which such a read ends: some hosts have long ones.
  std::size_t most_read(std::size_t urls) const { return 2 * urls * usual_record_; }
  // For how many hosts there is room for a read with this limit.
  std::size_t hosts_that_fit(std::size_t limit) const;
  // The same if other heads may be cut for them: at least 1, at most kHostsAtOnce.
  std::size_t hosts_that_must_fit(std::size_t limit) const;
  // Room for a read under way; returns the bytes.
  std::uint64_t reserve(std::size_t hosts, std::size_t limit);
  void unreserve(std::uint64_t bytes) noexcept { reserved_ -= bytes; }
  // Puts a URL into the head, or leaves it in the rest.
  void insert(HostIndex host, const QueueOrder& order, std::string_view record);
  // Puts URLs read from the store, the first of the rest, into the head: at least the first of
  // them. `is_ahead`: they may exceed the host's share.
  void refill(HostIndex host, const std::vector<QueuedUrl>& urls, bool is_ahead);
  std::string pop_front(HostIndex host);
  std::optional<std::string> take(HostIndex host, const QueueOrder& order);
  void drop(HostIndex host);

  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t share() const;
  std::uint64_t bytes_of_urls(std::size_t urls) const;
  void cut(HostIndex host, std::size_t keep, std::uint64_t most_bytes);
  void reclaim(HostIndex but);
  template <class Change>
  auto change(HostIndex host, Change change);
  void note_size(std::size_t record);

  const std::uint64_t max_bytes_;
  HostTable& hosts_;
  std::uint64_t bytes_ = 0;
  std::uint64_t reserved_ = 0;     // for reads under way
  HostIndex hand_ = 0;             // where reclaim() continues
  std::size_t usual_record_ = 96;  // bytes, smoothed
};

}  // namespace trawl
