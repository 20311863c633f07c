// Operation: the changes of one call of the frontier, on their way to the store.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trawl/lease.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

#include "frontier/store/pending_host_changes.h"
#include "frontier/store/queue_run.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_batch.h"

namespace trawl {

struct Operation {
  struct Admitted {
    Fingerprint fingerprint;
    HostId host = 0;
    std::int32_t priority = 0;
    std::uint32_t depth = 0;
    std::int64_t not_before = 0;  // FrontierClock, in ms; 0: queued immediately
    std::string record;
    std::uint64_t sequence = 0;  // assigned by the commit
  };
  // A URL that is held or failed.
  struct SetAside {
    Fingerprint fingerprint;
    SetAsideState state = SetAsideState::kHeld;
    bool was_queued = true;
    bool always = false;  // even beyond max_set_aside
    std::string value;    // encode_set_aside()
  };
  // A URL to be taken from those set aside, if it is still there at the commit.
  struct Restored {
    Fingerprint fingerprint;
    HostId host = 0;
    std::int32_t priority = 0;
    std::string record;  // queued again with this record; empty: not queued
  };
  // A lease that ended: its URL leaves its place in the queue.
  struct Ended {
    enum class Kind : std::uint8_t { kDone, kRecrawl, kRetry, kHeld };
    Kind kind = Kind::kDone;
    HostId host = 0;
    QueueOrder order;
    Lease lease;
    GivenIdentity given;      // of the lease's URL
    Fingerprint fingerprint;  // set if records by fingerprint are kept or removed
    Outcome outcome;
    std::int64_t not_before = 0;        // of a recrawl or retry; FrontierClock, in ms
    std::string record;                 // of a recrawl or retry
    std::optional<SetAside> set_aside;  // if it is held or failed
    bool keeps_by_fingerprint = false;  // other records are kept by the fingerprint
    std::uint32_t fetches = 0;          // completed fetches, including this one
    std::uint32_t stored_depth = 0;     // the depth in its queued record
    bool depth_noted = false;           // the store notes a smaller depth
    bool depth_lowered = false;         // the lease had that smaller depth
    // Set by the commit, which changes nothing then: the bucket was lost since (`openings`), and
    // its owner now leases the URL again.
    bool is_void = false;
  };
  // A URL for the owner of another bucket.
  struct Forwarded {
    std::uint32_t bucket = 0;
    UrlRequest rest;  // without strings, which are those below
    std::string url, parent, note, key, queue;
    GivenIdentity given = {};  // with a fingerprint: of a URL that was stored before

    static Forwarded of(std::uint32_t bucket, const UrlRequest& request, std::string_view parent) {
      Forwarded forwarded{.bucket = bucket,
                          .rest = request,
                          .url = std::string(request.url),
                          .parent = std::string(parent),
                          .note = std::string(request.note),
                          .key = std::string(request.key),
                          .queue = std::string(request.queue)};
      UrlRequest& rest = forwarded.rest;
      rest.url = rest.parent = rest.note = rest.key = rest.queue = {};
      return forwarded;
    }
    // Valid as long as this is.
    UrlRequest request() const {
      UrlRequest whole = rest;
      whole.url = url;
      whole.parent = parent;
      whole.note = note;
      whole.key = key;
      whole.queue = queue;
      return whole;
    }
    std::uint64_t bytes() const noexcept {
      return sizeof *this + url.size() + parent.size() + note.size() + key.size() + queue.size() +
             given.queue.size();
    }
  };
  // A message or a command from the inbox of a bucket, which this operation executes.
  struct Taken {
    std::uint32_t bucket = 0;
    MessageId id{};
    bool is_command = false;
  };
  // The deletion of a host's queue, a part with each commit.
  struct Drop {
    HostId host = 0;
    std::uint64_t dropped = 0;  // in all
    std::uint64_t dropped_queued = 0;
    std::optional<QueueOrder> behind = std::nullopt;  // the next part begins after this
    bool deferred_done = false;
    bool done = false;
  };

