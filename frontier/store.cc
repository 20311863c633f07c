#include "frontier/store.h"

#include <array>
#include <cstring>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "filter/coding.h"

namespace trawl {

namespace {

constexpr std::array<const char*, Store::kFamilies> kFamilyNames = {
    "default", "pending", "deferred", "hosts", "admissions"};
constexpr std::string_view kCountersKey = "counters";
constexpr std::string_view kFormatKey = "format";
constexpr std::uint32_t kFormat = 1;

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// Big-endian, so that keys sort as the numbers do.
std::string sequence_key(std::uint64_t sequence) {
  std::string key;
  put_fixed(key, __builtin_bswap64(sequence));
  return key;
}

Error error_of(const rocksdb::Status& status, std::string_view doing) {
  ErrorCode code = ErrorCode::kIo;
  if (status.IsNoSpace()) code = ErrorCode::kNoSpace;
  if (status.IsCorruption()) code = ErrorCode::kCorrupt;
  const std::string text = status.ToString();
  for (const char* refused : {"Permission denied", "Read-only file system"}) {
    if (text.find(refused) != std::string::npos) code = ErrorCode::kPermission;
  }
  return {code, fmt::format("cannot {} the store: {}", doing, text)};
}

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::kCorrupt,
              fmt::format("the store is damaged: {}; restore the state directory from a backup, or "
                          "start over",
                          what));
}

std::string encode_counters(const Counters& counters) {
  std::string value;
  for (const auto count : {counters.admitted, counters.completed, counters.failed, counters.seen,
                           counters.invalid, counters.skipped}) {
    put_varint(value, count);
  }
  return value;
}

std::string encode_fingerprints(std::span<const Fingerprint> fingerprints) {
  std::string value;
  value.reserve(fingerprints.size() * 16);
  for (const auto& fingerprint : fingerprints) {
    put_fixed(value, fingerprint.high);
    put_fixed(value, fingerprint.low);
  }
  return value;
}

rocksdb::Options database_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.max_open_files = 512;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 2;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_total_wal_size = 256u << 20;
  // What comes after the first damaged write is dropped, be it cut short by a crash or damaged
  // otherwise. The store then is as it was at an earlier moment; recovery notices if that was
  // before a checkpoint.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 32u << 20;
  options.level_compaction_dynamic_level_bytes = true;
  options.compression = rocksdb::kLZ4Compression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

void Store::Batch::add_pending(const QueuedUrl& url) {
  changes_.push_back({kPending, pending_key(url.host, url.order), encode_pending_value(url)});
}
void Store::Batch::remove_pending(std::string_view host, const QueueOrder& order) {
  changes_.push_back({kPending, pending_key(host, order), std::nullopt});
}
void Store::Batch::log_admissions(std::uint64_t first, std::span<const Fingerprint> fingerprints) {
  changes_.push_back({kAdmissions, sequence_key(first), encode_fingerprints(fingerprints)});
}
void Store::Batch::set_host_delay(std::string_view host, std::chrono::milliseconds delay) {
  std::string value;
  put_varint(value, static_cast<std::uint64_t>(delay.count()));
  changes_.push_back({kHosts, std::string(host), std::move(value)});
}
void Store::Batch::set_counters(const Counters& counters) {
  changes_.push_back({kMeta, std::string(kCountersKey), encode_counters(counters)});
}

namespace {

// An iterator and the bound it points to; in place, since RocksDB keeps the address.
class BoundedIterator {
 public:
  BoundedIterator(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, std::string end)
      : end_(std::move(end)), bound_(end_) {
    rocksdb::ReadOptions options;
    if (!end_.empty()) options.iterate_upper_bound = &bound_;
    iterator_.reset(db.NewIterator(options, family));
  }
  BoundedIterator(const BoundedIterator&) = delete;
  BoundedIterator& operator=(const BoundedIterator&) = delete;
  rocksdb::Iterator* operator->() const { return iterator_.get(); }

 private:
  std::string end_;
  rocksdb::Slice bound_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

class RocksStore final : public Store {
 public:
  RocksStore(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> families,
             bool sync)
      : db_(std::move(db)), families_(std::move(families)) {
    write_options_.sync = sync;
  }
  ~RocksStore() override {
    for (auto* family : families_)
      db_->DestroyColumnFamilyHandle(family);
    db_->Close();
  }

  Result<void> check_format() {
    std::string value;
    auto status = db_->Get({}, families_[kMeta], slice(kFormatKey), &value);
    if (status.IsNotFound()) {
      put_fixed(value, kFormat);
      status = db_->Put(write_options_, families_[kMeta], slice(kFormatKey), value);
    }
    if (!status.ok()) return tl::unexpected(error_of(status, "open"));
    if (const auto format = Decoder(value).fixed<std::uint32_t>(); format > kFormat) {
      return fail(ErrorCode::kUnsupportedVersion,
                  fmt::format("the store has format {}; this Trawl reads up to format {}: use a "
                              "newer one",
                              format, kFormat));
    }
    return {};
  }

  Result<void> write(const Batch& batch) override {
    rocksdb::WriteBatch writes;
    for (const auto& [family, key, value] : batch.changes()) {
      const auto status = value ? writes.Put(families_[family], key, *value)
                                : writes.Delete(families_[family], key);
      if (!status.ok()) return checked(status, "write to");
    }
    return checked(db_->Write(write_options_, &writes), "write to");
  }

