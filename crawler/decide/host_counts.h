// Limits on what is fetched of one host: URLs queued, and pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/frontier.h"
#include "trawl/result.h"

#include "base/mutex.h"
#include "base/one_thread.h"
#include "crawler/http/body_budget.h"

namespace trawl {

// The hashes last met, of a million at most, in 8 MiB. Thread-safe.
class RecentHashes {
 public:
  static constexpr std::uint64_t kBytes = 8u << 20;

  RecentHashes() : slots_(kBuckets * kWays, 0) {}

  // One that is there is then the last one met.
  bool contains(std::uint64_t hash);
  void insert(std::uint64_t hash);

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 17;
  static constexpr std::size_t kWays = 8;  // a bucket is a cache line: the last one met is first
  static constexpr std::size_t kLocks = 64;

  Mutex& lock_of(std::uint64_t hash) { return locks_[hash % kBuckets % kLocks]; }
  // The hashes of its bucket; 0: none.
  std::span<std::uint64_t, kWays> bucket_of(std::uint64_t hash) TRAWL_REQUIRES(lock_of(hash)) {
    return std::span<std::uint64_t, kWays>(slots_.data() + hash % kBuckets * kWays, kWays);
  }
  // One that is there is then the first of its bucket.
  bool find(std::uint64_t hash) TRAWL_REQUIRES(lock_of(hash));

  std::array<Mutex, kLocks> locks_;
  std::vector<std::uint64_t> slots_;
};

// Keeps a crawl within scope.max_urls_per_host: as many URLs of a host at most are offered to the
// frontier as may still be new. Links to a host are found by all threads, so this is thread-safe;
// hosts are spread over locks of their own. About 50 bytes a host, and 8 MiB, held of a budget.
//
// A link takes its place before it is offered, and settle() tells what became of it. Links that
// are offered at the same time share a place if they are equal. One that the frontier is known to
// have seen needs none, and has one even where the host is full. So the limit is never exceeded,
// and known links keep no new ones out, but for those that are met for the first time in a run, or
// again after a million others: until they are settled they take places. Counts are of one run, but
// for URLs that wait when it begins: see start().
class HostUrlCounts {
 public:
  class Place {
   private:
    friend class HostUrlCounts;
    std::uint64_t host = 0;
    std::uint64_t url = 0;
    bool taken = false;  // false: it needs none
  };

  static constexpr std::uint64_t kBytesOfAHost = 50;

  explicit HostUrlCounts(std::optional<std::uint64_t> max_urls_per_host,
                         std::shared_ptr<BodyBudget> budget = nullptr);

  // False: nothing is counted, and every URL has a place.
  bool limited() const { return limit_.has_value(); }
  // Counts the URLs that wait in the frontier's queues. Errors: those of Frontier::hosts().
  Result<void> start(const Frontier& frontier);
  // Nothing: the host is full. `host` as Lease::host and politeness_group() have it, `url` as it is
  // offered. Each place is to be settled.
  std::optional<Place> take(std::string_view host, std::string_view url);
  // What the frontier said of the URL; nothing: it was not offered after all.
  void settle(const Place& place, std::optional<Admission> admission);
  // Of a URL that was offered whether there was a place or not.
  void note(std::string_view host, std::string_view url, Admission admission);
  std::uint64_t count(std::string_view host) const;

 private:
  static constexpr std::size_t kParts = 64;
  // A place of a URL that is being offered.
  struct Pending {
    std::uint32_t offers = 0;
    bool admitted = false;
    bool known = false;
  };
  struct alignas(64) Part {
    mutable Mutex mutex;
    // By the host's hash, and by the URL's.
    std::unordered_map<std::uint64_t, std::uint64_t> counts TRAWL_GUARDED_BY(mutex);
    std::unordered_map<std::uint64_t, Pending> pending TRAWL_GUARDED_BY(mutex);
  };

  std::uint64_t hash_of(std::string_view text) const { return hash_(text).low; }
  Part& part_of(std::uint64_t hash) { return parts_[hash % kParts]; }
  const Part& part_of(std::uint64_t hash) const { return parts_[hash % kParts]; }
  std::uint64_t& count_of(Part& part, std::uint64_t hash) TRAWL_REQUIRES(part.mutex);

  const std::optional<std::uint64_t> limit_;
  const KeyedHash hash_;
  std::array<Part, kParts> parts_;
  std::optional<RecentHashes> known_;  // URLs that the frontier has seen
  HeldMemory held_;
};

// Keeps a crawl within scope.max_pages_per_host, by HostSettings::limit: durable, so that it
// holds over restarts. Of one thread, for the hosts it leases. About 40 bytes a host, up to 10 MiB
// and held of a budget: then it asks the frontier for what it has forgotten.
class HostPageLimits {
 public:
  static constexpr std::uint64_t kBytesOfAHost = 40;
  static constexpr std::size_t kMaxHosts = 1u << 18;

  // `resumed`: hosts may have limits from an earlier run.
  HostPageLimits(Frontier& frontier, bool resumed, std::optional<std::uint64_t> max_pages_per_host,
                 std::shared_ptr<BodyBudget> budget = nullptr);

  // Makes the limit `now` that of a crawl, before anything is leased from it: if it was another in
  // the run before, which a small file in the state directory tells, each host's is set to what is
  // left of the new one. One read of that file if nothing changed. A host that was asked while
  // there was no limit counts from now on. What a crash leaves undone is done by the next call,
  // whatever limit that brings. Errors: kCorrupt for the file, kIo, those of the frontier.
  static Result<void> begin(Frontier& frontier, bool resumed,
                            const std::filesystem::path& state_dir,
                            std::optional<std::uint64_t> now);
  // The small file: to be deleted when the crawl begins anew.
  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "host-page-limit";
  }

  // To be called with each lease before its completion. Sets the limit of a host that has none yet;
  // one that it has, from an earlier run, stays. Errors: those of the frontier.
  Result<void> on_lease(std::string_view host);

 private:
  Frontier& frontier_;
  const bool resumed_;
  const std::optional<std::uint64_t> limit_;
  const KeyedHash hash_;
  std::unordered_set<std::uint64_t> known_;
  bool forgot_ = false;  // some of them
  OneThread thread_;
  HeldMemory held_;
};

}  // namespace trawl
