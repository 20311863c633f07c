// BucketHosts: what the owner of a bucket knows of its hosts' values in Redis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/store/queued_url.h"

namespace trawl {

// A host's value has its record, the priorities for which it has queues, and how many of its URLs
// were admitted, if that is counted: so a batch that adds the first URL of a queue, or removes the
// last, changes it. Thread-safe.
class BucketHosts {
 public:
  // The queues of a host by priority, as they are leased, and the number of URLs in each.
  using Queues = std::vector<std::pair<std::int32_t, std::uint64_t>>;

  // As a new owner reads it; `urls` of each queue, in the order of `value.priorities`.
  void load(HostId id, const BucketHost& value, const std::vector<std::uint64_t>& urls);

  // Each returns whether the host's value changes.
  bool add_url(HostId id, std::int32_t priority);
  bool remove_url(HostId id, std::int32_t priority);
  bool set_record(HostId id, const HostRecord& record);
  bool remove_record(HostId id);
  void count_admitted(HostId id, std::string_view name);
  // Nothing for a host that has neither a record nor URLs nor a count: it is forgotten.
  std::optional<BucketHost> take_value(HostId id);

  std::optional<HostRecord> record(HostId id) const;
  Queues queues(HostId id) const;
  // The next host from `from` on that has a record, or one that has URLs.
  std::optional<HostId> next_with_record(HostId from) const;
  std::optional<HostId> next_with_urls(HostId from) const;
  // Those that have a count. `visit` must not call this.
  void visit_admitted(
      const std::function<void(std::string_view name, std::uint64_t urls)>& visit) const;
  std::uint64_t memory() const;

 private:
  struct Host {
    std::unique_ptr<HostRecord> record;  // most hosts of a large crawl have none
    Queues queues;
    std::unique_ptr<AdmittedOfHost> admitted;
  };
  void set_record(Host& host, const HostRecord& record) TRAWL_REQUIRES(mutex_);
  void remove_record(Host& host) TRAWL_REQUIRES(mutex_);
  void set_admitted(Host& host, const std::optional<AdmittedOfHost>& admitted)
      TRAWL_REQUIRES(mutex_);
  template <class Wanted>
  std::optional<HostId> next(HostId from, Wanted wanted) const;

  mutable Mutex mutex_;
  std::map<HostId, Host> hosts_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t queues_ TRAWL_GUARDED_BY(mutex_) = 0;   // of all hosts
  std::uint64_t records_ TRAWL_GUARDED_BY(mutex_) = 0;  // the same
  std::uint64_t names_ TRAWL_GUARDED_BY(mutex_) = 0;    // their bytes
  std::uint64_t counted_ TRAWL_GUARDED_BY(mutex_) = 0;  // bytes of counts
};

}  // namespace trawl
