// Store: the durable side of the frontier, in RocksDB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/store/counters.h"
#include "frontier/store/host_record.h"
#include "frontier/store/ledger_record.h"
#include "frontier/store/memory_plan.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_families.h"

namespace trawl {

// A read of a host's stored record.
struct HostRead {
  HostId host = 0;
  std::optional<HostRecord> record = std::nullopt;  // the result
};

// Thread-safe. docs/formats.md specifies the column families and their records.
class Store {
 public:
  using Family = StoreFamily;
  using enum StoreFamily;

  // Changes that are written together. One buffer holds all keys and values.
  class Batch {
   public:
    // Each key in kPending must be put at most once and deleted at most once: the store uses
    // RocksDB's SingleDelete.
    void add_pending(HostId host, const QueueOrder& order, std::string_view record);
    void remove_pending(HostId host, const QueueOrder& order);
    void add_deferred(std::int64_t not_before, std::uint64_t sequence, HostId host,
                      std::int32_t priority, std::string_view record);
    void remove_deferred(std::int64_t not_before, std::uint64_t sequence);
    // Logs the fingerprints of the admissions `first`, `first` + 1, ...
    void log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints);
    void set_host(HostId host, const HostRecord& record);
    void remove_host(HostId host);
    void set_ledger(Fingerprint fingerprint, const LedgerRecord& record);
    // Stores `depth` unless a smaller one is stored already.
    void lower_depth(Fingerprint fingerprint, std::uint32_t depth);
    void forget_depth(Fingerprint fingerprint);
    // `value`: encode_set_aside().
    void set_aside(Fingerprint fingerprint, std::string_view value);
    void remove_set_aside(Fingerprint fingerprint);
    // Stores the name of the profile that the keys of URLs set aside follow; empty: none.
    void set_aside_rules(std::string_view profile);
    void set_counters(const Counters& counters);

    enum class Kind : std::uint8_t { kPut, kDelete, kSingleDelete, kMerge };
    struct Change {
      Family family;
      Kind kind;
      std::string_view key;
      std::string_view value;  // empty for deletions
    };
    std::size_t size() const noexcept { return entries_.size(); }
    // Valid until the batch changes.
    Change change(std::size_t i) const;
    std::size_t bytes() const noexcept { return bytes_.size(); }
    void clear();

   private:
    struct Entry {
      std::size_t offset;
      std::uint32_t key_size;
      std::uint32_t value_size;
      Family family;
      Kind kind;
    };
    void add(Family family, Kind kind, std::string_view key, std::string_view value = {});
    std::string bytes_;
    std::vector<Entry> entries_;
  };

  struct Options {
    bool sync = false;  // sync every write to the disk
    MemoryPlan memory;
  };
  // Opens or creates the store in `directory`.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& directory,
                                             const Options& options);
  // Opens an existing store for reading only: its files are not written and need not be writable.
  // write(), sync() and trim_admissions() fail.
  static Result<std::unique_ptr<Store>> open_to_read(const std::filesystem::path& directory,
                                                     const Options& options);
  virtual ~Store() = default;

  // Makes all of the batch durable, or nothing.
  virtual Result<void> write(const Batch& batch) = 0;
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

  // Reads of several queues in one pass, in the state of one moment: about a seek each. Fastest if
  // sorted by host: neighbours share blocks.
  virtual Result<void> read_queues(std::span<QueueRead> reads) const = 0;
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
  // Calls `visit` with all URLs in kPending (only of `host`, if given), in key order; with all URLs
  // in kDeferred, by time; until it returns false.
  virtual Result<void> visit_pending(
      std::optional<HostId> host,
      const std::function<bool(HostId, const QueueOrder&, std::string_view record)>& visit)
      const = 0;
  virtual Result<void> visit_deferred(
      const std::function<bool(const DeferredUrl&)>& visit) const = 0;

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
  // Reads the records of several hosts together.
  virtual Result<void> read_hosts(std::span<HostRead> reads) const = 0;
  // In ascending order from `from` on, until `visit` returns false.
  virtual Result<void> visit_hosts(HostId from,
                                   const std::function<bool(HostId, HostRecord)>& visit) const = 0;

  virtual Result<std::optional<LedgerRecord>> ledger(Fingerprint fingerprint) const = 0;
  // Sets `found[i]` to whether the ledger has fingerprints[i]; the spans have the same size.
  virtual Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                                      std::span<bool> found) const = 0;
  virtual Result<void> visit_ledger(
      const std::function<void(Fingerprint, const LedgerRecord&)>& visit) const = 0;
  virtual Result<std::optional<std::uint32_t>> depth(Fingerprint fingerprint) const = 0;
  // Calls `visit` with all entries of kDepths, until it returns false.
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
