// AdmissionDesk: which of the URLs offered are new.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/growing_bloom_filter.h"
#include "trawl/lease.h"
#include "trawl/url.h"

#include "frontier/commit/exact_claims.h"
#include "frontier/commit/ledger_cache.h"
#include "frontier/commit/operation.h"
#include "frontier/commit/waiting_depths.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

struct AdmissionOptions {
  LimitOptions limits = {};
  bool exact = false;   // a "seen" of the filter is checked against the ledger
  bool sample = false;  // some of them are noted for a check after the commit
  std::uint64_t cache_bytes = 0;
  std::function<SystemTime()> wall_clock;
  std::function<std::int64_t(SystemTime)> from_wall;  // FrontierClock
};

// Of all "seen" answers this share is checked, always for the same URLs.
inline constexpr std::uint64_t kSeenSample = 128;

// URLs parsed and hashed, ready for the filter. One is reused by all calls of a thread: its URLs
// keep their buffers.
class PreparedUrls {
 public:
  static PreparedUrls& of_this_thread();
  // Gives back the memory of an uncommonly long list.
  void shrink();

 private:
  friend class AdmissionDesk;
  std::vector<Url> urls_;  // the first n_ are in use; of those with a key nothing
  std::size_t n_ = 0;
  std::vector<Fingerprint> fingerprints_;
  std::vector<std::size_t> request_;  // whose URL it is
  std::vector<char> known_;           // exact mode: it is in the ledger
  struct Held {
    std::size_t request;
    Fingerprint fingerprint;
    std::string url;  // as it is stored
    GivenIdentity given;
  };
  // Of those of the first n_ that have any: sorted by their places.
  std::vector<std::pair<std::size_t, GivenIdentity>> given_;
  std::vector<Held> held_;    // links that are set aside instead
  std::vector<char> marked_;  // of admit(): a mark was there (WaitingDepths)
  std::string key_;
  // Of admit(): answers of the filter.
  std::unique_ptr<bool[]> flags_;
  std::size_t flags_size_ = 0;
};

// Thread-safe.
class AdmissionDesk {
 public:
  AdmissionDesk(GrowingBloomFilter& filter, const Store& store, WaitingDepths& depths,
                const UrlIdentity& identity, AdmissionOptions options);

  // Parses and hashes; answers the requests that need no filter. In exact mode also looks into the
  // ledger, outside of the gate. Errors: those of the store.
  // `given`: of URLs that were stored, what their requests had; none, or one for each.
  Result<void> prepare(std::span<const UrlRequest> requests, std::span<Admission> answers,
                       PreparedUrls& prepared, std::span<const GivenIdentity> given = {});
  // Inside the gate: inserts into the filter, answers, and adds the winners to the operation.
  // Errors: those of the store, in exact mode; what was answered then must not be relied on.
  Result<void> admit(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                     std::string_view parent, std::span<Admission> answers, Operation& operation);
  // The operation is durable, and nobody may have relied on its claims before.
  void committed(const Operation& operation);

  // "Seen" answers of the filter that the ledger was asked about in exact mode, and those of them
  // that were false.
  std::uint64_t checked() const noexcept { return checked_.load(std::memory_order_relaxed); }
  std::uint64_t averted() const noexcept {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, averted_.load(std::memory_order_relaxed)));
  }
  std::uint64_t memory() const noexcept { return cache_.memory(); }

 private:
  Result<void> find_known(PreparedUrls& prepared);
  Result<bool> is_known(Fingerprint key) const;
  Result<bool> is_new_exactly(Fingerprint key, bool told_new);
  // `recrawl`: it was admitted before.
  void add_winner(const UrlRequest& request, bool recrawl, const Url& url, GivenIdentity given,
                  Fingerprint fingerprint, std::string_view parent, Operation& operation);
  // Parses and hashes one with a key or a queue of its own; nothing if it is invalid.
  std::optional<Fingerprint> identify(const UrlRequest& request, Url& url, GivenIdentity& given,
                                      std::string& buffer) const;
  void hold(const UrlRequest& request, const PreparedUrls::Held& link, std::string_view parent,
            Operation& operation) const;
  // Where a URL was found, as far as that is kept.
  std::string_view parent_of(const UrlRequest& request, std::string_view parent) const;
  // Notes the smaller depths of URLs that wait, whichever of these offers or of those of other
  // threads at the same moment they came with.
  void note_depths(std::span<const UrlRequest> requests, PreparedUrls& prepared,
                   Operation& operation);

  GrowingBloomFilter& filter_;
  const Store& store_;
  const AdmissionOptions options_;
  const UrlIdentity& identity_;
  WaitingDepths& depths_;
  ExactClaims claims_;
  LedgerCache cache_;
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<std::int64_t> averted_{0};
};

}  // namespace trawl
