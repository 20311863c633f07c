#include "trawl/sitemap.h"

#include <utility>

namespace trawl {

std::string_view to_string(SitemapKind kind) noexcept {
  switch (kind) {
    case SitemapKind::kUnknown:
      return "unknown";
    case SitemapKind::kUrlSet:
      return "urlset";
    case SitemapKind::kIndex:
      return "index";
    case SitemapKind::kText:
      return "text";
    case SitemapKind::kRss:
      return "rss";
    case SitemapKind::kAtom:
      return "atom";
  }
  return "";
}

std::string_view to_string(ChangeFrequency frequency) noexcept {
  switch (frequency) {
    case ChangeFrequency::kAlways:
      return "always";
    case ChangeFrequency::kHourly:
      return "hourly";
    case ChangeFrequency::kDaily:
      return "daily";
    case ChangeFrequency::kWeekly:
      return "weekly";
    case ChangeFrequency::kMonthly:
      return "monthly";
    case ChangeFrequency::kYearly:
      return "yearly";
    case ChangeFrequency::kNever:
      return "never";
  }
  return "";
}

Sitemap Sitemap::parse(std::string_view bytes, const Url& base, const SitemapOptions& options) {
  Sitemap sitemap;
  SitemapReader reader(
      base, [&sitemap](SitemapEntry&& entry) { sitemap.entries.push_back(std::move(entry)); },
      options);
  reader.feed(bytes);
  static_cast<SitemapInfo&>(sitemap) = reader.finish();
  return sitemap;
}

}  // namespace trawl
