// HeadReads: the heads of host queues that are being read from the store, and those that wait for
// it.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontier/schedule/host_table.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// One read of the heads of several hosts. It belongs to the thread that reads.
struct HeadRead {
  struct Part {
    HostIndex host;
    std::uint32_t queue;  // in `queues`
  };
  std::vector<Part> parts;        // in the order in which the hosts began to wait
  std::vector<QueueRead> queues;  // in the order of the store
  std::uint64_t reserved = 0;     // bytes of heads
  bool is_ahead = false;          // there was room for all that is read

  bool empty() const noexcept { return parts.empty(); }
};

// A read has three steps. begin(), under the shard's lock: the read is to return what follows the
// host's head, the first of the rest, from a place P on. Then the store is read, without a lock.
// end(), under the lock again: the result becomes part of the head, and the rest begins behind it.
//
// The store is read in the state S of some moment between begin() and end(), and the shard learns
// later what was committed. So the result may be wrong at end(), in three ways. While a read is
// under way its Changes record what makes it so:
//
// - A URL was leased and its end became durable after S: it is in the result. If the shard has not
//   learnt of the end, the URL has a lease, and the caller that merges the result leaves out URLs
//   with a lease. If it has, it learnt of it since begin(), or the end would have been durable
//   before S: `ended`.
// - A URL was queued after S, behind P: it is not in the result and, belonging to the rest, not put
//   into the head. The rest must not begin behind it: the result is cut before `first_added`, the
//   first such URL. A URL queued before S is in the result, and is found in the head or among the
//   leases if the shard learns of it after end().
// - The head lost URLs at its end, so that the rest begins before P, or the queue was dropped. Then
//   there is a gap before the result, or the URLs in it are gone: it is discarded. The former is
//   visible, as only the end of a read moves the place forward, and a host has one read at most;
//   the latter is `dropped`.
//
// A host stays in memory while its head is read: it has a rest, which only end() takes away.
class HeadReads {
 public:
  struct Changes {
    bool dropped = false;
    std::optional<QueueOrder> first_added;
    std::vector<std::uint64_t> ended;
  };

  // Hosts that wait for a read, first come, first served. Some may have got what they wanted.
  void want(HostIndex host) { wanted_.push_back(host); }
  bool any_wanted() const noexcept { return !wanted_.empty(); }
  std::size_t wanted() const noexcept { return wanted_.size(); }
  HostIndex take_wanted() {
    assert(any_wanted());
    const HostIndex host = wanted_.front();
    wanted_.pop_front();
    return host;
  }

  void begin(HostIndex host) {
    [[maybe_unused]] const bool is_new = under_way_.try_emplace(host).second;
    assert(is_new);
  }
  Changes end(HostIndex host) {
    auto changes = under_way_.extract(host);
    assert(!changes.empty());
    return std::move(changes.mapped());
  }
  std::size_t under_way() const noexcept { return under_way_.size(); }

  // The host's read is under way, and...
  void note_dropped(HostIndex host) { changes_of(host).dropped = true; }
  void note_ended(HostIndex host, std::uint64_t sequence) {
    changes_of(host).ended.push_back(sequence);
  }
  void note_added(HostIndex host, const QueueOrder& order) {
    auto& first = changes_of(host).first_added;
    if (!first || order < *first) first = order;
  }

  // Removes from a result what is wrong because of `changes`, and sets where the queue's rest
  // begins after it. URLs with a lease are left to the caller.
  static void merge(HostQueue& queue, QueueRead& read, const Changes& changes);

  std::size_t bytes() const noexcept { return wanted_.size() * sizeof(HostIndex); }

 private:
  Changes& changes_of(HostIndex host) {
    const auto found = under_way_.find(host);
    assert(found != under_way_.end());
    return found->second;
  }

  std::deque<HostIndex> wanted_;
  std::unordered_map<HostIndex, Changes> under_way_;
};

}  // namespace trawl
