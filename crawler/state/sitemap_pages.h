// SitemapPages: what sitemaps say of when pages change, whichever way the pages were found; and
// with recrawl.by_sitemap what a crawl knows of the pages that it has fetched, so that a sitemap
// may have them fetched again just as they were: a frontier forgets what is done.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "base/mutex.h"
#include "crawler/decide/url_note.h"

namespace rocksdb {
class DB;
}

namespace trawl {

// A small database in the state directory: a record for each page by a keyed hash of its canonical
// key. Sitemaps are what others write: neither keys nor records grow with what they list.
// Thread-safe.
class SitemapPages {
 public:
  struct Page {
    std::optional<std::chrono::milliseconds> listed_interval;  // by the changefreq of a sitemap
    bool listed = false;                                       // by a sitemap, with a lastmod
    bool fetched = false;  // the members below are those of the last fetch
    std::uint32_t depth = 0;
    std::uint32_t redirects = 0;
    std::string parent;  // empty if it is longer than kMaxParent
    UrlNote note;

    friend bool operator==(const Page&, const Page&) = default;
  };

  static constexpr std::size_t kMaxParent = 4096;

  static std::filesystem::path path(const std::filesystem::path& state_dir) {
    return state_dir / "sitemap-pages";
  }
  // Errors: kInUse, kCorrupt, kUnsupportedVersion, kNoSpace, kIo.
  static Result<std::unique_ptr<SitemapPages>> open(const std::filesystem::path& directory);
  SitemapPages(const SitemapPages&) = delete;
  SitemapPages& operator=(const SitemapPages&) = delete;
  ~SitemapPages();

  // An empty Page if nothing is known. A damaged record counts as none.
  Result<Page> find(std::string_view key) const;
  // A sitemap lists the page, with a lastmod or a changefreq or both. Returns what is known of it.
  // `wanted`: the crawl fetches what is listed so. A page that is not wanted is noted only if it
  // was fetched, having been found in another way.
  Result<Page> note_listed(std::string_view key, bool has_lastmod,
                           std::optional<std::chrono::milliseconds> interval, bool wanted)
      TRAWL_EXCLUDES(changing_);
  // The page was fetched; `page.listed` may add that it is listed. Returns whether it is.
  Result<bool> note_fetched(std::string_view key, Page page) TRAWL_EXCLUDES(changing_);

 private:
  SitemapPages(std::filesystem::path directory, std::unique_ptr<rocksdb::DB> database,
               const KeyedHash& hash);

  Result<Page> read(const Fingerprint& key) const;
  Result<void> write(const Fingerprint& key, const Page& page) TRAWL_REQUIRES(changing_);

  const std::filesystem::path directory_;
  const std::unique_ptr<rocksdb::DB> database_;
  const KeyedHash hash_;
  mutable Mutex changing_;  // reading a record and writing it back
};

}  // namespace trawl
