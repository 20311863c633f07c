// HostShard: the host queues of one shard, and which of them may be asked next.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <concurrentqueue/concurrentqueue.h>

#include "trawl/frontier.h"

#include "frontier/host_queue.h"
#include "frontier/store.h"

namespace trawl {

struct ShardOptions {
  std::chrono::milliseconds delay;
  std::uint32_t leases_per_host;
  std::size_t max_leases;  // open in this shard
  // Set after a restart: what was asked just before it is not known, so that every host waits its
  // delay from then.
  std::optional<SteadyTime> restarted;
};

// Thread-safe. The mutex is uncontended while one thread leases from the shard; the committer
// only pushes into the inbox, except when that grows long because nobody leases.
//
// The inbox has one producer, the committer, and is therefore in commit order: a URL's admission
// comes before the end of its lease. So a URL that was read from the store before its admission
// was taken from the inbox is found in `head` or among the leases then, and not queued twice.
class HostShard {
 public:
  HostShard(const Store& store, const ShardOptions& options) : store_(&store), options_(options) {}

  // The committer: what has just become durable.
  void push_admitted(QueuedUrl url) { inbox_.enqueue(std::move(url)); }
  void push_completed(std::uint64_t sequence) { inbox_.enqueue(sequence); }
  // Takes the inbox in if it is long: memory stays bounded though nobody leases.
  void relieve_inbox();

  // Recovery: the first URLs of a host's queue as the store has them; `more` if it has others.
  void restore_queue(std::vector<QueuedUrl> head, bool more);
  void set_delay(const std::string& host, std::chrono::milliseconds delay);

  // Appends up to `max` URLs whose hosts may be asked at `now`.
  Result<void> lease(std::size_t max, SteadyTime now, std::vector<QueuedUrl>& out);
  std::optional<SteadyTime> next_due() const;
  // No more leases: lease() returns kClosed, and the store is not used any more.
  void close();

  // The request of a lease ended: frees its place at the host. The lease stays known until
  // push_completed, so that its URL is not read from the store again. Errors: kNotFound.
  Result<QueuedUrl> begin_completion(std::uint64_t sequence, const Outcome& outcome);
  // Puts a leased URL back. Errors: kNotFound.
  Result<void> release(std::uint64_t sequence, std::optional<SteadyTime> next_start);

  std::size_t leased() const;
  std::size_t hosts() const;

 private:
  struct LeaseState {
    QueuedUrl url;
    SteadyTime since;
    SteadyTime start_before;  // the host's next_start before this lease, and the one it set
    SteadyTime start_after;
    bool ended = false;
  };
  struct ScheduleEntry {
    SteadyTime time;
    std::uint64_t ticket;  // ties go to who came first
    HostQueue* host;
    bool operator>(const ScheduleEntry& other) const {
      return time != other.time ? time > other.time : ticket > other.ticket;
    }
  };
  using InboxItem = std::variant<std::uint64_t, QueuedUrl>;

  // All below with mutex_ held.
  void take_inbox();
  void add(QueuedUrl url);
  HostQueue& host_queue(const std::string& name);
  void schedule(HostQueue& host);
  void free_place(HostQueue& host);
  static void undo_start(HostQueue& host, const LeaseState& lease);
  std::chrono::milliseconds delay_of(const std::string& host) const;
  Result<bool> fill_head(HostQueue& host);
  Result<LeaseState*> open_lease(std::uint64_t sequence);

  const Store* store_;  // null once closed
  const ShardOptions options_;
  moodycamel::ConcurrentQueue<InboxItem> inbox_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, HostQueue> hosts_;
  std::unordered_map<std::string, std::chrono::milliseconds> own_delays_;
  std::unordered_map<std::uint64_t, LeaseState> leases_;  // by sequence
  std::priority_queue<ScheduleEntry, std::vector<ScheduleEntry>, std::greater<>> schedule_;
  std::uint64_t next_ticket_ = 0;
};

}  // namespace trawl