  Result<void> sync() override { return checked(db_->FlushWAL(true), "sync"); }

  Result<void> trim_admissions(std::uint64_t sequence) override {
    return checked(db_->DeleteRange(write_options_, families_[kAdmissions], sequence_key(0),
                                    sequence_key(sequence)),
                   "trim the admission log of");
  }

  Result<Counters> counters() const override {
    std::string value;
    const auto status = db_->Get({}, families_[kMeta], slice(kCountersKey), &value);
    if (status.IsNotFound()) return Counters{};
    if (!status.ok()) return tl::unexpected(error_of(status, "read"));
    Decoder in(value);
    Counters counters;
    for (auto* count : {&counters.admitted, &counters.completed, &counters.failed, &counters.seen,
                        &counters.invalid, &counters.skipped}) {
      *count = in.varint();
    }
    if (!in.done()) return damaged("its counters do not decode");
    return counters;
  }

  Result<void> replay_admissions(
      std::uint64_t sequence,
      const std::function<void(std::uint64_t, std::span<const Fingerprint>)>& visit)
      const override {
    const auto it = iterator(kAdmissions);
    // The batch that `sequence` falls into may begin before it.
    it->SeekForPrev(sequence_key(sequence));
    if (!it->Valid() && it->status().ok()) it->SeekToFirst();
    std::vector<Fingerprint> fingerprints;
    for (; it->Valid(); it->Next()) {
      const std::string_view key = view(it->key());
      const std::string_view value = view(it->value());
      if (key.size() != 8 || value.size() % 16 != 0) return damaged("an admission does not decode");
      const auto first = __builtin_bswap64(Decoder(key).fixed<std::uint64_t>());
      if (first + value.size() / 16 <= sequence) continue;
      fingerprints.clear();
      for (Decoder in(value); !in.done();) {
        const auto high = in.fixed<std::uint64_t>();
        fingerprints.push_back({.high = high, .low = in.fixed<std::uint64_t>()});
      }
      visit(first, fingerprints);
    }
    return checked(it->status(), "read");
  }

  Result<std::vector<QueuedUrl>> read_queue(
      const std::string& host, const std::optional<QueueOrder>& after, std::size_t limit,
      const std::function<bool(const QueueOrder&)>& wanted) const override {
    const std::string end = pending_end(host);
    const auto it = iterator(kPending, end);
    // A 0 byte behind the key makes the least key after it.
    it->Seek(after ? pending_key(host, *after) + '\0' : pending_begin(host));
    std::vector<QueuedUrl> urls;
    for (; it->Valid() && urls.size() < limit; it->Next()) {
      auto url = decode_pending(view(it->key()), view(it->value()));
      if (!url) return damaged("a queued URL does not decode");
      if (wanted(url->order)) urls.push_back(std::move(*url));
    }
    if (!it->status().ok()) return tl::unexpected(error_of(it->status(), "read"));
    return urls;
  }

  Result<void> visit_queues(
      std::size_t limit, const std::function<void(std::vector<QueuedUrl>)>& visit) const override {
    const auto it = iterator(kPending);
    for (it->SeekToFirst(); it->Valid();) {
      std::vector<QueuedUrl> head;
      std::string host;
      for (; it->Valid() && head.size() < limit; it->Next()) {
        auto url = decode_pending(view(it->key()), view(it->value()));
        if (!url) return damaged("a queued URL does not decode");
        if (head.empty()) host = url->host;
        if (url->host != host) break;
        head.push_back(std::move(*url));
      }
      const bool full = head.size() == limit;
      if (!head.empty()) visit(std::move(head));
      if (full) it->Seek(pending_end(host));
    }
    return checked(it->status(), "read");
  }

  Result<void> visit_host_delays(
      const std::function<void(std::string, std::chrono::milliseconds)>& visit) const override {
    const auto it = iterator(kHosts);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      Decoder in(view(it->value()));
      const std::chrono::milliseconds delay(in.varint());
      if (!in.done()) return damaged("the delay of a host does not decode");
      visit(it->key().ToString(), delay);
    }
    return checked(it->status(), "read");
  }

 private:
  static Result<void> checked(const rocksdb::Status& status, std::string_view doing) {
    if (!status.ok()) return tl::unexpected(error_of(status, doing));
    return {};
  }

  BoundedIterator iterator(Family family, std::string end = {}) const {
    return {*db_, families_[family], std::move(end)};
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  rocksdb::WriteOptions write_options_;
};

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& directory, bool sync) {
  auto cache = rocksdb::NewLRUCache(32u << 20);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames)
    descriptors.emplace_back(name, family_options(cache));
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const auto status =
      rocksdb::DB::Open(database_options(), directory.string(), descriptors, &handles, &db);
  if (!status.ok()) {
    return tl::unexpected(error_of(status, fmt::format("open {} as", directory.string())));
  }
  auto store =
      std::make_unique<RocksStore>(std::unique_ptr<rocksdb::DB>(db), std::move(handles), sync);
  if (auto checked = store->check_format(); !checked) return tl::unexpected(checked.error());
  return store;
}

}  // namespace trawl
