#include "frontier/store/rocks_store.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/write_batch.h>

#include "base/coding.h"
#include "base/mutex.h"
#include "frontier/store/deferred_floor.h"
#include "frontier/store/distinct_hosts.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_database.h"
#include "frontier/store/store_format.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view bytes_of(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

Result<void> checked(const rocksdb::Status& status, std::string_view doing) {
  if (!status.ok()) return tl::unexpected(store_error(status, doing));
  return {};
}

Result<void> checked(const Result<void>& done, std::string_view doing) {
  if (!done) return tl::unexpected(store_error(done.error(), doing));
  return {};
}

// An iterator together with its upper bound, whose address RocksDB keeps.
class BoundedIterator {
 public:
  BoundedIterator(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string end,
                  rocksdb::ReadOptions options)
      : end_(std::move(end)), bound_(end_) {
    if (!end_.empty()) options.iterate_upper_bound = &bound_;
    iterator_.reset(db.NewIterator(options, family));
  }
  BoundedIterator(const BoundedIterator&) = delete;
  BoundedIterator& operator=(const BoundedIterator&) = delete;
  rocksdb::Iterator* operator->() const { return iterator_.get(); }

  std::string_view key() const { return bytes_of(iterator_->key()); }
  std::string_view value() const { return bytes_of(iterator_->value()); }

 private:
  std::string end_;
  rocksdb::Slice bound_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// An iterator shows the state at its creation.
class RocksQueueView final : public Store::QueueView {
 public:
  RocksQueueView(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    iterator_.reset(db.NewIterator(options, family));
  }

  Result<void> visit(HostId host, const std::function<bool()>& visit) override {
    const auto begin = number_key(host);
    iterator_->Seek(slice(view(begin)));
    for (; iterator_->Valid(); iterator_->Next()) {
      const auto key = decode_pending_key(bytes_of(iterator_->key()));
      if (!key) return store_damaged("the key of a queued URL cannot be decoded");
      if (key->first != host || !visit()) return {};
    }
    return checked(iterator_->status(), "read");
  }

 private:
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// At or above the key of every deferred URL.
constexpr DeferredKey kBehindDeferred = [] {
  DeferredKey key;
  key.fill('\xff');
  return key;
}();

class RocksDatabase final : public Store {
 public:
  RocksDatabase(std::unique_ptr<StoreDatabase> database, const RocksStore::Options& options)
      : database_(std::move(database)),
        db_(&database_->database()),
        families_(database_->families()),
        least_run_in_file_(options.least_run_in_file) {
    write_options_.sync = options.sync;
  }
  Result<void> complete() { return database_->complete(); }

  Result<void> check_format(bool read_only = false) {
    std::string value;
    auto status = db_->Get({}, families_[kMeta], slice(kFormatKey), &value);
    if (status.IsNotFound() && read_only) return store_damaged("it has no format number");
    if (status.IsNotFound()) {
      put_fixed(value, kStoreFormat);
      status = db_->Put(write_options_, families_[kMeta], slice(kFormatKey), value);
    }
    if (!status.ok()) return tl::unexpected(store_error(status, "open"));
    if (auto known = check_store_format(value); !known) return known;
    std::string current;
    put_fixed(current, kStoreFormat);
    if (value == current) return {};
    // Upgrade a store of an older format: add what it lacks, then store the new format number.
    constexpr std::uint32_t kNotesAnswers = 7;
    if (Decoder(value).fixed<std::uint32_t>() < kNotesAnswers) {
      if (auto noted = note_answers_of_older_format(); !noted) return noted;
    }
    return checked(db_->Put(write_options_, families_[kMeta], slice(kFormatKey), current), "open");
  }

  // An older format does not record which hosts have answered. All hosts with URLs count as such,
  // so that none is dropped when its name does not resolve.
  Result<void> note_answers_of_older_format() {
    const auto totals = counters();
    if (!totals) return tl::unexpected(totals.error());
    if (totals->completed <= totals->skipped) return {};
    DistinctHosts hosts;
    auto read = visit_queued_hosts(0, [&](HostId host) {
      hosts.add(host);
      return true;
    });
    if (!read) return read;
    read = visit_deferred([&](const DeferredUrl& url) {
      hosts.add(url.host);
      return true;
    });
    if (!read) return read;
    constexpr std::size_t kAtOnce = 10'000;
    Batch batch;
    for (const HostId host : hosts.take()) {
      auto record = this->host(host);
      if (!record) return tl::unexpected(record.error());
      HostRecord answered = record->value_or(HostRecord{});
      answered.answered = true;
      batch.set_host(host, answered);
      if (batch.size() < kAtOnce) continue;
      if (auto written = write(batch); !written) return written;
      batch.clear();
    }
    return write(batch);
  }

