#include "crawler/run/page_follower.h"

#include <utility>
#include <vector>

#include "trawl/link_header.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/parse/html/meta_refresh_parser.h"
#include "crawler/parse/html/srcset.h"
#include "crawler/parse/requisites.h"
#include "crawler/parse/scripts/url_strings.h"

namespace trawl {

namespace {

constexpr std::size_t kMostCandidates = 100;  // of a link of a Link header

std::string_view to_string(LinksSkipped skipped) {
  switch (skipped) {
    case LinksSkipped::kTooLarge:
      return "links not read: the page is too large";
    case LinksSkipped::kTooDeep:
      return "links not read: the page's elements nest too deeply";
    case LinksSkipped::kTooSlow:
      return "links not read: parsing the page takes too long";
    case LinksSkipped::kUnparsable:
      return "links not read: the parser fails on the page";
    case LinksSkipped::kNo:
      break;
  }
  return "";
}

// Whether a reference that is not an http(s) URL has a scheme of its own.
bool has_other_scheme(std::string_view reference) {
  const auto colon = reference.find_first_of(":/?#");
  if (colon == std::string_view::npos || colon == 0 || reference[colon] != ':') return false;
  const std::string_view scheme = reference.substr(0, colon);
  return !equal_in_any_case(scheme, "http") && !equal_in_any_case(scheme, "https");
}

// A page that is in scope is not a link of a chain of frames.
std::uint32_t hops_of(const PageInHand& page) {
  return page.leads_on ? 0 : page.note.requisite_hops;
}

bool leads_to_pages(const HeaderLink& link) {
  return link.has_rel("canonical") || link.has_rel("next") || link.has_rel("prev") ||
         link.has_rel("alternate") || link.has_rel("amphtml");
}

}  // namespace

void PageFollower::follow(PageInHand& page) {
  const HttpResponse& response = page.response;
  if (page.note.found.has(FoundAs::kGuess)) take_guess(page);
  if (response.is_redirect()) return follow_redirect(page);
  page.leads_on = leads_on(page);
  const bool found = is_2xx(response.status);
  if (found && page.note.role == UrlNote::Role::kSitemap) return follow_sitemap(page);
  const bool is_read = context_.rules.read.has_other(response.content_type, response.status);
  if (is_read && is_style_sheet(page)) return follow_style_sheet(page);
  if (is_read && has_strings(response))
    return follow_strings(page, is_script_media_type(response.content_type));
  if (is_read && is_feed(response)) return follow_feed(page);
  if (found || reader_.is_parsed(response, page.note.found)) follow_page(page);
}

bool PageFollower::has_strings(const HttpResponse& response) const {
  const GuessSources& guess = context_.config.links.guess;
  return (guess.scripts && is_script_media_type(response.content_type)) ||
         (guess.json && is_json_media_type(response.content_type));
}

// If a link was found meanwhile, the page is what that leads to; a later one has it fetched again.
void PageFollower::take_guess(PageInHand& page) {
  const HttpResponse& response = page.response;
  FoundKinds found = page.note.found;
  found.remove(FoundAs::kGuess);
  const bool partly = response.is_redirect() || is_style_sheet(page) || has_strings(response) ||
                      (reader_.is_parsed(response, found) && !leads_on(page));
  if (!context_.guessed.take(context_.rules.canonicalizer.key(page.url), partly)) return;
  page.note.found.remove(FoundAs::kGuess);
  if (page.note.found.empty()) page.note.found.add(FoundAs::kNavigation);
}

void PageFollower::follow_redirect(PageInHand& page) {
  const Lease& lease = page.open.lease;
  auto target = Url::parse(page.response.location, &page.url);
  if (!target) {
    page.output.page.redirect = page.response.location;
    page.outcome.error = "redirect: " + target.error().message;
    const SkipReason reason = has_other_scheme(page.response.location) ? SkipReason::kOtherScheme
                                                                       : SkipReason::kInvalidUrl;
    page.output.page.reason = trawl::to_string(reason);
    return links_.skip(page.response.location, reason);
  }
  page.output.page.redirect = target->href();
  if (lease.redirects >= context_.config.fetch.max_redirects) {
    page.outcome.error = "redirect: more than fetch.max_redirects in a row";
    page.output.page.reason = trawl::to_string(SkipReason::kTooManyRedirects);
  }
  // A redirect counts as the page that it leads to: same depth, same distance from the scope.
  const std::uint32_t hops = page.note.hops_off_scope;
  // A target that differs only by its spelling, or by a cookie set with the redirect, has the key
  // of this URL, and the frontier would call it seen.
  const bool may_differ = target->href_without_fragment() != page.url.href_without_fragment() ||
                          context_.rules.requests.for_url(page.url).cookies;
  const bool itself = may_differ && is_same_page(*target, page.url);
  const bool own_site = politeness_group(*target) == lease.host;
  FoundKinds found = UrlOrigin::of(lease.depth, lease.redirects, page.note).found;
  found.add(FoundAs::kRedirect);
  const UrlOrigin origin{.depth = lease.depth,
                         .hops_off_scope = hops > 0 ? hops - 1 : 0,
                         .redirects = lease.redirects + 1,
                         .found = found,
                         .seed = page.note.seed,
                         .requisite_hops = page.note.requisite_hops,
                         .sitemap = page.note.role == UrlNote::Role::kSitemap,
                         .own_site = own_site,
                         .vouched = page.note.vouched};
  follow_as_seed(page, *target, origin);
  // What a sitemap says of this URL is meant for what it leads to.
  const LinkContext context{.origin = origin,
                            .sitemap_level = page.note.sitemap_level,
                            .lists_seeds = page.note.lists_seeds,
                            .sitemap_priority = page.note.sitemap_priority,
                            .listed_interval = page.note.listed_interval,
                            .has_lastmod = page.note.has_lastmod,
                            .style_sheet = page.note.style_sheet,
                            .again = itself};
  if (lease.recrawl && page.note.has_lastmod && !itself)
    return follow_listed(std::move(*target), context, true);
  links_.add(std::move(*target), context);
}

// The target of a seed's redirect is a seed too: what belongs to it joins the scope.
void PageFollower::follow_as_seed(const PageInHand& page, const Url& target,
                                  const UrlOrigin& origin) {
  if (!page.outcome.seed || page.note.hops_off_scope > 0) return;
  const UrlVerdict verdict = context_.rules.decider.decide(target, origin);
  if (verdict.reason != SkipReason::kOutOfScope && !verdict.off_scope) return;
  if (auto added = context_.seed_redirects.add(page.url, target); !added)
    context_.stop_with(std::move(added.error()));
}

void PageFollower::follow_page(PageInHand& page) {
  PageRecord& record = page.output.page;
  const HttpResponse& response = page.response;
  RobotsDirectives directives = page.asked;
  bool parsed = reader_.is_parsed(response, page.note.found) && !page.unchanged;
  if (page.first_copy && !context_.config.links.from_duplicates) parsed = false;
  page.parsed = parsed;
  if (parsed) {
    PageLinks& found = reader_.links(page.url, response, page.read);
    if (found.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found.skipped);
    record.links = found.links.size() + found.repeated;
    if (found.canonical) record.canonical = found.canonical->href_without_fragment();
    record.title = found.title;
    record.language = found.language;
    if (record.text) *record.text = std::move(found.text);
  }
  const bool nofollow = directives.nofollow;  // of the links, the page's own are in Link::follow
  // What is kept depends on them, even if its links are known.
  const CrawlConfig::Output& kept = context_.config.output;
  const bool asks = (kept.respect_noarchive || kept.respect_noindex) &&
                    reader_.is_parsed(response, page.note.found);
  if (parsed || asks) directives |= reader_.links(page.url, response, page.read).robots;
  record.noindex = directives.noindex;
  record.nofollow = directives.nofollow;
  record.noarchive = directives.noarchive;
  if (!response.link.empty()) follow_header_links(page, nofollow);
  if (!response.refresh.empty()) follow_refresh(page, nofollow);
  if (!parsed) return;
  skip_dropped(page.read.links);
  follow_links(page, nofollow);
}

void PageFollower::follow_links(PageInHand& page, bool nofollow) {
  if (is_idle_guess(page)) return;
  const CrawlConfig::Links& config = context_.config.links;
  const bool all = stands_for_itself(page);
  const std::vector<Link>& links = page.read.links.links;
  const auto leads_to = [&](const Link& link) {
    return page.leads_on && (all || link.url.href_without_fragment() == page.output.page.canonical);
  };
  // Most links of a page were offered before. Their gists show that, so that what else there is to
  // know of them, which another thread may have written, is not looked at.
  const LinkContext usual = found_on(page, LinkKind::kNavigation, nofollow);
  const bool by_gist =
      all && page.leads_on && !config.requisites && !inputs_.links && links_.is_ordinary(usual);
  bool has_guesses = false;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (by_gist && links_.leaves_out(page.read.gists, i, usual.origin)) continue;
    const Link& link = links[i];
    const bool is_link = leads_to(link);
    const bool stops = nofollow || !link.follow;
    if (link.kind == LinkKind::kGuess) {
      has_guesses = true;
    } else if (config.requisites && is_requisite(link)) {
      note_link(page, link);
      links_.add_requisite(link.url, page.read.gists[i].hash, loaded_by(page, link, stops),
                           hops_of(page), is_link && config.kinds.has(link.kind));
    } else if (is_link && (!config.requisites || config.kinds.has(link.kind))) {
      note_link(page, link);
      links_.add(link.url, page.read.gists[i].hash, linked_on(page, link, stops));
    }
  }
  // What is a link, too, is not a guess.
  for (std::size_t i = 0; has_guesses && i < links.size(); ++i) {
    if (links[i].kind == LinkKind::kGuess)
      follow_guess(page, i, nofollow || !links[i].follow, leads_to(links[i]));
  }
}

