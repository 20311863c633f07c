#include "crawler/state/sitemap_pages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "base/coding.h"
#include "base/database_state.h"
#include "crawler/output/small_database.h"

namespace trawl {

namespace {

// 8 MiB in all.
constexpr std::size_t kWriteBuffer = 2u << 20;
constexpr std::size_t kBlockCache = 4u << 20;

constexpr char kFormat = 2;  // 1, with canonical keys, was of builds before the first release

constexpr std::uint64_t kListed = 1, kFetched = 2, kListedInterval = 4, kAllPageBits = 7;

rocksdb::Options database_options() {
  rocksdb::Options options = small_database_options(small_database_cache(kBlockCache), 4u << 10);
  options.write_buffer_size = kWriteBuffer;
  options.max_open_files = 32;
  options.max_total_wal_size = 8u << 20;
  return options;
}

Error database_error(const std::filesystem::path& directory, const rocksdb::Status& status) {
  const auto [code, advice] =
      status.IsCorruption()
          ? std::pair(ErrorCode::kCorrupt,
                      std::string_view("remove that directory and run trawl resume: its pages are "
                                       "then known again when they were fetched once more"))
          : fault_of(status);
  return {code, fmt::format("the pages of sitemaps in {}: {}; {}", directory.string(),
                            status.ToString(), advice)};
}

std::string encode_page(const SitemapPages::Page& page) {
  std::string out;
  put_varint(out, (page.listed ? kListed : 0) | (page.fetched ? kFetched : 0) |
                      (page.listed_interval ? kListedInterval : 0));
  if (page.listed_interval)
    put_varint(out, static_cast<std::uint64_t>(page.listed_interval->count()));
  put_varint(out, page.depth);
  put_varint(out, page.redirects);
  put_string(out, page.parent.size() <= SitemapPages::kMaxParent ? std::string_view(page.parent)
                                                                 : std::string_view());
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

using Key = std::array<char, sizeof(Fingerprint)>;

Key bytes_of(const Fingerprint& fingerprint) {
  Key key;
  std::memcpy(key.data(), &fingerprint, sizeof fingerprint);
  return key;
}

rocksdb::Slice slice(const Key& key) {
  return {key.data(), key.size()};
}

// The hash of the record of the format, which a new database gets.
Result<KeyedHash> hash_of(rocksdb::DB& database, const std::filesystem::path& directory) {
  std::string format;
  const auto status = read_format(database, kFormat, KeyedHash::random().key(), format);
  if (!status.ok()) return tl::unexpected(database_error(directory, status));
  KeyedHash::Key key;
  if (format.size() != 1 + key.size() || format[0] != kFormat) {
    return error(ErrorCode::kUnsupportedVersion,
                 fmt::format("the pages of sitemaps in {} were written by another version of "
                             "Trawl: use that version, or remove that directory",
                             directory.string()));
  }
  std::copy(format.begin() + 1, format.end(), key.begin());
  return KeyedHash::from_key(key);
}

}  // namespace

Result<std::unique_ptr<SitemapPages>> SitemapPages::open(const std::filesystem::path& directory) {
  const auto prepared = prepare_database(directory);
  if (!prepared) return tl::unexpected(prepared.error());
  if (*prepared == DatabaseState::kHeadless) {
    return tl::unexpected(
        database_error(directory, rocksdb::Status::Corruption("its file CURRENT is missing")));
  }
  auto options = database_options();
  options.max_file_opening_threads = table_opening_threads(directory);
  rocksdb::DB* opened = nullptr;
  const auto status = rocksdb::DB::Open(options, directory.string(), &opened);
  if (!status.ok()) return tl::unexpected(database_error(directory, status));
  std::unique_ptr<rocksdb::DB> database(opened);
  const auto hash = hash_of(*database, directory);
  if (!hash) return tl::unexpected(hash.error());
  if (*prepared == DatabaseState::kNew) {
    if (auto finished = finish_database(directory); !finished)
      return tl::unexpected(finished.error());
  }
  return std::unique_ptr<SitemapPages>(new SitemapPages(directory, std::move(database), *hash));
}

SitemapPages::SitemapPages(std::filesystem::path directory, std::unique_ptr<rocksdb::DB> database,
                           const KeyedHash& hash)
    : directory_(std::move(directory)), database_(std::move(database)), hash_(hash) {}

SitemapPages::~SitemapPages() = default;

Result<SitemapPages::Page> SitemapPages::find(std::string_view key) const {
  return read(hash_(key));
}

Result<SitemapPages::Page> SitemapPages::read(const Fingerprint& key) const {
  rocksdb::PinnableSlice record;
  const auto status =
      database_->Get({}, database_->DefaultColumnFamily(), slice(bytes_of(key)), &record);
  if (status.IsNotFound()) return Page();
  if (!status.ok()) return tl::unexpected(database_error(directory_, status));
  return decode_page({record.data(), record.size()});
}

Result<SitemapPages::Page> SitemapPages::note_listed(
    std::string_view key, bool has_lastmod, std::optional<std::chrono::milliseconds> interval,
    bool wanted) {
  const Fingerprint hashed = hash_(key);
  const MutexLock lock(changing_);
  auto page = read(hashed);
  if (!page) return page;
  const bool is_known =
      (page->listed || !has_lastmod) && (!interval || page->listed_interval == interval);
  if (is_known || !(wanted || page->fetched)) return page;
  page->listed |= has_lastmod;
  if (interval) page->listed_interval = interval;
  if (auto written = write(hashed, *page); !written) return tl::unexpected(written.error());
  return page;
}

Result<bool> SitemapPages::note_fetched(std::string_view key, Page page) {
  const Fingerprint hashed = hash_(key);
  const MutexLock lock(changing_);
  const auto known = read(hashed);
  if (!known) return tl::unexpected(known.error());
  page.listed |= known->listed;
  page.listed_interval = known->listed_interval;
  page.fetched = true;
  if (auto written = write(hashed, page); !written) return tl::unexpected(written.error());
  return page.listed;
}

// Not synced: what a power loss takes is a request without validators.
Result<void> SitemapPages::write(const Fingerprint& key, const Page& page) {
  const auto status = database_->Put({}, slice(bytes_of(key)), encode_page(page));
  if (status.ok()) return {};
  return tl::unexpected(database_error(directory_, status));
}

}  // namespace trawl
