// Store: the durable side of the frontier, in RocksDB.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/queued_url.h"

namespace trawl {

// Totals since the crawl began, stored with every write.
struct Counters {
  std::uint64_t admitted = 0;  // also the sequence that the next admission gets
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::uint64_t skipped = 0;
};

// Thread-safe. Its column families and their records are specified in docs/formats.md.
class Store {
 public:
  // RocksDB's column families. `deferred` is for URLs that wait for a time of their own; it is
  // there from the first format on, so that stores need no conversion when some do.
  enum Family : std::size_t { kMeta, kPending, kDeferred, kHosts, kAdmissions, kFamilies };

  // What is written together.
  class Batch {
   public:
    struct Change {
      Family family;
      std::string key;
      std::optional<std::string> value;  // nothing: the key is deleted
    };
    void add_pending(const QueuedUrl& url);
    void remove_pending(std::string_view host, const QueueOrder& order);
    // The fingerprints of the admissions `first`, `first` + 1, ...
    void log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints);
    void set_host_delay(std::string_view host, std::chrono::milliseconds delay);
    void set_counters(const Counters& counters);
    const std::vector<Change>& changes() const noexcept { return changes_; }

   private:
    std::vector<Change> changes_;
  };

  // Opens or creates the store in `directory`. With `sync`, every write is synced to the disk.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& directory, bool sync);
  virtual ~Store() = default;

  // All of the batch becomes durable, or nothing.
  virtual Result<void> write(const Batch& batch) = 0;
  // Makes all earlier writes survive a power loss.
  virtual Result<void> sync() = 0;
  // Drops the log of admissions below `sequence`.
  virtual Result<void> trim_admissions(std::uint64_t sequence) = 0;

  virtual Result<Counters> counters() const = 0;
  // Calls `visit` with each logged batch that has admissions from `sequence` on, in order.
  virtual Result<void> replay_admissions(
      std::uint64_t sequence,
      const std::function<void(std::uint64_t first, std::span<const Fingerprint>)>& visit)
      const = 0;

  // Up to `limit` URLs of a host's queue, those behind `after` (all if absent), for which `wanted`
  // is true.
  virtual Result<std::vector<QueuedUrl>> read_queue(
      const std::string& host, const std::optional<QueueOrder>& after, std::size_t limit,
      const std::function<bool(const QueueOrder&)>& wanted) const = 0;
  // Calls `visit` with the first URLs, at most `limit`, of each host's queue.
  virtual Result<void> visit_queues(
      std::size_t limit, const std::function<void(std::vector<QueuedUrl>)>& visit) const = 0;
  virtual Result<void> visit_host_delays(
      const std::function<void(std::string, std::chrono::milliseconds)>& visit) const = 0;
};

}  // namespace trawl
