// Store: the durable side of a frontier, as the frontier uses it.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"
#include "trawl/set_aside.h"

#include "frontier/store/counters.h"
#include "frontier/store/host_record.h"
#include "frontier/store/ledger_record.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// A read of a host's stored record.
struct HostRead {
  HostId host = 0;
  std::optional<HostRecord> record = std::nullopt;  // the result
};

// The changes of the hosts of one bucket; of all hosts, if the frontier is not shared.
struct BatchPart {
  std::uint32_t bucket = 0;
  const StoreBatch* batch = nullptr;
};

// Links for the owner of another bucket.
struct LinksForOwner {
  std::uint32_t bucket = 0;
  std::string requests;  // encoded
};

// Where the committer puts its batches. Thread-safe, as all of a store is.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // Makes all of the batch durable, or nothing.
  virtual Result<void> write(const StoreBatch& batch) = 0;
};

// What shards read, without their locks.
class ShardReads {
 public:
  virtual ~ShardReads() = default;
  // Reads of several queues in one pass, in the state of one moment: about a seek each. Fastest if
  // sorted by host: neighbours share blocks.
  virtual Result<void> read_queues(std::span<QueueRead> reads) const = 0;
  // For callers that cannot wait: a store that is on another machine leaves out what that one does
  // not answer soon. It is `away`, and to be read again later.
  virtual Result<void> read_queues_at_once(std::span<QueueRead> reads) const {
    return read_queues(reads);
  }
  // Reads the records of several hosts together.
  virtual Result<void> read_hosts(std::span<HostRead> reads) const = 0;
};

// What an operation and its commit depend on, in the state after the last batch, whether that is
// durable or not. Everything waits for the committer, so these reads never wait for another
// machine: a store that is on one knows the answers.
class CommitReads {
 public:
  virtual ~CommitReads() = default;
  // Calls `visit` with all deferred URLs, by time, until it returns false.
  virtual Result<void> visit_deferred(
      const std::function<bool(const DeferredUrl&)>& visit) const = 0;
  // The same, of one bucket.
  virtual Result<void> visit_deferred_of(
      std::uint32_t bucket, const std::function<bool(const DeferredUrl&)>& visit) const {
    static_cast<void>(bucket);
    return visit_deferred(visit);
  }
  // The state of a URL set aside, if it is.
  virtual Result<std::optional<SetAsideState>> set_aside_state(Fingerprint fingerprint) const = 0;
  virtual Result<std::optional<LedgerRecord>> ledger(Fingerprint fingerprint) const = 0;
  // Sets `found[i]` to whether the ledger has fingerprints[i]; the spans have the same size.
  virtual Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                                      std::span<bool> found) const = 0;
};

// All of it, as the face and recovery use it. Thread-safe. docs/formats.md specifies the records.
class Store : public BatchSink, public ShardReads, public CommitReads {
 public:
  using Batch = StoreBatch;

  // Called once for a run that will be in a batch, by the thread that made it: a store that can
  // writes a large one, so that the batch only refers to it. Errors: those of write(); then the run
  // must not be in a batch.
  virtual Result<void> write_ahead(QueueRun& run) {
    static_cast<void>(run);
    return {};
  }
  // Makes all earlier writes survive a power loss.
  virtual Result<void> sync() = 0;
  // Deletes the admission log below `sequence`.
  virtual Result<void> trim_admissions(std::uint64_t sequence) = 0;

  virtual Result<Counters> counters() const = 0;
  // Calls `visit` with each logged batch that has admissions at or after `sequence`, in order.
  virtual Result<void> replay_admissions(
      std::uint64_t sequence,
      const std::function<void(std::uint64_t first, std::span<const Fingerprint>)>& visit)
      const = 0;

  // Calls `visit` once for each host with URLs in kPending, in ascending order from `from` on,
  // until it returns false; with the first URLs of its queue, at most `limit`. Does not read the
  // whole queues.
  virtual Result<void> visit_queues(
      HostId from, std::size_t limit,
      const std::function<bool(HostId, const QueueBeginning&)>& visit) const = 0;
  // The same without URLs.
  Result<void> visit_queued_hosts(HostId from, const std::function<bool(HostId)>& visit) const {
    return visit_queues(from, 0, [&](HostId host, const QueueBeginning&) { return visit(host); });
  }
  // Calls `visit` with all queued URLs (only of `host`, if given), by host and in order, until it
  // returns false.
  virtual Result<void> visit_pending(
      std::optional<HostId> host,
      const std::function<bool(HostId, const QueueOrder&, std::string_view record)>& visit)
      const = 0;

  // How many those of the host are. Reads them, unless the store counts them.
  virtual Result<std::uint64_t> queued(HostId host) const {
    std::uint64_t urls = 0;
    return visit_pending(host,
                         [&](HostId, const QueueOrder&, std::string_view) { return ++urls > 0; })
        .map([&] { return urls; });
  }

  // The queues as they are when it is made, whatever is written later. Keeps that state on the disk
  // while it exists. Not thread-safe; the store must outlive it.
  class QueueView {
   public:
    virtual ~QueueView() = default;
    // Calls `visit` for each URL of the host until it returns false.
    virtual Result<void> visit(HostId host, const std::function<bool()>& visit) = 0;
  };
  virtual std::unique_ptr<QueueView> view_queues() const = 0;

  virtual Result<std::optional<HostRecord>> host(HostId host) const = 0;
  // In ascending order from `from` on, until `visit` returns false.
  virtual Result<void> visit_hosts(HostId from,
                                   const std::function<bool(HostId, HostRecord)>& visit) const = 0;

  virtual Result<void> visit_ledger(
      const std::function<void(Fingerprint, const LedgerRecord&)>& visit) const = 0;
  virtual Result<std::optional<std::uint32_t>> depth(Fingerprint fingerprint) const = 0;
  // Calls `visit` with all noted depths, until it returns false.
  virtual Result<void> visit_depths(
      const std::function<bool(Fingerprint, std::uint32_t depth)>& visit) const = 0;
  // The value of a URL set aside, if it is.
  virtual Result<std::optional<std::string>> set_aside(Fingerprint fingerprint) const = 0;
  // Calls `visit` with all that follow `after`, or with all, until it returns false.
  virtual Result<void> visit_set_aside(
      const std::optional<Fingerprint>& after,
      const std::function<bool(Fingerprint, std::string_view value)>& visit) const = 0;
  // Empty if unknown.
  virtual Result<std::string> set_aside_rules() const = 0;

  // Bytes of memtables and caches.
  virtual std::uint64_t memory() const = 0;
};

}  // namespace trawl
