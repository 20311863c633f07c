// The sitemaps that a robots.txt names, and the URLs that a sitemap lists.
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

// How many nested sitemap indexes are read.
inline constexpr std::uint32_t kMaxSitemapLevels = 3;
// How many sitemaps of one robots.txt are read.
inline constexpr std::size_t kMaxSitemapsOfRobots = 100;

// A URL listed in a sitemap. The caller checks the scope: the URL may be on any host.
struct SitemapRequest {
  Url url;
  UrlNote::Role role = UrlNote::Role::kPage;
  std::uint32_t level = 0;         // nesting of a sitemap
  std::optional<double> priority;  // of a page, 0 to 1
  std::optional<std::chrono::sys_seconds> last_modified;
  std::optional<ChangeFrequency> change_frequency;

  UrlNote note() const;
};

// How long after a fetch a page with that changefreq is fetched again; nothing for "never".
std::optional<std::chrono::milliseconds> interval_of(ChangeFrequency frequency);
// The priority of a page whose sitemap gives none: more for one that changed lately, or changes
// often. Nothing if the sitemap says neither.
std::optional<double> implied_priority(const SitemapRequest& request, std::chrono::sys_seconds now);
// Whether a page has changed since the sitemap was read at `read_at`. A lastmod without a time of
// the day means any time of that day.
bool is_changed_since(const SitemapRequest& request, std::chrono::sys_seconds read_at);

struct SitemapSummary {
  SitemapInfo info;          // its kind, and how much was read
  std::size_t requests = 0;  // passed to `take`
  std::size_t too_deep = 0;  // sitemaps nested too deeply; not passed on
};

// Reads the body of a sitemap, compressed or not, and calls `take` with each URL in order,
// including duplicates: at most 50,000, and the next page of a feed. `drop`: a
// SitemapReader::OnDropped. `note`: the note of the sitemap itself. Memory is a few megabytes for
// any body.
SitemapSummary read_sitemap(std::string_view body, const Url& base, const UrlNote& note,
                            const std::function<void(SitemapRequest&&)>& take,
                            SitemapReader::OnDropped drop = {});

// The sitemaps that a robots.txt names, in order, without duplicates.
std::vector<SitemapRequest> sitemaps_of(const Robots& robots);

}  // namespace trawl
