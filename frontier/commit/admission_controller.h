// AdmissionController: decides which of the offered URLs are new.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/lease.h"
#include "trawl/url.h"

#include "frontier/commit/exact_claims.h"
#include "frontier/commit/forwarded_links.h"
#include "frontier/commit/ledger_cache.h"
#include "frontier/commit/operation.h"
#include "frontier/commit/partitions.h"
#include "frontier/commit/waiting_depths.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

struct AdmissionOptions {
  LimitOptions limits = {};
  bool exact = false;   // the ledger confirms each "seen" of the filter
  bool sample = false;  // a sample of them is checked after the commit
  std::uint64_t cache_bytes = 0;
  std::uint32_t shards = 1;
  std::function<SystemTime()> wall_clock;
  std::function<std::int64_t(SystemTime)> from_wall;  // FrontierClock
};

// One in this many fingerprints belongs to the sample whose "seen" answers are checked.
inline constexpr std::uint64_t kSeenSample = 128;

// URLs parsed and hashed, ready for the filter. All calls of a thread reuse one, so that its
// buffers stay allocated.
class PreparedUrls {
 public:
  static PreparedUrls& of_this_thread();

 private:
  friend class AdmissionController;
  std::vector<Url> urls_;  // the first n_ are in use; unspecified for those with a key
  std::size_t n_ = 0;
  std::vector<Fingerprint> fingerprints_;
  std::vector<std::size_t> request_;  // index of the request
  std::vector<char> known_;           // exact mode: found in the ledger
  struct Held {
    std::size_t request;
    Fingerprint fingerprint;
    std::string url;  // as stored
    GivenIdentity given;
  };
  // For URLs with a key or queue of their own, sorted by index.
  std::vector<std::pair<std::size_t, GivenIdentity>> given_;
  std::vector<Held> held_;  // links to be held
  // In admit(), of a shared frontier.
  std::vector<char> foreign_;         // 1: another process owns the bucket
  std::vector<std::uint32_t> order_;  // the URLs by bucket
  std::vector<Fingerprint> keys_;     // those of one bucket
  std::unique_ptr<bool[]> fresh_;     // their answers
  std::size_t fresh_size_ = 0;
  std::vector<char> marked_;  // in admit(): WaitingDepths::mark() found a mark
  std::string key_;
  // In admit(): those to be queued immediately.
  struct Winner {
    HostId host;
    std::uint32_t rank;   // by priority, higher first
    std::uint32_t index;  // as of fingerprints_
    const GivenIdentity* given;
    bool recrawl;  // it was admitted before
  };
  std::vector<Winner> winners_;
  std::string record_;
  // In admit(): the filter's answers.
  std::unique_ptr<bool[]> flags_;
  std::size_t flags_size_ = 0;
};

// Thread-safe.
class AdmissionController {
 public:
  AdmissionController(Partitions& partitions, const CommitReads& store, WaitingDepths& depths,
                      const UrlIdentity& identity, AdmissionOptions options);

  // Parses and hashes the URLs; answers the requests that need no filter. In exact mode also looks
  // into the ledger. Called outside the gate. Errors: those of the store. `stored_with`: the
  // identities of URLs read from the store; empty, or one for each request.
  Result<void> prepare(std::span<const UrlRequest> requests, std::span<Admission> answers,
                       PreparedUrls& prepared, std::span<const GivenIdentity> given = {});
  // Called inside the gate: inserts into the filter, answers, and adds the winners to the
  // operation. Errors: those of the store, in exact mode; the answers are then invalid.
  Result<void> admit(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                     std::string_view parent, std::span<Admission> answers, Operation& operation);
  // Called when the operation is durable: releases its claims.
  void committed(const Operation& operation);

  // In exact mode: the filter's "seen" answers that were checked in the ledger, and the false ones
  // among them.
  std::uint64_t checked() const noexcept { return checked_.load(std::memory_order_relaxed); }
  std::uint64_t averted() const noexcept {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, averted_.load(std::memory_order_relaxed)));
  }
  std::uint64_t memory() const noexcept {
    return cache_.memory() + (forwarded_ ? ForwardedLinks::memory() : 0);
  }

 private:
  // Asks the filters; of a shared frontier also which URLs are foreign.
  void insert(PreparedUrls& prepared);
  void insert_by_bucket(PreparedUrls& prepared);
  // `given`: as in record_of().
  void forward(const UrlRequest& request, Fingerprint fingerprint, const GivenIdentity* given,
               std::string_view parent, Operation& operation);
  // Whether a URL with a fingerprint that was given is in the bucket of its queue.
  bool is_of_its_host(Fingerprint fingerprint, const UrlRequest& request,
                      const GivenIdentity& given) const;
  Result<void> find_known(PreparedUrls& prepared);
  Result<bool> is_known(Fingerprint key) const;
  Result<bool> is_new_exactly(Fingerprint key, bool told_new);
  // The record of a URL that is admitted. `recrawl`: it was before. `given`: its own identity or
  // queue; null: none.
  UrlRecord record_of(const UrlRequest& request, bool recrawl, const Url& url,
                      const GivenIdentity* given, std::string_view parent) const;
  HostId host_of_winner(const UrlRequest& request, const Url& url,
                        const GivenIdentity* given) const;
  void add_winner(const UrlRequest& request, bool recrawl, const Url& url,
                  const GivenIdentity* given, Fingerprint fingerprint, std::string_view parent,
                  Operation& operation) const;
  // Queues the winners, in a run if it may be.
  void queue_winners(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                     std::string_view parent, Operation& operation) const;
  // Parses and hashes a request with a key or a queue; nothing if it is invalid.
  std::optional<Fingerprint> identify(const UrlRequest& request, Url& url, GivenIdentity& given,
                                      std::string& buffer) const;
  void hold(const UrlRequest& request, const PreparedUrls::Held& link, std::string_view parent,
            Operation& operation) const;
  // The parent to store for a request; empty if it is too long.
  std::string_view parent_of(const UrlRequest& request, std::string_view parent) const;
  // Adds to the operation the smaller depths found for waiting URLs, whether they come from these
  // offers or from concurrent ones.
  void note_depths(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                   Operation& operation);

  Partitions& partitions_;
  const CommitReads& store_;
  const AdmissionOptions options_;
  const UrlIdentity& identity_;
  WaitingDepths& depths_;
  ExactClaims claims_;
  LedgerCache cache_;
  std::optional<ForwardedLinks> forwarded_;  // of a shared frontier
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<std::int64_t> averted_{0};
};

}  // namespace trawl