  Result<void> write_ahead(QueueRun& run) override {
    if (run.shared()->bytes.size() < least_run_in_file_) return {};
    return checked(database_->runs().write(*run.shared()), "write to");
  }

  Result<void> write(const Batch& batch) override {
    assert(batch.messages().empty() && batch.commands().empty());
    // Fresh memory costs as much as filling it, but M1: what is large is not kept.
    const std::size_t bytes = batch.bytes() + kMostAdded * batch.size();
    if (bytes > kMostKept) {
      rocksdb::WriteBatch large(bytes);
      return write(batch, large);
    }
    const MutexLock lock(writing_);
    writes_.Clear();
    return write(batch, writes_);
  }

  Result<void> write(const Batch& batch, rocksdb::WriteBatch& writes) {
    std::optional<DeferredKey> first_deferred;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Batch::Change change = batch.change(i);
      if (const auto status = append(writes, change); !status.ok())
        return checked(status, "write to");
      if (change.family == kDeferred && change.kind == Batch::Kind::kPut &&
          (!first_deferred || change.key < view(*first_deferred))) {
        first_deferred.emplace();
        std::ranges::copy(change.key, first_deferred->begin());
      }
    }
    std::optional<DeferredFloor::Writing> lowers_floor;
    if (first_deferred) lowers_floor.emplace(deferred_floor_, *first_deferred);
    // By default RocksDB counts every key comparison, which slows insertions.
    const auto level = rocksdb::GetPerfLevel();
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    for_each_in_file(batch, [&](const std::shared_ptr<RunBytes>& run) {
      database_->options().handover->give(run);
    });
    const auto status = db_->Write(write_options_, &writes);
    rocksdb::SetPerfLevel(level);
    if (!status.ok()) {
      // The log may have it, and refer to files that no memtable keeps.
      database_->runs().keep_all();
      for_each_in_file(batch, [&](const std::shared_ptr<RunBytes>& run) {
        static_cast<void>(database_->options().handover->take(*run->place));
      });
    }
    return checked(status, "write to");
  }

  Result<void> sync() override { return checked(db_->FlushWAL(true), "sync"); }

  Result<void> trim_admissions(std::uint64_t sequence) override {
    const auto first = number_key(0);
    const auto end = number_key(sequence);
    const auto begin_slice = slice(view(first));
    const auto end_slice = slice(view(end));
    constexpr std::string_view kDoing = "trim the admission log of";
    // Deletes whole files; the rest of the range is in one file at most.
    if (const auto status = rocksdb::DeleteFilesInRange(db_, families_[kAdmissions], &begin_slice,
                                                        &end_slice, false);
        !status.ok())
      return checked(status, kDoing);
    return checked(db_->DeleteRange(write_options_, families_[kAdmissions], begin_slice, end_slice),
                   kDoing);
  }

  Result<Counters> counters() const override {
    std::string value;
    const auto status = db_->Get({}, families_[kMeta], slice(kCountersKey), &value);
    if (status.IsNotFound()) return Counters{};
    if (!status.ok()) return tl::unexpected(store_error(status, "read"));
    if (const auto counters = decode_counters(value)) return *counters;
    return store_damaged("its counters cannot be decoded");
  }

  Result<void> replay_admissions(
      std::uint64_t sequence,
      const std::function<void(std::uint64_t, std::span<const Fingerprint>)>& visit)
      const override {
    const auto it = scan(kAdmissions);
    // The batch that contains `sequence` may begin before it.
    it->SeekForPrev(slice(view(number_key(sequence))));
    if (!it->Valid() && it->status().ok()) it->SeekToFirst();
    std::vector<Fingerprint> fingerprints;
    for (; it->Valid(); it->Next()) {
      const auto first = decode_number_key(it.key());
      if (!first || !decode_fingerprints(it.value(), fingerprints))
        return store_damaged("an admission cannot be decoded");
      if (*first + fingerprints.size() > sequence) visit(*first, fingerprints);
    }
    return checked(it->status(), "read");
  }

  Result<void> read_queues(std::span<QueueRead> reads) const override {
    if (reads.empty()) return {};
    const auto last = std::ranges::max(reads, {}, &QueueRead::host).host;
    // Counting every key comparison, RocksDB's default, takes as long as the comparisons.
    const auto level = rocksdb::GetPerfLevel();
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    const BoundedIterator it(*db_, families_[kPending], end_of(last), {});
    Result<void> done;
    for (QueueRead& read : reads) {
      if (done = read_queue(it, read); !done) break;
    }
    rocksdb::SetPerfLevel(level);
    return done;
  }

