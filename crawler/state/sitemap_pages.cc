#include "crawler/state/sitemap_pages.h"

#include <cstdarg>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "base/coding.h"
#include "base/database_state.h"

namespace trawl {

namespace {

// 8 MiB in all.
constexpr std::size_t kWriteBuffer = 2u << 20;
constexpr std::size_t kBlockCache = 4u << 20;

// No canonical key is like this.
constexpr const char* kFormatKey = "format";
constexpr char kFormat = 1;

constexpr std::uint64_t kListed = 1, kFetched = 2, kListedInterval = 4, kAllPageBits = 7;

// See ContentStore: RocksDB's own log may end the process on a full disk.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

rocksdb::Options database_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.info_log = std::make_shared<NoLog>();
  options.write_buffer_size = kWriteBuffer;
  options.max_write_buffer_number = 2;
  options.max_open_files = 32;
  options.max_total_wal_size = 8u << 20;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCache, 1, false, 0.5);
  table.cache_index_and_filter_blocks = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.pin_top_level_index_and_filter = false;
  table.partition_filters = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

Error database_error(const std::filesystem::path& directory, const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const auto as = [&](ErrorCode code, std::string_view advice) {
    return Error{
        code, fmt::format("the pages of sitemaps in {}: {}; {}", directory.string(), text, advice)};
  };
  if (status.IsCorruption()) {
    return as(ErrorCode::kCorrupt,
              "remove that directory and run trawl resume: its pages are then known again when "
              "they were fetched once more");
  }
  if (status.IsNoSpace()) return as(ErrorCode::kNoSpace, "free some space, then run trawl resume");
  if (text.find("lock ") != std::string::npos)
    return as(ErrorCode::kInUse, "another process has it open: stop that process first");
  return as(ErrorCode::kIo, "check the disk and the system log, then run trawl resume");
}

std::string encode_page(const SitemapPages::Page& page) {
  std::string out;
  put_varint(out, (page.listed ? kListed : 0) | (page.fetched ? kFetched : 0) |
                      (page.listed_interval ? kListedInterval : 0));
  if (page.listed_interval)
    put_varint(out, static_cast<std::uint64_t>(page.listed_interval->count()));
  put_varint(out, page.depth);
  put_varint(out, page.redirects);
  put_string(out, page.parent);
  put_string(out, page.note.encode());
  return out;
}

SitemapPages::Page decode_page(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint64_t bits = in.varint();
  const std::uint64_t interval = (bits & kListedInterval) != 0 ? in.varint() : 0;
  const std::uint64_t depth = in.varint();
  const std::uint64_t redirects = in.varint();
  const std::string_view parent = in.string();
  const std::string_view note = in.string();
  constexpr std::uint64_t kLongestInterval = std::uint64_t{1} << 50;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (!in.done() || bits > kAllPageBits || depth > kMost || redirects > kMost ||
      interval > kLongestInterval)
    return {};
  SitemapPages::Page page;
  if (interval > 0) page.listed_interval = std::chrono::milliseconds(interval);
  page.listed = (bits & kListed) != 0;
  page.fetched = (bits & kFetched) != 0;
  page.depth = static_cast<std::uint32_t>(depth);
  page.redirects = static_cast<std::uint32_t>(redirects);
  page.parent = parent;
  page.note = UrlNote::decode(note);
  return page;
}

// A new database gets the record of the format.
Result<void> check_format(rocksdb::DB& database, const std::filesystem::path& directory) {
  std::string format;
  auto status = database.Get({}, kFormatKey, &format);
  if (status.IsNotFound()) {
    format = kFormat;
    status = database.Put({}, kFormatKey, format);
  }
  if (!status.ok()) return tl::unexpected(database_error(directory, status));
  if (format.size() == 1 && format[0] == kFormat) return {};
  return error(ErrorCode::kUnsupportedVersion,
               fmt::format("the pages of sitemaps in {} were written by a newer version of Trawl: "
                           "use that version, or remove that directory",
                           directory.string()));
}

}  // namespace

Result<std::unique_ptr<SitemapPages>> SitemapPages::open(const std::filesystem::path& directory) {
  const auto prepared = prepare_database(directory);
  if (!prepared) return tl::unexpected(prepared.error());
  if (*prepared == DatabaseState::kHeadless) {
    return tl::unexpected(
        database_error(directory, rocksdb::Status::Corruption("its file CURRENT is missing")));
  }
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(database_options(), directory.string(), &opened);
  if (!status.ok()) return tl::unexpected(database_error(directory, status));
  std::unique_ptr<rocksdb::DB> database(opened);
  if (auto fits = check_format(*database, directory); !fits) return tl::unexpected(fits.error());
  if (*prepared == DatabaseState::kNew) {
    if (auto finished = finish_database(directory); !finished)
      return tl::unexpected(finished.error());
  }
  return std::unique_ptr<SitemapPages>(new SitemapPages(directory, std::move(database)));
}

SitemapPages::SitemapPages(std::filesystem::path directory, std::unique_ptr<rocksdb::DB> database)
    : directory_(std::move(directory)), database_(std::move(database)) {}

SitemapPages::~SitemapPages() = default;

Result<SitemapPages::Page> SitemapPages::find(std::string_view key) const {
  std::string record;
  const auto status = database_->Get({}, rocksdb::Slice(key.data(), key.size()), &record);
  if (status.IsNotFound()) return Page();
  if (!status.ok()) return tl::unexpected(database_error(directory_, status));
  return decode_page(record);
}

Result<SitemapPages::Page> SitemapPages::note_listed(
    std::string_view key, bool has_lastmod, std::optional<std::chrono::milliseconds> interval) {
  const MutexLock lock(changing_);
  auto page = find(key);
  if (!page) return page;
  const bool is_known =
      (page->listed || !has_lastmod) && (!interval || page->listed_interval == interval);
  if (is_known) return page;
  page->listed |= has_lastmod;
  if (interval) page->listed_interval = interval;
  if (auto written = put(key, *page); !written) return tl::unexpected(written.error());
  return page;
}

Result<bool> SitemapPages::note_fetched(std::string_view key, Page page) {
  const MutexLock lock(changing_);
  const auto known = find(key);
  if (!known) return tl::unexpected(known.error());
  page.listed |= known->listed;
  page.listed_interval = known->listed_interval;
  page.fetched = true;
  if (auto written = put(key, page); !written) return tl::unexpected(written.error());
  return page.listed;
}

// Not synced: what a power loss takes is a request without validators.
Result<void> SitemapPages::put(std::string_view key, const Page& page) {
  const auto status = database_->Put({}, rocksdb::Slice(key.data(), key.size()), encode_page(page));
  if (status.ok()) return {};
  return tl::unexpected(database_error(directory_, status));
}

}  // namespace trawl
