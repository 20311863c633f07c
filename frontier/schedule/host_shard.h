// HostShard: the host queues of one shard, and which of them may be asked next.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

#include "base/allowance.h"
#include "frontier/schedule/group_clocks.h"
#include "frontier/store/host_journal.h"
#include "frontier/store/host_record.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store.h"

namespace trawl {

struct ShardOptions {
  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  std::chrono::milliseconds lease_timeout{3'600'000};  // as LimitOptions has it

  std::size_t max_expired = 1'000'000;       // leases that expired are known, or 1,024
  std::uint64_t max_head_bytes = 64u << 20;  // URLs of queues kept in memory
  std::function<SteadyTime()> clock;
  std::function<SystemTime()> wall_clock;
  // Set after a restart: what was asked just before it is not known, so that every host waits its
  // delay from then.
  std::optional<SteadyTime> restarted;
  std::uint64_t first_lease = 1;  // leases are numbered from here on; other than in any run before
  std::uint64_t seed = 0;         // of the random part of waits
  // Shared by all shards; null: none.
  Allowance* leases = nullptr;  // that may be open
  GroupClocks* domains = nullptr;
  GroupClocks* addresses = nullptr;
};

// A URL that was leased, with the number of its lease.
struct LeasedUrl : QueuedUrl {
  bool paced = false;  // as Lease::paced
};
struct NumberedLease {
  std::uint64_t number;
  LeasedUrl url;
};

// What ending a lease means.
enum class LeaseEnd : std::uint8_t {
  kOpen,      // it was open: its URL ends with it
  kLate,      // it had expired, but its URL has not ended since: it ends with it all the same
  kRepeated,  // it, or another lease of its URL, had ended: nothing is to change
};
struct EndedLease {
  LeaseEnd end = LeaseEnd::kRepeated;
  QueuedUrl url;                  // not with kRepeated
  bool host_changed = false;      // record_of() the host is another now
  std::uint64_t host_change = 0;  // by this change; 0: by what is durable in any case
};

// What the failure of a fetch means for its host. Those reasons that make a host back off count as
// failures in a row; any answer ends the row: kServerError, kPermanent with a status, and of course
// a completion with a request and without an error. kPermanent without a status tells nothing of
// the host. A failure of a lease that expired is kRepeated.
struct HostFailure {
  EndedLease lease;
  std::optional<SystemTime> blocked_until;
  bool given_up = false;
  bool released = false;  // the URL went back to its place; `lease` is of no use then
};

struct ShardStats {
  std::size_t leased = 0;
  std::size_t hosts = 0;
  std::size_t blocked = 0;
  std::size_t given_up = 0;
  std::size_t leasable = 0;  // hosts with URLs that are neither given up nor at their limit
  std::uint64_t expired = 0;
  std::uint64_t late = 0;
  std::uint64_t repeated = 0;
  std::uint64_t memory = 0;  // bytes, about
};

// Thread-safe. Its mutex is uncontended while one thread leases from the shard; the committer
// only pushes into the inbox, except when that grows long because nobody leases, and asks for the
// records of hosts that changed. When leases run out it and the other shards' threads look what has
// ended here.
//
// The inbox has one producer, the committer, and is therefore in commit order: a URL's admission
// comes before the end of its lease. So a URL that was read from the store before its admission
// was taken from the inbox is found in its host's head or among the leases then, and not queued
// twice.
class HostShard {
 public:
  HostShard(const Store& store, ShardOptions options);
  ~HostShard();

  // The committer: what has just become durable. A URL that was leased leaves its lease's place in
  // the queue for good with push_ended: it is completed, deferred, or dropped.
  void push_admitted(QueuedUrl url);
  void push_ended(std::uint64_t sequence);
  // Takes the inbox in: the leases that ended count no more.
  void take_inbox();
  // The same if it is long: memory stays bounded though nobody leases.
  void relieve_inbox();
  // Takes it in, and ends what has expired: leases that ended count no more.
  void count_ended_leases();
  // What is to be stored of a host when `change` of it is committed, by default all there are:
  // that one and those committed before count. A default record: nothing. Absent: what the store
  // has is right, since the host was forgotten. A host whose record changed
  // (EndedLease::host_changed, change_host()) stays in memory until this was called for each of its
  // changes, so that none is lost.
  std::optional<HostRecord> record_of(HostId host, std::uint64_t change = HostJournal::kEvery);

  // Recovery: the store has URLs of this host, first these; `record` is what it has of it, if
  // anything.
  void restore_host(HostId host, const std::optional<HostRecord>& record,
                    const QueueBeginning& queue = {});

  // Appends up to `max` URLs whose hosts may be asked now.
  Result<void> lease(std::size_t max, std::vector<NumberedLease>& out);
  // Leases that are open, those whose end is not durable included.
  std::size_t leased() const;
  // Whether a host may be asked now, if there is a lease for it. Forgets hosts that have nothing.
  bool has_turn();
  // When lease() may next have something, if there are leases; an expiry counts too.
  std::optional<SteadyTime> next_due() const;
  // When the first open lease expires; nothing: none does.
  std::optional<SteadyTime> next_expiry() const;
  // No more leases: lease() returns kClosed, and the store is not used any more.
  void close();

  // The request of a lease ended: frees its place at the host. The lease stays known until
  // push_ended(), so that its URL is not read from the store again. Errors of this and all that
  // follow: kNotFound if this shard gave no such lease (or, of release and renew, if it is not
  // open).
  Result<EndedLease> begin_completion(std::uint64_t lease, const Outcome& outcome);
  Result<HostFailure> begin_failure(std::uint64_t lease, FailureReason reason,
                                    std::optional<std::chrono::milliseconds> retry_after,
                                    const Outcome& outcome);
  Result<void> renew(std::uint64_t lease);
  // Puts a leased URL back.
  Result<void> release(
      std::uint64_t lease, std::optional<SteadyTime> next_start,
      std::optional<std::chrono::microseconds> started_after = std::chrono::microseconds(0));
  // As the calls of Frontier of these names; `name` is the host's.
  Result<StartTurn> start(std::uint64_t lease, std::string_view address);
  Result<StartTurn> start_elsewhere(HostId host, std::string_view name, std::string_view address);
  void sent(const StartTurn& turn, std::optional<SteadyTime> when, std::string_view address);

  // Changes what is kept of a host; the number of the change, 0 if `change` left the record as it
  // is. A host that is not in memory is looked up in the store; `name` names it if it is new.
  // Whatever becomes possible by it, a block that is lifted or a limit that is raised, holds at
  // once.
  Result<std::uint64_t> change_host(HostId host, std::string_view name, const RecordChange& change);
  void set_address(HostId host, std::string_view address);

  // Dropping a host's queue: between the two nothing of it is leased, and what is in memory of it
  // is forgotten. is_leased() tells of a URL of it whether it must stay; if not, a late completion
  // of it is taken for a repeated one from then on. end_drop() makes the queue what the store then
  // has; what was committed before has been pushed before. Pairs of calls may overlap.
  void begin_drop(HostId host);
  bool is_leased(std::uint64_t sequence) const;
  // Whether a lease of this URL is open, or its end is not yet durable.
  bool has_lease(std::uint64_t sequence) const;
  void end_drop(HostId host);

  // Revives a host if it was given up; true if it was.
  Result<bool> revive_if_given_up(HostId host);

  // Of a host in memory: its state and its leases; nothing if it is not there.
  std::optional<HostInfo> info(HostId host) const;
  // True if no URL will be leased by itself: all there are, if any, are of hosts that are given up
  // or at their limit. Leases do not count.
  bool exhausted() const;
  ShardStats stats();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trawl
