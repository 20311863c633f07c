// TimeHeap: a priority queue of numbers by time, ties in the order of insertion.
#pragma once

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "trawl/lease.h"

namespace trawl {

// A heap with four children per node. It calls `moved(number, position)` for each number that
// changes its position, so that any number can be moved or removed: the heap never has outdated
// entries.
template <class Moved>
class TimeHeap {
 public:
  struct Entry {
    SteadyTime time;
    std::uint64_t ticket;
    std::uint32_t number;
  };

  explicit TimeHeap(Moved moved) : moved_(std::move(moved)) {}

  bool empty() const noexcept { return entries_.empty(); }
  const Entry& top() const noexcept {
    assert(!empty());
    return entries_.front();
  }
  SteadyTime time_at(std::uint32_t position) const noexcept {
    assert(position < entries_.size());
    return entries_[position].time;
  }
  void prefetch(std::uint32_t position) const noexcept {
    assert(position < entries_.size());
    __builtin_prefetch(&entries_[position]);
  }
  std::size_t bytes() const noexcept { return entries_.capacity() * sizeof(Entry); }
  // The earliest time of a number that `wanted` accepts; SteadyTime::max() if there is none. After
  // `most` others it is the time of the next one: a lower bound.
  template <class Wanted>
  SteadyTime first_time(const Wanted& wanted, std::size_t most) const {
    // In the order of their times: no entry is before the one above it.
    const auto later = [this](std::size_t a, std::size_t b) {
      return before(entries_[b], entries_[a]);
    };
    std::vector<std::size_t> next;
    if (!empty()) next.push_back(0);
    for (; !next.empty(); --most) {
      const std::size_t position = next.front();
      const Entry& entry = entries_[position];
      if (most == 0 || wanted(entry.number)) return entry.time;
      std::ranges::pop_heap(next, later);
      next.pop_back();
      for (std::size_t child = 4 * position + 1;
           child < std::min(4 * position + 5, entries_.size()); ++child) {
        next.push_back(child);
        std::ranges::push_heap(next, later);
      }
    }
    return SteadyTime::max();
  }

  void push(SteadyTime time, std::uint32_t number) {
    entries_.push_back({});
    sift_up(entries_.size() - 1, {time, next_ticket_++, number});
  }
  void remove(std::uint32_t position) {
    assert(position < entries_.size());
    const Entry last = entries_.back();
    entries_.pop_back();
    if (position < entries_.size()) sift(position, last);
    if (entries_.capacity() > kLeastShrunk && entries_.size() < entries_.capacity() / 8) {
      std::vector<Entry> smaller;
      smaller.reserve(entries_.capacity() / 2);
      smaller.assign(entries_.begin(), entries_.end());
      entries_.swap(smaller);
    }
  }
  // As if it were removed and inserted again.
  void move(std::uint32_t position, SteadyTime time) {
    assert(position < entries_.size());
    sift(position, {time, next_ticket_++, entries_[position].number});
  }

 private:
  static bool before(const Entry& a, const Entry& b) noexcept {
    return a.time != b.time ? a.time < b.time : a.ticket < b.ticket;
  }
  void put(std::size_t position, const Entry& entry) {
    entries_[position] = entry;
    moved_(entry.number, static_cast<std::uint32_t>(position));
  }
  void sift(std::size_t position, const Entry& entry) {
    if (position > 0 && before(entry, entries_[(position - 1) / 4])) {
      sift_up(position, entry);
    } else {
      sift_down(position, entry);
    }
  }
  void sift_up(std::size_t position, const Entry& entry) {
    while (position > 0) {
      const std::size_t parent = (position - 1) / 4;
      if (!before(entry, entries_[parent])) break;
      put(position, entries_[parent]);
      position = parent;
    }
    put(position, entry);
  }
  void sift_down(std::size_t position, const Entry& entry) {
    for (;;) {
      const std::size_t first = 4 * position + 1;
      if (first >= entries_.size()) break;
      const std::size_t end = first + 4 < entries_.size() ? first + 4 : entries_.size();
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (before(entries_[child], entries_[least])) least = child;
      }
      if (!before(entries_[least], entry)) break;
      put(position, entries_[least]);
      position = least;
    }
    put(position, entry);
  }

  static constexpr std::size_t kLeastShrunk = 1024;

  std::vector<Entry> entries_;
  std::uint64_t next_ticket_ = 0;
  [[no_unique_address]] Moved moved_;
};

}  // namespace trawl
