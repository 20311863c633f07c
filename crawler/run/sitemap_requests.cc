#include "crawler/run/sitemap_requests.h"

#include <string>
#include <unordered_set>
#include <utility>

namespace trawl {

namespace {

SitemapRequest page(Url url) {
  SitemapRequest request;
  request.url = std::move(url);
  return request;
}

SitemapRequest sitemap(Url url, std::uint32_t level) {
  SitemapRequest request = page(std::move(url));
  request.role = UrlNote::Role::kSitemap;
  request.level = level;
  return request;
}

}  // namespace

UrlNote SitemapRequest::note() const {
  UrlNote note;
  note.role = role;
  note.sitemap_level = level;
  note.sitemap_priority = priority;
  return note;
}

SitemapSummary read_sitemap(std::string_view body, const Url& base, const UrlNote& note,
                            const std::function<void(SitemapRequest&&)>& take,
                            SitemapReader::OnDropped drop) {
  SitemapSummary intake;
  const std::uint32_t next_level = note.sitemap_level + 1;
  const bool may_go_deeper = note.sitemap_level < kMaxSitemapLevels;
  const auto give = [&](SitemapRequest&& request) {
    if (request.role == UrlNote::Role::kSitemap && !may_go_deeper) {
      ++intake.too_deep;
      return;
    }
    ++intake.requests;
    take(std::move(request));
  };

  bool is_index = false;
  SitemapOptions options;
  options.max_alternates = 0;
  SitemapReader reader(
      base,
      [&](SitemapEntry&& entry) {
        is_index = is_index || reader.info().kind == SitemapKind::kIndex;
        SitemapRequest request =
            is_index ? sitemap(std::move(entry.url), next_level) : page(std::move(entry.url));
        request.last_modified = entry.last_modified;
        if (!is_index) request.priority = entry.priority;
        give(std::move(request));
      },
      options, std::move(drop));
  reader.feed(body);
  intake.info = reader.finish();
  if (intake.info.next) give(sitemap(*intake.info.next, next_level));
  return intake;
}

std::vector<SitemapRequest> sitemaps_of(const Robots& robots) {
  std::vector<SitemapRequest> requests;
  std::unordered_set<std::string_view> seen;
  for (const std::string& text : robots.sitemaps()) {
    if (requests.size() == kMaxSitemapsOfRobots) break;
    if (!seen.insert(text).second) continue;
    if (auto url = Url::parse(text)) requests.push_back(sitemap(std::move(*url), 0));
  }
  return requests;
}

}  // namespace trawl