  Result<void> visit_queues(
      HostId from, std::size_t limit,
      const std::function<bool(HostId, const QueueBeginning&)>& visit) const override {
    // Most queues are either short, or so long that a seek to the next one is much faster.
    constexpr std::size_t kSteps = 4;
    const std::size_t most_steps = std::max(kSteps, limit);
    const auto it = scan(kPending);
    std::optional<HostId> host;  // the host whose queue is being read
    QueueBeginning queue;
    std::size_t steps = 0;
    it->Seek(slice(view(number_key(from))));
    for (;;) {
      const bool valid = it->Valid();
      std::pair<HostId, QueueOrder> key{};
      if (valid) {
        const auto decoded = decode_pending_key(it.key());
        if (!decoded) return store_damaged("the key of a queued URL cannot be decoded");
        key = *decoded;
      }
      const bool ends = !valid || key.first != host;
      if (host && (ends || steps == most_steps)) {
        queue.whole = ends && steps <= limit;
        if (!visit(*host, queue)) return {};
        const std::string next = end_of(*std::exchange(host, std::nullopt));
        if (!ends) {
          if (next.empty()) break;
          it->Seek(next);
          continue;
        }
      }
      if (!valid) break;
      if (!host) {
        host = key.first;
        queue.urls.clear();
        steps = 0;
      }
      if (steps++ < limit) queue.urls.push_back(decode_pending(*host, key.second, it.value()));
      it->Next();
    }
    return checked(it->status(), "read");
  }

  Result<void> visit_pending(std::optional<HostId> host,
                             const std::function<bool(HostId, const QueueOrder&, std::string_view)>&
                                 visit) const override {
    const auto it = scan(kPending, host ? end_of(*host) : std::string());
    it->Seek(slice(view(number_key(host.value_or(0)))));
    for (; it->Valid(); it->Next()) {
      const auto key = decode_pending_key(it.key());
      if (!key) return store_damaged("the key of a queued URL cannot be decoded");
      if (!visit(key->first, key->second, it.value())) return {};
    }
    return checked(it->status(), "read");
  }

  std::unique_ptr<QueueView> view_queues() const override {
    return std::make_unique<RocksQueueView>(*db_, families_[kPending]);
  }

  Result<void> visit_deferred(const std::function<bool(const DeferredUrl&)>& visit) const override {
    const auto changes = deferred_floor_.changes();
    const auto it = scan(kDeferred);
    const DeferredKey floor = deferred_floor_.floor();
    it->Seek(slice(view(floor)));
    bool first = true;
    for (; it->Valid(); it->Next(), first = false) {
      const auto url = decode_deferred(it.key(), it.value());
      if (!url) return store_damaged("a deferred URL cannot be decoded");
      if (first) deferred_floor_.raise(changes, deferred_key(url->not_before, url->sequence));
      if (!visit(*url)) return {};
    }
    if (first && it->status().ok()) deferred_floor_.raise(changes, kBehindDeferred);
    return checked(it->status(), "read");
  }

  Result<std::optional<HostRecord>> host(HostId host) const override {
    return get<HostRecord>(kHosts, view(number_key(host)), decode_host, "the record of a host");
  }

  Result<void> read_hosts(std::span<HostRead> reads) const override {
    return get_many(
        kHosts, reads.size(), [&](std::size_t i) { return number_key(reads[i].host); },
        [&](std::size_t i, const rocksdb::PinnableSlice* value) -> Result<void> {
          reads[i].record.reset();
          if (value == nullptr) return {};
          reads[i].record = decode_host(bytes_of(*value));
          return reads[i].record ? Result<void>{}
                                 : store_damaged("the record of a host cannot be decoded");
        });
  }

  Result<void> visit_hosts(HostId from,
                           const std::function<bool(HostId, HostRecord)>& visit) const override {
    const auto it = scan(kHosts);
    for (it->Seek(slice(view(number_key(from)))); it->Valid(); it->Next()) {
      const auto host = decode_number_key(it.key());
      auto record = decode_host(it.value());
      if (!host || !record) return store_damaged("the record of a host cannot be decoded");
      if (!visit(*host, std::move(*record))) return {};
    }
    return checked(it->status(), "read");
  }

