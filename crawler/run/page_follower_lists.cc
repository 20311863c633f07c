// What sitemaps and feeds list.
#include <utility>

#include "trawl/url_groups.h"

#include "crawler/parse/headers/media_type.h"
#include "crawler/run/page_follower.h"

namespace trawl {

namespace {

constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);

SkipReason skip_reason_of(SitemapUrlFault fault) {
  switch (fault) {
    case SitemapUrlFault::kOtherScheme:
      return SkipReason::kOtherScheme;
    case SitemapUrlFault::kTooLong:
      return SkipReason::kTooLong;
    case SitemapUrlFault::kInvalidUrl:
      break;
  }
  return SkipReason::kInvalidUrl;
}

}  // namespace

void PageFollower::follow_sitemap(PageInHand& page) {
  const std::chrono::sys_seconds read_at{
      std::chrono::seconds(static_cast<std::int64_t>(page.note.read_at))};
  const SitemapSummary intake = read_sitemap(
      page.response.body, page.url, page.note,
      [&](SitemapRequest&& request) {
        // Since the sitemap was read before.
        const bool changed = page.note.read_at > 0 && is_changed_since(request, read_at);
        const LinkContext found = listed_in(page, request);
        follow_listed(std::move(request.url), found, changed);
      },
      [&](std::string_view text, SitemapUrlFault fault) {
        links_.skip(text, skip_reason_of(fault));
      });
  page.output.page.links = intake.requests;
  links_.skip_many(SkipReason::kInvalidUrl, intake.info.dropped.no_url);
}

void PageFollower::follow_listed(Url&& url, const LinkContext& found, bool changed) {
  if (context_.sitemap_pages == nullptr || (!found.has_lastmod && !found.listed_interval)) {
    links_.add(std::move(url), found);
    return;
  }
  const bool wanted = context_.rules.decider.decide(url, found.origin).is_fetched();
  auto known = context_.sitemap_pages->note_listed(
      context_.rules.canonicalizer.key(url), found.has_lastmod, found.listed_interval, wanted);
  if (!known) return context_.stop_with(std::move(known.error()));
  if (found.has_lastmod && known->fetched && changed)
    return links_.add_again(std::move(url), *known, found);
  links_.add(std::move(url), found);
}

LinkContext PageFollower::listed_in(const PageInHand& page, const SitemapRequest& request) const {
  const CrawlConfig& config = context_.config;
  const UrlNote& note = page.note;
  const bool is_page = request.role == UrlNote::Role::kPage;
  const bool own_site = politeness_group(request.url) == page.open.lease.host;
  // The pages that crawl.sitemaps list are seeds.
  const std::uint32_t depth = page.open.lease.depth + (is_page && !note.lists_seeds ? 1 : 0);
  LinkContext found{
      .origin = {.depth = depth,
                 .hops_off_scope = note.hops_off_scope,
                 .found = {FoundAs::kSitemap},
                 .seed = note.seed,
                 .sitemap = !is_page,
                 .own_site = own_site,
                 .vouched = !is_page && note.vouched && (own_site || note.lists_seeds)},
      .sitemap_level = request.level,
      .lists_seeds = !is_page && note.lists_seeds,
      .sitemap_priority = request.priority};
  if (!is_page) return found;
  if (note.lists_seeds) found.origin.found.add(FoundAs::kSeed);
  if (!request.priority && config.crawl.order == CrawlOrder::kPriority)
    found.sitemap_priority = implied_priority(request, seconds_of(page.fetched_at));
  if (request.change_frequency && context_.rules.recrawl.recrawls_pages())
    // What never changes is fetched as rarely as recrawl.max_interval allows.
    found.listed_interval = interval_of(*request.change_frequency).value_or(kLongest);
  found.has_lastmod = context_.sitemap_pages != nullptr && config.recrawl.by_sitemap &&
                      request.last_modified.has_value();
  return found;
}

// RSS and Atom: their entries are links.
void PageFollower::follow_feed(PageInHand& page) {
  if (page.unchanged || (page.first_copy && !context_.config.links.from_duplicates)) return;
  if (!page.leads_on) return;
  page.output.page.noindex = page.asked.noindex;
  page.output.page.nofollow = page.asked.nofollow;
  page.output.page.noarchive = page.asked.noarchive;
  const SitemapSummary intake = read_sitemap(
      page.response.body, page.url, {},
      [&](SitemapRequest&& request) {
        Link link;
        link.url = std::move(request.url);
        link.kind = LinkKind::kRelated;
        note_link(page, link);
        links_.add(std::move(link.url), found_on(page, link.kind, page.asked.nofollow));
      },
      [&](std::string_view text, SitemapUrlFault fault) {
        links_.skip(text, skip_reason_of(fault));
      });
  page.output.page.links = intake.requests;
}

bool PageFollower::is_feed(const HttpResponse& response) const {
  if (!context_.config.links.feeds || response.body.empty()) return false;
  return is_feed_media_type(response.content_type) ||
         (is_xml_media_type(response.content_type) && looks_like_feed(response.body));
}

}  // namespace trawl