// A guess in scope is fetched; elsewhere only if it is named like what a page is made of.
void PageFollower::follow_guess(PageInHand& page, std::size_t i, bool nofollow, bool is_link) {
  const Link& link = page.read.links.links[i];
  const Fingerprint& hash = page.read.gists[i].hash;
  context_.fetches.add_guesses(link.times);
  page.output.page.guesses += link.times;
  note_link(page, link);
  const LinkContext found = linked_on(page, link, nofollow);
  if (context_.config.links.requisites && is_named_as_requisite(link.url.path())) {
    links_.add_requisite(link.url, hash, found, hops_of(page), is_link);
  } else if (is_link) {
    links_.add(link.url, hash, found);
  }
}

// Scripts and JSON that are files. A browser resolves the URLs of a script against the page.
void PageFollower::follow_strings(PageInHand& page, bool is_script) {
  if (page.unchanged || page.note.found.has(FoundAs::kGuess)) return;
  if (!is_script && !page.leads_on) return;
  const auto parent = is_script && !page.open.lease.parent.empty()
                          ? Url::parse(page.open.lease.parent)
                          : Result<Url>(page.url);
  const PageLinks& found = reader_.strings(parent ? *parent : page.url, page.response, page.read);
  if (found.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found.skipped);
  page.output.page.links = found.links.size();
  // What a script loads belongs to the page that the script belongs to.
  for (std::size_t i = 0; i < found.links.size(); ++i)
    follow_guess(page, i, false, true);
}