  // A host whose record changes with this operation, and the number of that change
  // (PendingHostChanges); 0: only by changes that are durable already.
  struct ChangedHost {
    ChangedHost(HostId id, std::uint64_t number = PendingHostChanges::kEvery)
        : host(id), change(number) {}
    HostId host;
    std::uint64_t change;
  };

  // Admitted URLs that are queued immediately and were not admitted before: all but a few.
  std::shared_ptr<QueueRun> queued;
  std::vector<Admitted> admitted;      // the others
  std::vector<Fingerprint> seen_only;  // admitted without being queued
  std::optional<Ended> ended;
  std::vector<SetAside> links_held;
  std::vector<Restored> restored;
  std::vector<ChangedHost> changed_hosts;  // hosts whose records must be stored
  // In a shared frontier: how many partitions had been opened before the lease was ended, the hosts
  // changed, the command executed. What is for a bucket that was lost and opened again since is
  // dropped.
  std::uint32_t openings = ~0u;
  // Set by the commit: the host whose record this changes, or whose queue it drops, belongs to
  // another process now. A caller that waits gets kUnavailable.
  bool lost = false;
  // Smaller depths of URLs that may wait with a greater one.
  std::vector<std::pair<Fingerprint, std::uint32_t>> lowered_depths;
  std::vector<Fingerprint> seen_to_check;  // answered "seen": to be looked up in the ledger
  std::vector<Forwarded> forwarded;
  std::vector<Taken> taken;
  std::vector<std::uint32_t> retired;  // buckets whose partitions were closed, to be removed
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  bool promote = false;        // queue the deferred URLs that are due
  std::shared_ptr<Drop> drop;  // delete a host's queue
  // Queued when this operation is durable, and with it all that its answers relied on.
  std::unique_ptr<Operation> then;
  // Called with the result of its commit, if set. By the committer: it must return soon.
  std::function<void(const Result<void>&)> done;
  std::uint64_t bytes = 0;                            // approximate memory
  std::optional<std::promise<Result<void>>> durable;  // set if a caller waits
  bool hurries = true;  // if a caller waits, wake the committer; false: the caller calls help()
  bool stop = false;
  bool flush = false;            // commit it although it changes nothing
  bool durable_already = false;  // it changes nothing, and all that it relied on is durable

  bool changes_nothing() const noexcept { return !flush && moves_nothing(); }
  // No URL, host or bucket is different after its commit.
  bool moves_nothing() const noexcept {
    return !queued && admitted.empty() && seen_only.empty() && !ended && links_held.empty() &&
           restored.empty() && changed_hosts.empty() && lowered_depths.empty() &&
           seen_to_check.empty() && forwarded.empty() && taken.empty() && retired.empty() &&
           !promote && !drop && !then && !stop;
  }
  // Approximate memory in bytes.
  std::uint64_t size() const noexcept {
    std::uint64_t size = sizeof *this + bytes + lowered_depths.size() * sizeof lowered_depths[0] +
                         (seen_only.size() + seen_to_check.size()) * sizeof(Fingerprint);
    if (ended) {
      size += ended->record.size() + ended->lease.url.size() + ended->lease.host.size() +
              ended->lease.parent.size() + ended->lease.note.size() + ended->outcome.error.size() +
              (ended->set_aside ? ended->set_aside->value.size() : 0);
    }
    if (then) size += then->size();
    return size;
  }

  void hold(SetAside link) {
    bytes += sizeof link + link.value.size();
    links_held.push_back(std::move(link));
  }
  void forward(Forwarded url) {
    bytes += url.bytes();
    forwarded.push_back(std::move(url));
  }
  void queue(std::shared_ptr<QueueRun> run) {
    bytes += run->size();
    queued = std::move(run);
  }
  void add(Admitted url) {
    bytes += sizeof url + url.record.size();
    admitted.push_back(std::move(url));
  }
};

using OperationGroup = std::vector<std::unique_ptr<Operation>>;

}  // namespace trawl
