// What a crawl makes of sitemaps: which ones robots.txt names, and the URLs that one lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "trawl/robots.h"
#include "trawl/sitemap.h"
#include "trawl/url.h"

#include "crawler/decide/url_note.h"

namespace trawl {

// Indexes may name indexes: so many in a row are read.
inline constexpr std::uint32_t kMaxSitemapLevels = 3;
// Of one robots.txt.
inline constexpr std::size_t kMaxSitemapsOfRobots = 100;

// A URL that a sitemap lists. Whether it is in scope is for the caller to say: the sitemap may be
// of another host.
struct SitemapRequest {
  Url url;
  UrlNote::Role role = UrlNote::Role::kPage;
  std::uint32_t level = 0;         // of a sitemap
  std::optional<double> priority;  // of a page, 0 to 1
  std::optional<std::chrono::sys_seconds> last_modified;

  UrlNote note() const;
};

struct SitemapIntake {
  SitemapInfo info;          // what it was, how much of it was read
  std::size_t requests = 0;  // given to `take`
  std::size_t too_deep = 0;  // sitemaps of an index below too many others; not given
};

// Reads the body of a sitemap, compressed or not, and calls `take` with each URL, in order,
// duplicates kept: 50,000 and the next page of a feed at most; `drop` is
// a SitemapReader::OnDropped. `note` is that of the sitemap itself. Takes some megabytes of memory,
// whatever the body holds.
SitemapIntake read_sitemap(std::string_view body, const Url& base, const UrlNote& note,
                           const std::function<void(SitemapRequest&&)>& take,
                           SitemapReader::OnDropped drop = {});

// The sitemaps that a robots.txt names, each once, in order.
std::vector<SitemapRequest> sitemaps_of(const Robots& robots);

}  // namespace trawl