// Whether its links are followed: not those of a requisite, unless it is a page in scope, too, and
// not those of a guess that is none.
bool PageFollower::leads_on(const PageInHand& page) const {
  constexpr int kOk = 200;
  const bool is_guess = page.note.found.has(FoundAs::kGuess);
  if (is_guess && (page.response.status != kOk || page.note.hops_off_scope > 0)) return false;
  if (page.note.requisite_hops == 0) return true;
  UrlOrigin origin = UrlOrigin::of(page.open.lease.depth, page.open.lease.redirects, page.note);
  origin.requisite_hops = 0;
  const UrlVerdict verdict = context_.rules.decider.decide(page.url, origin);
  return verdict.is_fetched() && !verdict.off_scope;
}

// What an unlucky guess loads is not a part of any page.
bool PageFollower::is_idle_guess(const PageInHand& page) {
  return page.note.found.has(FoundAs::kGuess) && !page.leads_on;
}

// Browsers use a style sheet also if no type is given that could be another one.
bool PageFollower::is_style_sheet(const PageInHand& page) const {
  const HttpResponse& response = page.response;
  if (!context_.config.links.requisites) return false;
  if (is_css_media_type(response.content_type)) return true;
  return page.note.style_sheet && !response.nosniff && has_no_media_type(response.content_type);
}

// A style sheet is read only for what it loads. That of a guess is not a page.
void PageFollower::follow_style_sheet(PageInHand& page) {
  if (page.unchanged || page.note.found.has(FoundAs::kGuess)) return;
  const PageLinks& found = reader_.style_sheet(page.url, page.response, page.read);
  if (found.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found.skipped);
  page.output.page.links = found.links.size();
  skip_dropped(found);
  for (std::size_t i = 0; i < found.links.size(); ++i) {
    const Link& link = found.links[i];
    note_link(page, link);
    links_.add_requisite(link.url, page.read.gists[i].hash, loaded_by(page, link, false),
                         page.note.requisite_hops, context_.config.links.kinds.has(link.kind));
  }
}

