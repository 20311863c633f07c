// Claims are appended to a log and held in memory. By the thousand they move to the database, in
// one batch in the order of their keys: that takes a fraction of the time of a write a page. The
// first move makes the database, which costs as much as a hundred pages: a crawl of 16,000 pages
// has none. Claims that are in both, after a crash between the two steps of a move, are the same in
// both.
#include "crawler/output/content_index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "trawl/growing_bloom_filter.h"

#include "base/coding.h"
#include "base/mutex.h"
#include "base/one_thread.h"
#include "crawler/output/claim_log.h"
#include "crawler/output/content_store.h"
#include "crawler/output/durable_directory.h"

namespace trawl {

namespace {

// One new body in a hundred costs a read; ten bits a body.
constexpr double kFalsePositiveRate = 0.01;
constexpr std::uint64_t kMinCapacity = 1u << 16;
constexpr std::uint64_t kMaxCapacity = 1u << 20;  // at first
// With more bodies than fit, more of the new ones cost a read.
constexpr std::uint64_t kMaxFilterMemory = 64u << 20;
constexpr std::size_t kFilterBatch = 256;
// Claims in memory, and in the log. Until there is a database, they may take the memory of its
// cache and buffers.
struct MostClaims {
  std::size_t claims;
  std::uint64_t bytes;
};
constexpr MostClaims kMostBeside = {.claims = 4096, .bytes = 2u << 20};
constexpr MostClaims kMostAlone = {.claims = 16'384, .bytes = 6u << 20};
constexpr std::uint64_t kClaimOverhead = 128;  // of one in memory, about

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

std::string encode(const FirstCopy& copy) {
  std::string record;
  record.reserve(copy.url.size() + copy.date.size() + 4);
  put_string(record, copy.url);
  put_string(record, copy.date);
  if (!copy.record_url.empty()) put_string(record, copy.record_url);
  return record;
}

std::optional<FirstCopy> decode(std::string_view record) {
  Decoder decoder(record);
  FirstCopy copy;
  copy.url = decoder.string();
  copy.date = decoder.string();
  if (decoder.ok() && !decoder.done()) copy.record_url = decoder.string();
  // A later version may have added to it.
  return decoder.ok() ? std::optional(std::move(copy)) : std::nullopt;
}

using Key = std::array<char, sizeof(Fingerprint)>;

Key key_of(Fingerprint digest) {
  Key key;
  std::memcpy(key.data(), &digest, sizeof digest);
  return key;
}

std::optional<Fingerprint> fingerprint_of(std::string_view key) {
  Fingerprint digest;
  if (key.size() != sizeof digest) return std::nullopt;
  std::memcpy(&digest, key.data(), sizeof digest);
  return digest;
}

rocksdb::Slice slice(const Key& key) {
  return {key.data(), key.size()};
}

struct HashOfFingerprint {
  std::size_t operator()(const Fingerprint& digest) const noexcept { return digest.low; }
};

Result<GrowingBloomFilter> make_filter(std::uint64_t bodies, const KeyedHash& hash) {
  return GrowingBloomFilter::create({.capacity = std::clamp(bodies, kMinCapacity, kMaxCapacity),
                                     .false_positive_rate = kFalsePositiveRate,
                                     .hash = hash,
                                     .max_memory_bytes = kMaxFilterMemory});
}

}  // namespace

struct ContentIndex::State {
  State(std::unique_ptr<ContentStore> made, ClaimLog opened, const KeyedHash& keyed,
        const Options& options)
      : store(std::move(made)),
        log(std::move(opened)),
        hash(keyed),
        expected_bodies(options.expected_bodies) {
    writes.sync = options.sync;
    writes.memtable_insert_hint_per_batch = true;
  }

  const std::unique_ptr<ContentStore> store;
  ClaimLog log;
  const KeyedHash hash;  // of the digests; the store holds only fingerprints
  const std::uint64_t expected_bodies;
  // Of all bodies, in front of the store, and only together with it.
  std::optional<GrowingBloomFilter> filter;
  // Whether the store is open. Until then all claims are in `claimed`. Set with `mutex` held.
  std::atomic<bool> stored{false};
  rocksdb::WriteOptions writes;
  std::atomic<std::uint64_t> bodies{0};
  std::optional<Error> failure;  // of a commit

  OneAtATime claiming;
  // The claims in the log and those to be committed. The records are those of `claimed`.
  std::vector<ClaimLog::Claim> claims;
  mutable Mutex mutex;
  std::unordered_map<Fingerprint, std::string, HashOfFingerprint> claimed TRAWL_GUARDED_BY(mutex);
  std::atomic<std::uint64_t> claimed_bytes{0};

