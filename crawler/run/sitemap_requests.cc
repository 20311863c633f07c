#include "crawler/run/sitemap_requests.h"

#include <algorithm>
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

std::optional<std::chrono::milliseconds> interval_of(ChangeFrequency frequency) {
  using std::chrono::hours;
  switch (frequency) {
    case ChangeFrequency::kAlways:
    case ChangeFrequency::kHourly:
      return hours(1);
    case ChangeFrequency::kDaily:
      return hours(24);
    case ChangeFrequency::kWeekly:
      return hours(24 * 7);
    case ChangeFrequency::kMonthly:
      return hours(24 * 30);
    case ChangeFrequency::kYearly:
      return hours(24 * 365);
    case ChangeFrequency::kNever:
      break;
  }
  return std::nullopt;
}

std::optional<double> implied_priority(const SitemapRequest& request,
                                       std::chrono::sys_seconds now) {
  using std::chrono::hours;
  // Halves of the distance between the usual priority, 0.5, and the highest.
  constexpr double kDay = 0.75, kWeek = 0.625, kMonth = 0.55;
  std::optional<std::chrono::seconds> since;
  if (request.last_modified) since = now - *request.last_modified;
  if (request.change_frequency) {
    const auto interval = interval_of(*request.change_frequency);
    const std::chrono::seconds often =
        interval ? std::chrono::duration_cast<std::chrono::seconds>(*interval) : hours(24 * 365);
    since = since ? std::min(*since, often) : often;
  }
  if (!since) return std::nullopt;
  if (*since <= hours(24)) return kDay;
  if (*since <= hours(24 * 7)) return kWeek;
  if (*since <= hours(24 * 30)) return kMonth;
  return std::nullopt;
}

bool is_changed_since(const SitemapRequest& request, std::chrono::sys_seconds read_at) {
  if (!request.last_modified) return false;
  const auto day = std::chrono::floor<std::chrono::days>(*request.last_modified);
  const bool without_time = *request.last_modified == day;
  return without_time ? day + std::chrono::days(1) > read_at : *request.last_modified > read_at;
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
        if (!is_index) {
          request.priority = entry.priority;
          request.change_frequency = entry.change_frequency;
        }
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