// References that are not http(s) URLs.
void PageFollower::skip_dropped(const PageLinks& found) {
  if (!inputs_.skipped) {
    links_.skip_many(SkipReason::kInvalidUrl, found.invalid);
    links_.skip_many(SkipReason::kOtherScheme, found.other_scheme);
    return;
  }
  for (const DroppedLink& link : found.dropped) {
    links_.skip(link.text, link.other_scheme ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
}

void PageFollower::follow_header_links(PageInHand& page, bool nofollow) {
  const CrawlConfig::Links& config = context_.config.links;
  const bool wanted = config.kinds.has(LinkKind::kRelated) && page.leads_on;
  std::vector<DroppedHeaderLink> dropped;
  for (HeaderLink& link : parse_link_header(page.response.link, page.url, &dropped)) {
    if (link.has_rel("canonical") && page.output.page.canonical.empty())
      page.output.page.canonical = link.url.href_without_fragment();
    if (!leads_to_pages(link)) {
      if (config.requisites && !is_idle_guess(page)) follow_header_requisite(page, link);
      continue;
    }
    if (!wanted) continue;
    ++page.output.page.links;
    const bool follow = !link.has_rel("nofollow");
    Link found;
    found.url = std::move(link.url);
    found.kind = LinkKind::kRelated;
    found.follow = follow;
    found.rel = std::move(link.rel);
    note_link(page, found);
    links_.add(std::move(found.url), found_on(page, found.kind, nofollow || !follow));
  }
  for (const DroppedHeaderLink& each : dropped) {
    if (!wanted || !leads_to_pages(each.link)) continue;
    links_.skip(each.text, each.other_scheme ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
}

// What the Link header lets a browser load: style sheets, icons, preloads.
void PageFollower::follow_header_requisite(PageInHand& page, const HeaderLink& link) {
  Link found;
  found.url = link.url;
  found.kind = LinkKind::kResource;
  found.element = "link";
  found.rel = link.rel;
  if (!is_requisite(found)) return;
  const auto add = [&] {
    ++page.output.page.links;
    note_link(page, found);
    links_.add_requisite(std::move(found.url), loaded_by(page, found, false), hops_of(page), false);
  };
  add();
  Srcset candidates(link.imagesrcset);
  for (std::size_t n = 0; n < kMostCandidates; ++n) {
    const auto candidate = candidates.next();
    if (!candidate) return;
    auto url = Url::parse(*candidate, &page.url);
    if (!url) continue;
    found.url = *std::move(url);
    add();
  }
}

// The Refresh header, which means the same as <meta http-equiv=refresh>.
void PageFollower::follow_refresh(PageInHand& page, bool nofollow) {
  if (!context_.config.links.kinds.has(LinkKind::kRefresh) || !page.leads_on) return;
  const auto refresh = parse_meta_refresh(page.response.refresh);
  if (!refresh || refresh->url.empty()) return;
  auto url = Url::parse(refresh->url, &page.url);
  if (!url) {
    const bool other = has_other_scheme(refresh->url);
    return links_.skip(refresh->url, other ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
  ++page.output.page.links;
  Link found;
  found.url = *std::move(url);
  found.kind = LinkKind::kRefresh;
  note_link(page, found);
  links_.add(std::move(found.url), found_on(page, found.kind, nofollow));
}

LinkContext PageFollower::found_on(const PageInHand& page, LinkKind kind, bool nofollow) {
  return {.origin = {.depth = page.open.lease.depth + 1,
                     .hops_off_scope = page.note.hops_off_scope,
                     .found = {found_as(kind)},
                     .seed = page.note.seed,
                     .nofollow = nofollow}};
}

LinkContext PageFollower::linked_on(const PageInHand& page, const Link& link, bool nofollow) {
  LinkContext found = found_on(page, link.kind, nofollow);
  found.times = link.times;
  return found;
}

LinkContext PageFollower::loaded_by(const PageInHand& page, const Link& link, bool nofollow) {
  LinkContext found = linked_on(page, link, nofollow);
  found.style_sheet = loads_style_sheet(link);
  return found;
}

// Links for the sinks that take them.
void PageFollower::note_link(PageInHand& page, const Link& link) {
  if (!inputs_.links) return;
  LinkRecord record;
  record.to = link.url.href_without_fragment();
  record.kind = to_string(link.kind);
  record.text = link.text;
  record.rel = link.rel;
  context_.output.sinks().add_link(page.output, page.open.lease.url, record);
}

bool PageFollower::is_same_page(const Url& one, const Url& other) const {
  const Canonicalizer& canonicalizer = context_.rules.canonicalizer;
  return canonicalizer.key(one) == canonicalizer.key(other);
}

// With links.canonical = "key", a page that names another URL as canonical is followed only to that
// URL, if that URL may be followed.
bool PageFollower::stands_for_itself(const PageInHand& page) const {
  const std::string& canonical = page.output.page.canonical;
  if (context_.config.links.canonical != CanonicalLinks::kKey || canonical.empty()) return true;
  const auto other = Url::parse(canonical);
  return !other || is_same_page(*other, page.url) ||
         !context_.rules.decider.decide(*other, found_on(page, LinkKind::kRelated, false).origin)
              .is_fetched();
}

}  // namespace trawl