  Result<std::optional<FirstCopy>> decoded(std::string_view record) const {
    auto copy = decode(record);
    if (!copy) return tl::unexpected(store->damaged("a record cannot be decoded"));
    return copy;
  }

  Result<std::optional<FirstCopy>> read(Fingerprint digest) const {
    // acquire: pairs with set_stored(), so that the filter and the store can be used.
    if (stored.load(std::memory_order_acquire) && !filter->contains(digest)) return std::nullopt;
    {
      // Before the store: claims are removed here only when the store has them.
      const MutexLock lock(mutex);
      if (const auto found = claimed.find(digest); found != claimed.end())
        return decoded(found->second);
      // Relaxed: it is set with the lock.
      if (!stored.load(std::memory_order_relaxed)) return std::nullopt;
    }
    rocksdb::PinnableSlice record;
    auto& database = store->database();
    const auto status =
        database.Get({}, database.DefaultColumnFamily(), slice(key_of(digest)), &record);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return tl::unexpected(store->store_error(status, "read"));
    return decoded(view(record));
  }

  Result<void> failed(Error error) {
    failure = std::move(error);
    return tl::unexpected(*failure);
  }
  // Holds a claim in memory, instead of a former one of the body. `is_new`: there was none.
  ClaimLog::Claim keep(Fingerprint digest, std::string&& record, bool is_new);
  // release: pairs with read().
  void set_stored() TRAWL_REQUIRES(mutex) { stored.store(true, std::memory_order_release); }
  // Takes what is in the directory.
  Result<void> restore();
  // Makes the filter, for at least so many at first, with the bodies of `claims`.
  Result<void> begin_filter(std::uint64_t capacity);
  // Moves the claims in the log to the database.
  Result<void> move_claims();
  // Enters the digests of the store in the filter.
  Result<void> recount();
};

// Writes claims to the database, in the order of its keys.
Result<void> store_claims(const ContentStore& store, std::vector<ClaimLog::Claim>& claims,
                          const rocksdb::WriteOptions& options) {
  std::ranges::sort(claims, [](const ClaimLog::Claim& a, const ClaimLog::Claim& b) {
    return std::memcmp(&a.body, &b.body, sizeof a.body) < 0;
  });
  rocksdb::WriteBatch batch;
  for (const ClaimLog::Claim& claim : claims) {
    const auto put = batch.Put(slice(key_of(claim.body)), slice(claim.record));
    if (!put.ok()) return tl::unexpected(store.store_error(put, "write"));
  }
  const auto status = store.database().Write(options, &batch);
  if (!status.ok()) return tl::unexpected(store.store_error(status, "write"));
  return {};
}

ClaimLog::Claim ContentIndex::State::keep(Fingerprint digest, std::string&& record, bool is_new) {
  claimed_bytes.fetch_add(record.size() + kClaimOverhead, std::memory_order_relaxed);
  ClaimLog::Claim claim{.body = digest, .record = {}};
  bool added;
  {
    const MutexLock lock(mutex);
    const auto place = claimed.insert_or_assign(digest, std::move(record));
    claim.record = place.first->second;
    added = place.second;
  }
  if (added) {
    claims.push_back(claim);
  } else {
    *std::ranges::find(claims, digest, &ClaimLog::Claim::body) = claim;
  }
  if (filter) filter->insert(digest);
  if (added && is_new) bodies.fetch_add(1, std::memory_order_relaxed);
  return claim;
}

Result<void> ContentIndex::State::begin_filter(std::uint64_t capacity) {
  auto made = make_filter(std::max(capacity, expected_bodies), hash);
  if (!made) return tl::unexpected(made.error());
  filter.emplace(*std::move(made));
  for (const ClaimLog::Claim& claim : claims)
    filter->insert(claim.body);
  return {};
}

Result<void> ContentIndex::State::move_claims() {
  if (!store->is_open()) {
    if (auto begun = begin_filter(claims.size()); !begun) return begun;
    if (auto made = store->open(hash.key()); !made) return tl::unexpected(made.error());
  }
  if (auto stored = store_claims(*store, claims, writes); !stored) return stored;
  if (auto cleared = log.clear(); !cleared)
    return tl::unexpected(store->file_error(cleared.error(), "write"));
  claims.clear();
  claimed_bytes.store(0, std::memory_order_relaxed);
  decltype(claimed) moved;  // freed after the lock
  const MutexLock lock(mutex);
  claimed.swap(moved);
  set_stored();
  return {};
}

Result<void> ContentIndex::State::recount() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 1u << 20;
  const std::unique_ptr<rocksdb::Iterator> it(store->database().NewIterator(options));
  std::vector<Fingerprint> fingerprints;
  fingerprints.reserve(kFilterBatch);
  bool ignored[kFilterBatch];
  std::uint64_t count = 0;
  const auto insert = [&] {
    filter->insert_batch(fingerprints, std::span(ignored, fingerprints.size()));
    count += fingerprints.size();
    fingerprints.clear();
  };
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const auto digest = fingerprint_of(view(it->key()));
    if (!digest) continue;  // the format
    fingerprints.push_back(*digest);
    if (fingerprints.size() == kFilterBatch) insert();
  }
  insert();
  bodies.store(count, std::memory_order_relaxed);
  if (!it->status().ok()) return tl::unexpected(store->store_error(it->status(), "read"));
  return {};
}

