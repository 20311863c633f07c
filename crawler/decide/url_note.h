// UrlNote: data that a crawl stores with a URL in the frontier: its origin, and the result of its
// last fetch.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crawler/config/found_as.h"

namespace trawl {

struct UrlNote {
  enum class Role : std::uint8_t { kPage, kSitemap };

  Role role = Role::kPage;
  std::uint32_t sitemap_level = 0;  // for a sitemap: number of indexes between it and robots.txt
  // For a sitemap: named by a crawled site, so that it need not be in scope itself.
  bool vouched = false;
  bool lists_seeds = false;          // for a sitemap: of crawl.sitemaps, or listed by one
  std::uint64_t read_at = 0;         // for a sitemap: its last fetch, in seconds since 1970
  std::uint32_t hops_off_scope = 0;  // consecutive pages out of scope that led here
  FoundKinds found = {FoundAs::kNavigation};
  std::uint32_t requisite_hops = 0;        // of a requisite: how many in a row led here
  std::uint64_t seed = 0;                  // SeedSettings::Id of that from which it was found
  std::optional<double> sitemap_priority;  // 0 to 1; stored in thousandths
  std::optional<std::chrono::milliseconds> listed_interval;  // by the changefreq of a sitemap
  bool style_sheet = false;  // found as one, which needs no Content-Type
  bool has_lastmod = false;  // a sitemap says when it changes: see recrawl.by_sitemap

  // From the last fetch: validators as the server sent them, the digest as in pages.jsonl.
  std::string etag;
  std::string last_modified;
  std::string digest;
  std::optional<std::chrono::milliseconds> interval;  // until the next fetch
  // The WARC record with the body, for revisit records; both empty if there is none.
  std::string first_url;
  std::string first_date;

  friend bool operator==(const UrlNote&, const UrlNote&) = default;

  static constexpr std::size_t kMaxBytes = 4096;  // of an encoded note

  // An empty note takes no bytes. Values that are too long or not valid in a header are left out:
  // the next fetch is then unconditional, or a revisit record names no original.
  std::string encode() const;
  // Returns an empty note for damaged bytes, and for those of a later version.
  static UrlNote decode(std::string_view bytes);
};

// True if `text` can be sent in a request header: printable, and not too long.
bool is_usable_validator(std::string_view text);

}  // namespace trawl