  Result<std::optional<LedgerRecord>> ledger(Fingerprint fingerprint) const override {
    return get<LedgerRecord>(kLedger, view(fingerprint_key(fingerprint)), decode_ledger,
                             "a record of the ledger");
  }

  Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                              std::span<bool> found) const override {
    assert(found.size() == fingerprints.size());
    return get_many(
        kLedger, fingerprints.size(),
        [&](std::size_t i) { return fingerprint_key(fingerprints[i]); },
        [&](std::size_t i, const rocksdb::PinnableSlice* value) -> Result<void> {
          found[i] = value != nullptr;
          return {};
        });
  }

  Result<void> visit_ledger(
      const std::function<void(Fingerprint, const LedgerRecord&)>& visit) const override {
    const auto it = scan(kLedger);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const auto fingerprint = decode_fingerprint_key(it.key());
      const auto record = decode_ledger(it.value());
      if (!fingerprint || !record) return store_damaged("a record of the ledger cannot be decoded");
      visit(*fingerprint, *record);
    }
    return checked(it->status(), "read");
  }

  Result<std::optional<std::uint32_t>> depth(Fingerprint fingerprint) const override {
    return get<std::uint32_t>(kDepths, view(fingerprint_key(fingerprint)), decode_depth,
                              "the depth of a URL");
  }

  Result<void> visit_depths(
      const std::function<bool(Fingerprint, std::uint32_t)>& visit) const override {
    const auto it = scan(kDepths);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const auto fingerprint = decode_fingerprint_key(it.key());
      const auto depth = decode_depth(it.value());
      if (!fingerprint || !depth) return store_damaged("the depth of a URL cannot be decoded");
      if (!visit(*fingerprint, *depth)) return {};
    }
    return checked(it->status(), "read");
  }

  Result<std::optional<std::string>> set_aside(Fingerprint fingerprint) const override {
    return get<std::string>(
        kSetAside, view(fingerprint_key(fingerprint)),
        [](std::string_view value) { return std::optional(decode_bytes(value)); },
        "a URL set aside");
  }

  // A damaged record counts as absent and is replaced.
  Result<std::optional<SetAsideState>> set_aside_state(Fingerprint fingerprint) const override {
    const auto value = set_aside(fingerprint);
    if (!value) return tl::unexpected(value.error());
    const auto record = *value ? decode_set_aside(**value) : std::nullopt;
    return record ? std::optional(record->state) : std::nullopt;
  }

  Result<void> visit_set_aside(
      const std::optional<Fingerprint>& after,
      const std::function<bool(Fingerprint, std::string_view)>& visit) const override {
    const auto it = scan(kSetAside);
    std::string first;
    // A 0 byte behind the key makes the least key after it.
    if (after) first = std::string(view(fingerprint_key(*after))) + '\0';
    for (it->Seek(first); it->Valid(); it->Next()) {
      const auto fingerprint = decode_fingerprint_key(it.key());
      if (!fingerprint) return store_damaged("the key of a URL set aside cannot be decoded");
      const std::string value = decode_bytes(it.value());
      if (!visit(*fingerprint, value)) return {};
    }
    return checked(it->status(), "read");
  }

  Result<std::string> set_aside_rules() const override {
    std::string rules;
    const auto status = db_->Get({}, families_[kMeta], slice(kSetAsideRulesKey), &rules);
    if (status.IsNotFound()) return std::string();
    if (!status.ok()) return tl::unexpected(store_error(status, "read"));
    return rules;
  }

  std::uint64_t memory() const override {
    const RocksOptions& options = database_->options();
    return options.write_buffers->memory_usage() + options.cache->GetUsage();
  }

 private:
  // Calls `each` with the runs of the batch that are in files.
  template <class Each>
  static void for_each_in_file(const Batch& batch, Each&& each) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (const Batch::Change change = batch.change(i); change.in_file != nullptr)
        each(*change.in_file);
    }
  }

  Result<void> read_queue(const BoundedIterator& it, QueueRead& read) const {
    // A 0 byte behind the key makes the least key after it.
    it->Seek(read.after ? pending_key(read.host, *read.after) + '\0'
                        : std::string(view(number_key(read.host))));
    for (std::size_t bytes = 0; it->Valid(); it->Next()) {
      const auto key = decode_pending_key(it.key());
      if (!key) return store_damaged("the key of a queued URL cannot be decoded");
      if (key->first != read.host) break;
      if (read.urls.size() == read.limit || bytes >= read.max_bytes) return {};
      bytes += it.value().size();
      read.urls.push_back(decode_pending(read.host, key->second, it.value()));
    }
    read.ended = true;
    return checked(it->status(), "read");
  }

  // Calls `found` with the value of each of `n` keys, null if there is none.
  template <class KeyOf, class Found>
  Result<void> get_many(StoreFamily family, std::size_t n, KeyOf&& key_of, Found&& found) const {
    constexpr std::size_t kAtOnce = 64;
    std::array<decltype(key_of(0)), kAtOnce> keys;
    std::array<rocksdb::Slice, kAtOnce> slices;
    std::array<rocksdb::PinnableSlice, kAtOnce> values;
    std::array<rocksdb::Status, kAtOnce> statuses;
    for (std::size_t done = 0; done < n; done += kAtOnce) {
      const std::size_t part = std::min(kAtOnce, n - done);
      for (std::size_t i = 0; i < part; ++i) {
        keys[i] = key_of(done + i);
        slices[i] = slice(view(keys[i]));
      }
      db_->MultiGet({}, families_[family], part, slices.data(), values.data(), statuses.data());
      for (std::size_t i = 0; i < part; ++i) {
        if (!statuses[i].ok() && !statuses[i].IsNotFound()) return checked(statuses[i], "read");
        if (auto taken = found(done + i, statuses[i].ok() ? &values[i] : nullptr); !taken)
          return taken;
        values[i].Reset();
      }
    }
    return {};
  }

  rocksdb::Status append(rocksdb::WriteBatch& writes, const Batch::Change& change) {
    auto* const family = families_[change.family];
    const rocksdb::Slice key = slice(change.key);
    switch (change.kind) {
      case Batch::Kind::kDelete:
        return writes.Delete(family, key);
      case Batch::Kind::kSingleDelete:
        return writes.SingleDelete(family, key);
      case Batch::Kind::kMerge:
        return writes.Merge(family, key, slice(change.value));
      case Batch::Kind::kPutRun: {
        // For SortedMemtable: no other change has such keys.
        if (change.in_file != nullptr) {
          return writes.Put(family, slice(kRunReferenceKey),
                            RunReference::encode(change.key, *(*change.in_file)->place));
        }
        const rocksdb::Slice run_key = slice(kRunKey);
        const rocksdb::Slice parts[] = {key, slice(change.value)};
        return writes.Put(family, rocksdb::SliceParts(&run_key, 1), rocksdb::SliceParts(parts, 2));
      }
      case Batch::Kind::kPut:
        break;
    }
    return writes.Put(family, key, slice(change.value));
  }

  // The first key after a host's queue; empty for the last possible host.
  static std::string end_of(HostId host) {
    return host == ~HostId{0} ? std::string() : std::string(view(number_key(host + 1)));
  }

  // An iterator that does not fill the block cache, which is for repeated reads.
  BoundedIterator scan(StoreFamily family, std::string end = {}) const {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    return {*db_, families_[family], std::move(end), options};
  }

  template <class T>
  Result<std::optional<T>> get(StoreFamily family, std::string_view key,
                               std::optional<T> (*decode)(std::string_view),
                               std::string_view what) const {
    rocksdb::PinnableSlice value;
    const auto status = db_->Get({}, families_[family], slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return tl::unexpected(store_error(status, "read"));
    auto decoded = decode(bytes_of(value));
    if (!decoded) return store_damaged(fmt::format("{} cannot be decoded", what));
    return decoded;
  }

  const std::unique_ptr<StoreDatabase> database_;
  rocksdb::DB* const db_;
  const std::span<rocksdb::ColumnFamilyHandle* const> families_;
  const std::size_t least_run_in_file_;
  rocksdb::WriteOptions write_options_;
  static constexpr std::size_t kMostKept = 4u << 20;
  static constexpr std::size_t kMostAdded = 32;  // by RocksDB to a change
  Mutex writing_;
  rocksdb::WriteBatch writes_ TRAWL_GUARDED_BY(writing_);  // kept for its memory
  mutable DeferredFloor deferred_floor_;
};

}  // namespace

Result<std::unique_ptr<Store>> RocksStore::open(const std::filesystem::path& directory,
                                                const Options& options) {
  auto database = StoreDatabase::open(directory, options.memory);
  if (!database) return tl::unexpected(database.error());
  auto store = std::make_unique<RocksDatabase>(*std::move(database), options);
  if (auto checked = store->check_format(); !checked) return tl::unexpected(checked.error());
  if (auto completed = store->complete(); !completed) return tl::unexpected(completed.error());
  return store;
}

Result<std::unique_ptr<Store>> RocksStore::open_to_read(const std::filesystem::path& directory,
                                                        const Options& options) {
  auto database = StoreDatabase::open_to_read(directory, options.memory);
  if (!database) return tl::unexpected(database.error());
  auto store = std::make_unique<RocksDatabase>(*std::move(database), options);
  if (auto checked = store->check_format(true); !checked) return tl::unexpected(checked.error());
  return store;
}

}  // namespace trawl