// With a database, the claims of the last process move there at once: those that are in it already
// are then counted once.
Result<void> ContentIndex::State::restore() {
  auto replayed = log.replay(hash.key(), writes.sync, [this](const ClaimLog::Claim& claim) {
    keep(claim.body, std::string(claim.record), true);
  });
  if (!replayed) return tl::unexpected(store->file_error(replayed.error(), "open"));
  if (!store->is_open()) return {};
  if (auto begun = begin_filter(store->estimated_records()); !begun) return begun;
  if (!claims.empty()) {
    if (auto moved = move_claims(); !moved) return moved;
  }
  {
    const MutexLock lock(mutex);
    set_stored();
  }
  return recount();
}

ContentIndex::ContentIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
ContentIndex::~ContentIndex() = default;

Result<std::unique_ptr<ContentIndex>> ContentIndex::open(const std::filesystem::path& directory,
                                                         const Options& options) {
  if (auto made = make_durable_directory(directory); !made) return tl::unexpected(made.error());
  auto store = std::make_unique<ContentStore>(directory);
  // Locks the directory, before the database could.
  auto log = ClaimLog::open(log_path(directory));
  if (!log) return tl::unexpected(store->file_error(log.error(), "open"));
  KeyedHash::Key key = log->key() ? *log->key() : KeyedHash::random().key();
  if (store->exists()) {
    const auto opened = store->open(key);
    if (!opened) return tl::unexpected(opened.error());
    key = *opened;
  }
  auto state =
      std::make_unique<State>(std::move(store), *std::move(log), KeyedHash::from_key(key), options);
  if (auto restored = state->restore(); !restored) return tl::unexpected(restored.error());
  return std::unique_ptr<ContentIndex>(new ContentIndex(std::move(state)));
}

Result<std::optional<FirstCopy>> ContentIndex::find(std::string_view digest) const {
  return state_->read(state_->hash(digest));
}

Result<std::optional<FirstCopy>> ContentIndex::claim(std::string_view digest,
                                                     const FirstCopy& copy) {
  const OneAtATime::Use use(state_->claiming);
  State& state = *state_;
  if (state.failure) return tl::unexpected(*state.failure);
  const Fingerprint fingerprint = state.hash(digest);
  auto known = state.read(fingerprint);
  if (!known) return known;
  FirstCopy claimed = known->value_or(copy);
  const bool has_first_record = *known && claimed.date.empty() && !copy.date.empty();
  if (*known && !has_first_record) return known;
  if (has_first_record) {
    claimed.date = copy.date;
    if (copy.url != claimed.url) claimed.record_url = copy.url;
  }
  state.log.add(state.keep(fingerprint, encode(claimed), !*known));
  return known;
}

Result<void> ContentIndex::commit() {
  const OneAtATime::Use use(state_->claiming);
  State& state = *state_;
  if (state.failure) return tl::unexpected(*state.failure);
  if (!state.log.has_uncommitted()) return {};
  if (auto committed = state.log.commit(state.writes.sync); !committed)
    return state.failed(state.store->file_error(committed.error(), "write"));
  const MostClaims& most = state.store->is_open() ? kMostBeside : kMostAlone;
  if (state.claims.size() < most.claims &&
      state.claimed_bytes.load(std::memory_order_relaxed) < most.bytes)
    return {};
  if (auto moved = state.move_claims(); !moved) return state.failed(moved.error());
  return {};
}

std::filesystem::path ContentIndex::log_path(const std::filesystem::path& directory) {
  return directory / "CLAIMS";
}

std::uint64_t ContentIndex::bodies() const {
  return state_->bodies.load(std::memory_order_relaxed);
}

std::uint64_t ContentIndex::memory() const {
  const State& state = *state_;
  // acquire: pairs with set_stored().
  const bool stored = state.stored.load(std::memory_order_acquire);
  return state.store->memory() + (stored ? state.filter->stats().memory_bytes : 0) +
         state.claimed_bytes.load(std::memory_order_relaxed);
}

}  // namespace trawl
