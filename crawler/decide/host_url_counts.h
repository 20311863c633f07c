// HostUrlCounts: a number for each host, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crawler/http/body_memory_budget.h"

namespace trawl {

// Numbers by the hash of a host, 12 bytes a slot. When there is no room for another host, it
// forgets those with the smallest numbers, at least a quarter of all: they are furthest from any
// limit. A forgotten host counts from 0 again. Not thread-safe.
class HostUrlCounts {
 public:
  // `charge` must live longer.
  HostUrlCounts(std::uint64_t most_bytes, TableCharge& charge);
  ~HostUrlCounts();
  HostUrlCounts(const HostUrlCounts&) = delete;
  HostUrlCounts& operator=(const HostUrlCounts&) = delete;

  // 0 if the host is not known.
  std::uint64_t of(std::uint64_t host) const;
  // Above 2^32 - 1 it stays there.
  void set(std::uint64_t host, std::uint64_t count);
  void increment(std::uint64_t host) { set(host, of(host) + 1); }
  // Does nothing if the host is not known, because it was forgotten.
  void decrement(std::uint64_t host);
  std::size_t hosts() const { return used_; }

 private:
  using Count = std::uint32_t;

  // The slot of the host, or the empty one where it belongs. There is always an empty one.
  std::size_t find(std::uint64_t host) const;
  bool is_full() const { return used_ >= hosts_.size() / 8 * 7; }
  void make_room();
  // Keeps the hosts with a number of at least `least`.
  void rebuild(std::size_t slots, Count least);
  // The smallest number that at least a quarter of the hosts do not exceed.
  Count lowest_quarter() const;

  const std::size_t most_slots_;
  TableCharge& charge_;
  std::vector<std::uint64_t> hosts_;  // 0: empty
  std::vector<Count> counts_;
  std::size_t used_ = 0;
};

}  // namespace trawl
