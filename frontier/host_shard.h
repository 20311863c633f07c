// HostShard: the host queues of one shard, and which of them may be asked next.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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
  std::function<SteadyTime()> clock;
  // Set after a restart: what was asked just before it is not known, so that every host waits its
  // delay from then.
  std::optional<SteadyTime> restarted;
  // Leases are numbered from here on; other than in any run before.
  std::uint64_t first_lease;
};

// A URL that was leased, with the number of its lease.
struct NumberedLease {
  std::uint64_t number;
  QueuedUrl url;
};

// Thread-safe. The mutex is uncontended while one thread leases from the shard; the committer
// only pushes into the inbox, except when that grows long because nobody leases.
//
// The inbox has one producer, the committer, and is therefore in commit order: a URL's admission
// comes before the end of its lease. So a URL that was read from the store before its admission
// was taken from the inbox is found in `head` or among the leases then, and not queued twice.
class HostShard {
 public:
  // How many URLs of each host restore_queue() is to be given.
  static constexpr std::size_t kRestoredHead = 4;

  HostShard(const Store& store, ShardOptions options)
      : store_(&store), options_(std::move(options)), next_lease_(options_.first_lease) {}

  // The committer: what has just become durable.
  void push_admitted(QueuedUrl url) { inbox_.enqueue(std::move(url)); }
  void push_completed(std::uint64_t sequence) { inbox_.enqueue(sequence); }
  // Takes the inbox in if it is long: memory stays bounded though nobody leases.
  void relieve_inbox();

  // Recovery: the first URLs of a host's queue as the store has them; `more` if it has others.
  void restore_queue(std::vector<QueuedUrl> head, bool more);
  // False if that is its own delay already.
  bool set_delay(const std::string& host, std::chrono::milliseconds delay);

  // Appends up to `max` URLs whose hosts may be asked now.
  Result<void> lease(std::size_t max, std::vector<NumberedLease>& out);
  std::optional<SteadyTime> next_due() const;
  // No more leases: lease() returns kClosed, and the store is not used any more.
  void close();

  // The request of a lease ended: frees its place at the host. The lease stays known until
  // push_completed, so that its URL is not read from the store again. Errors: kNotFound.
  Result<QueuedUrl> begin_completion(std::uint64_t lease, const Outcome& outcome);
  // Puts a leased URL back. Errors: kNotFound.
  Result<void> release(std::uint64_t lease, std::optional<SteadyTime> next_start,
                       std::chrono::milliseconds started_after = std::chrono::milliseconds(0));

  std::size_t leased();
  std::size_t hosts() const;

 private:
  struct LeaseState {
    QueuedUrl url;
    SteadyTime since;
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
  void end_lease(std::uint64_t sequence);
  HostQueue& host_queue(const std::string& name);
  void schedule(HostQueue& host);
  HostQueue* next_host(SteadyTime now);
  void forget_if_idle(HostQueue& host);
  std::size_t head_limit() const;
  std::chrono::milliseconds delay_of(const std::string& host) const;
  Result<bool> fill_head(HostQueue& host);
  Result<LeaseState*> open_lease(std::uint64_t lease);
  static void end_start(HostQueue& host, SteadyTime start);
  static void note_request(HostQueue& host, const LeaseState& lease,
                           std::chrono::milliseconds started_after);

  const Store* store_;  // null once closed
  const ShardOptions options_;
  moodycamel::ConcurrentQueue<InboxItem> inbox_;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, HostQueue> hosts_;
  std::unordered_map<std::string, std::chrono::milliseconds> own_delays_;
  std::unordered_map<std::uint64_t, LeaseState> leases_;       // by number
  std::unordered_map<std::uint64_t, std::uint64_t> lease_of_;  // sequence of the URL: number
  std::priority_queue<ScheduleEntry, std::vector<ScheduleEntry>, std::greater<>> schedule_;
  std::uint64_t next_lease_;
  std::uint64_t next_ticket_ = 0;
};

}  // namespace trawl
