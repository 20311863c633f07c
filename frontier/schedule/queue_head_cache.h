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

// M1: each host has an equal share of the bytes, and at most 64 URLs. Shares shrink as hosts are
// added; a head that was filled before is cut when the bytes run out. With so many hosts that a
// share has no room for a URL, heads hold only what a read returned, and only while there is room.
class QueueHeadCache {
 public:
  static constexpr std::size_t kMostUrls = 64;
  static constexpr std::size_t kFewUrls = 4;

  QueueHeadCache(std::uint64_t max_bytes, HostTable& hosts)
      : max_bytes_(max_bytes), hosts_(hosts) {}

  // The number of URLs to read from the store in one call.
  std::size_t read_limit() const;
  // Puts a URL into the head, or leaves it in the rest.
  void insert(HostIndex host, const QueueOrder& order, std::string_view record);
  // Puts URLs read from the store, the first of the rest, into the head: at least the first of
  // them.
  void refill(HostIndex host, const std::vector<QueuedUrl>& urls);
  std::string pop_front(HostIndex host);
  std::optional<std::string> take(HostIndex host, const QueueOrder& order);
  void drop(HostIndex host);

  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t share() const;
  std::uint64_t few_urls_bytes() const;
  void cut(HostIndex host, std::size_t keep, std::uint64_t most_bytes);
  void reclaim(HostIndex but);
  template <class Change>
  auto change(HostIndex host, Change change);
  void note_size(std::size_t record);

  const std::uint64_t max_bytes_;
  HostTable& hosts_;
  std::uint64_t bytes_ = 0;
  HostIndex hand_ = 0;             // where reclaim() continues
  std::size_t usual_record_ = 96;  // bytes, smoothed
};

}  // namespace trawl
