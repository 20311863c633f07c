// Limits per host: of URLs queued, and of pages fetched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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
#include "trawl/host_url_limit.h"
#include "trawl/result.h"

#include "base/mutex.h"
#include "base/one_thread.h"
#include "crawler/decide/host_url_counts.h"
#include "crawler/decide/limit_by_host.h"
#include "crawler/http/body_memory_budget.h"

namespace trawl {

// A set of the most recent hashes, at most a million, in 8 MiB. Thread-safe.
class RecentHashes {
 public:
  static constexpr std::uint64_t kBytes = 8u << 20;

  RecentHashes() : slots_(kBuckets * kWays, 0) {}

  // If found, the hash becomes the most recent one.
  bool contains(std::uint64_t hash);
  void insert(std::uint64_t hash);

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 17;
  static constexpr std::size_t kWays = 8;  // a bucket is a cache line, most recent first
  static constexpr std::size_t kLocks = 64;

  Mutex& lock_of(std::uint64_t hash) { return locks_[hash % kBuckets % kLocks]; }
  // The hashes of the bucket; 0: empty.
  std::span<std::uint64_t, kWays> bucket_of(std::uint64_t hash) TRAWL_REQUIRES(lock_of(hash)) {
    return std::span<std::uint64_t, kWays>(slots_.data() + hash % kBuckets * kWays, kWays);
  }
  // If found, the hash moves to the front of its bucket.
  bool find(std::uint64_t hash) TRAWL_REQUIRES(lock_of(hash));

  std::array<Mutex, kLocks> locks_;
  std::vector<std::uint64_t> slots_;
};

// Enforces scope.max_urls_per_host and max_urls of [[politeness.host]]: limits how many possibly
// new URLs of a host are offered to the frontier. Thread-safe, since all threads find links to a
// host; hosts are spread over several locks. Takes 14 to 28 bytes per host and 8 MiB, counted in a
// budget; its counts take at most `most_bytes`, beyond which it forgets the hosts with the fewest
// URLs (HostUrlCounts), which may then get as many more. A link takes a place before it is offered,
// and report() passes in the frontier's answer. Equal links that are offered at the same time share
// a place. A link that is known to be seen needs no place, and passes even if the host is full. So
// the limit is not exceeded, unless the host was forgotten, and known links do not displace new
// ones, except links met for the first time in a run or again after a million others, which take a
// place until they are settled. Counts are per run, and include URLs that wait when the run begins:
// see start(). Of a shared frontier the owner of a host counts: what it and the owners before
// admitted of all finders. URLs under way to an owner take a place meanwhile.
class HostUrlQuota final : public HostUrlLimit {
 public:
  // Of the counts: 4.9 million hosts.
  static constexpr std::uint64_t kUsualBytes = 64u << 20;

  explicit HostUrlQuota(LimitByHost limits, std::shared_ptr<BodyMemoryBudget> budget = nullptr,
                        std::uint64_t most_bytes = kUsualBytes);

  // False if there is no limit: nothing is counted, and every URL has a place.
  bool limited() const { return limited_; }
  // Counts the URLs waiting in the frontier's queues. Errors: those of Frontier::hosts().
  Result<void> start(const Frontier& frontier);
  // Returns nothing if the host is full. `host`: in the form of Lease::host and politeness_group();
  // `url`: as offered. Each place must be settled.
  std::optional<Place> take(std::string_view host, std::string_view url) override;
  // Passes in the frontier's answer; nothing: the URL was not offered.
  void report(const Place& place, std::optional<Admission> admission) override;
  // Counts a URL that was offered without a place.
  void note(std::string_view host, std::string_view url, Admission admission) override;
  void came(std::string_view host, std::uint64_t admitted) override;
  HoldReason reason() const override;
  std::uint64_t count(std::string_view host) const;
  // Of the host; absent: none.
  std::optional<std::uint64_t> limit(std::string_view host) const { return limits_.of(host); }

 private:
  static constexpr std::size_t kParts = 64;
  // The place of a URL that is being offered.
  struct Pending {
    std::uint64_t host = 0;
    std::uint32_t offers = 0;
    bool admitted = false;
    bool known = false;
  };
  struct alignas(64) Part {
    Part(std::uint64_t most_bytes, TableCharge& charge) : counts(most_bytes, charge) {}

    mutable Mutex mutex;
    // By hash of the host, and of the URL.
    HostUrlCounts counts TRAWL_GUARDED_BY(mutex);
    std::unordered_map<std::uint64_t, Pending> pending TRAWL_GUARDED_BY(mutex);
  };

  std::uint64_t hash_of(std::string_view text) const { return hash_(text).low; }
  Part& part_of(std::uint64_t hash) { return parts_[hash % kParts]; }
  const Part& part_of(std::uint64_t hash) const { return parts_[hash % kParts]; }

  const LimitByHost limits_;
  const bool limited_;
  const KeyedHash hash_;
  std::optional<RecentHashes> known_;  // URLs that the frontier has seen
  TableCharge held_;
  std::deque<Part> parts_;
};

// Enforces scope.max_pages_per_host, and max_pages of [[politeness.host]], with
// HostSettings::limit, which is durable and so holds over restarts. For one thread, and the hosts
// it leases. Takes about 40 bytes per host, up to 10 MiB, counted in a budget; beyond that it asks
// the frontier about hosts it has forgotten.
class HostPageQuota {
 public:
  static constexpr std::uint64_t kBytesOfAHost = 40;
  static constexpr std::size_t kMaxHosts = 1u << 18;

  // `resumed`: hosts may have limits from an earlier run.
  HostPageQuota(Frontier& frontier, bool resumed, LimitByHost limits,
                std::shared_ptr<BodyMemoryBudget> budget = nullptr);

  // Applies the limit `now` to a crawl before anything is leased. If the last run had another
  // limit, which is stored in a small file in the state directory, each host's limit is set to what
  // remains of the new one. Reads only that file if nothing changed. For hosts fetched from while
  // there was no limit, counting starts now. A change interrupted by a crash is completed by the
  // next call, with whatever limit. Errors: kCorrupt for the file, kIo, those of the frontier.
  static Result<void> begin(Frontier& frontier, bool resumed,
                            const std::filesystem::path& state_dir, const LimitByHost& now);
  // The small file, which --fresh deletes.
  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "host-page-limit";
  }

  // Call with each lease before its completion. Sets the limit of a host that has none; a limit
  // from an earlier run stays. Errors: those of the frontier.
  Result<void> on_lease(std::string_view host);

 private:
  Frontier& frontier_;
  const bool resumed_;
  const LimitByHost limits_;
  const KeyedHash hash_;
  std::unordered_set<std::uint64_t> known_;
  bool forgot_ = false;  // some hosts were forgotten
  OneThread thread_;
  TableCharge held_;
};

}  // namespace trawl
