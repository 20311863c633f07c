#include "crawler/run/page_handler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "trawl/link_header.h"
#include "trawl/robots_directives.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "crawler/decide/url_shape.h"
#include "crawler/log/room_log.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/parse/html/meta_refresh_parser.h"
#include "crawler/parse/requisites.h"
#include "crawler/parse/url_strings.h"
#include "crawler/run/fetch_failure.h"
#include "crawler/run/sitemap_requests.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxPageText = 1u << 20;

std::chrono::sys_seconds seconds_of(SystemTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

bool is_2xx(int status) {
  return status >= 200 && status < 300;
}

// The content type; sniffed from the body if the header does not give it.
std::string_view content_type_of(const HttpResponse& response) {
  const bool is_sniffed = is_unknown_media_type(response.content_type) && !response.nosniff;
  if (is_sniffed && looks_like_html(response.body)) return "text/html";
  return response.content_type;
}

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

LinkOptions link_options(const CrawlContext& context) {
  const CrawlConfig& config = context.config;
  LinkOptions options;
  options.kinds = config.links.kinds;
  if (config.links.requisites) {
    options.kinds |= {LinkKind::kResource, LinkKind::kDocument};
    options.requisites = true;
    options.lazy_images = config.links.lazy_images;
  }
  if (config.links.guess.any()) options.kinds |= {LinkKind::kGuess};
  options.guess_scripts = config.links.guess.scripts;
  options.guess_json = config.links.guess.json;
  options.engine = config.links.engine;
  options.agent = context.robots_agent;
  options.max_bytes = std::max<std::size_t>(options.max_bytes, config.fetch.max_body);
  const SinkInputs inputs = context.output.sinks().inputs();
  options.texts = inputs.links;
  options.dropped = inputs.skipped;
  if (config.output.text && config.output.pages) options.max_text = kMaxPageText;
  return options;
}

// Whether a reference that is not an http(s) URL has a scheme of its own.
bool has_other_scheme(std::string_view reference) {
  const auto colon = reference.find_first_of(":/?#");
  if (colon == std::string_view::npos || colon == 0 || reference[colon] != ':') return false;
  const std::string_view scheme = reference.substr(0, colon);
  return !equal_in_any_case(scheme, "http") && !equal_in_any_case(scheme, "https");
}

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

bool leads_to_pages(const HeaderLink& link) {
  return link.has_rel("canonical") || link.has_rel("next") || link.has_rel("prev") ||
         link.has_rel("alternate") || link.has_rel("amphtml");
}

// The body as received: archives keep it, and digests are computed from it.
std::string_view payload_of(const HttpResponse& response) {
  return response.encoded_body.empty() ? response.body : response.encoded_body;
}

WarcExchange exchange_of(std::string_view url, const HttpResponse& response) {
  WarcExchange exchange;
  exchange.url = url;
  exchange.ip = response.address;
  exchange.request_head = response.request_head;
  exchange.response_head = response.response_head;
  exchange.payload = payload_of(response);
  exchange.truncated = trawl::to_string(response.cut);
  exchange.status = response.status;
  exchange.protocol = response.protocol;
  exchange.date = response.sent_at;
  exchange.elapsed = response.elapsed;
  return exchange;
}

}  // namespace

PageHandler::PageHandler(CrawlContext& context)
    : context_(context),
      extractor_(link_options(context)),
      traps_(context.config.scope),
      follower_(context, traps_),
      inputs_(context.output.sinks().inputs()),
      encoders_(context.output.sinks().encoders()),
      digest_(context.config.output) {
  for (const std::string& pattern : context.parked_patterns.before())
    traps_.park_again(pattern);
}

PageHandler::Result PageHandler::handle(const OpenLease& open, const Url& url, HttpResponse newest,
                                        bool host_doubted) {
  thread_.check();
  Result result;
  result.failure = failure_reason_of(newest);
  if (result.failure && newest.retry_after.count() > 0)
    result.retry_after = std::min<std::chrono::milliseconds>(
        newest.retry_after, context_.config.politeness.max_retry_after);
  result.outcome = {.requested = !failed_before_request(newest.failure) && !host_doubted,
                    .response_time = newest.response_time,
                    .address = newest.address};
  Answer answer = choose_answer(open, result, std::move(newest));
  HttpResponse& response = answer.response;
  result.output = std::make_shared<PageOutput>();
  PageOutput& output = *result.output;
  PageRecord& record = output.page;
  record.content_type = response.content_type;
  record.bytes = response.body.size();
  record.fetched_at = answer.fetched_at;
  record.elapsed = response.elapsed;
  record.reason = trawl::to_string(response.failure);
  record.etag = response.etag;
  record.last_modified = response.last_modified;
  if (extractor_.options().max_text > 0) record.text.emplace();
  // A body that was cut because its type is not wanted is not a failure.
  const bool unwanted = response.failure == FetchError::kUnwantedType;
  result.outcome.status = response.status;
  if (!unwanted) result.outcome.error = response.error;
  result.outcome.reason = trawl::to_string(response.failure);
  follower_.begin(open.lease.url, &output);
  if (result.failure && result.outcome.error.empty())
    result.outcome.error = "status " + std::to_string(response.status);
  Page page{.open = open,
            .url = url,
            .response = response,
            .fetched_at = answer.fetched_at,
            .note = UrlNote::decode(open.lease.note),
            .output = output,
            .outcome = result.outcome};
  if (const auto* seed = context_.rules.decider.seeds().find(page.note.seed))
    record.seed_note = seed->note;
  result.outcome.seed = open.lease.depth == 0 && page.note.role == UrlNote::Role::kPage;
  result.truncated = answer.last && response.cut;
  if (result.truncated) {
    // The digest of a part does not identify the page.
    record.truncated = trawl::to_string(response.cut);
    follow(page);
  } else if (!result.failure && !response.failure) {
    read(page);
    follow(page);
  }
  if (answer.last && (result.truncated || !response.failure)) add_exchange(page);
  plan_recrawl(page);
  if (answer.last) {
    if (keeps_body(page, result))
      context_.output.sinks().add_body(output, std::move(response.body));
    output.charge = std::move(response.charge);
    output.charge.shrink_to(output.memory());
  } else if (response.cut) {
    context_.truncated_responses.keep(open.lease.url, {std::move(response), answer.fetched_at});
  }
  return result;
}

// If a URL is fetched again, its last answer counts. If that one failed too, and an earlier answer
// had the longest body that was cut off, the earlier one counts.
PageHandler::Answer PageHandler::choose_answer(const OpenLease& open, const Result& result,
                                               HttpResponse response) {
  const bool tries_are_used_up =
      result.outcome.requested && open.lease.attempts >= context_.config.politeness.retries;
  Answer answer{std::move(response), open.wall_time, !result.failure || tries_are_used_up};
  if (!answer.last || open.lease.attempts == 0) return answer;
  auto kept = context_.truncated_responses.take(open.lease.url);
  const std::optional<FetchError> failure = answer.response.failure;
  const bool failed = result.failure || (failure && failure != FetchError::kUnwantedType &&
                                         failure != FetchError::kAddressRefused);
  if (!kept || !failed) return answer;
  const bool is_longer =
      !answer.response.cut || kept->response.body.size() > answer.response.body.size();
  if (is_longer) answer = {std::move(kept->response), kept->fetched_at};
  return answer;
}

bool PageHandler::wants_part(UrlNote::Role role, const HttpResponse& head) const {
  if (role == UrlNote::Role::kSitemap) return true;
  const CrawlRules& rules = context_.rules;
  if ((inputs_.exchanges || inputs_.bodies) && rules.kept.has(head.content_type, head.status))
    return true;
  return rules.read.may_have(head.content_type, head.status);
}

PageHandler::Result PageHandler::give_up(const OpenLease& open, std::string_view error,
                                         std::string_view reason) {
  thread_.check();
  Result result;
  result.output = std::make_shared<PageOutput>();
  result.output->page.fetched_at = open.wall_time;
  if (extractor_.options().max_text > 0) result.output->page.text.emplace();
  result.output->page.reason = reason;
  result.outcome.error = error;
  result.outcome.reason = reason;
  follower_.begin(open.lease.url, result.output.get());
  if (open.lease.recrawl) {
    // A page that existed once is requested again.
    const UrlNote note = UrlNote::decode(open.lease.note);
    const RecrawlPolicy& policy = context_.rules.recrawl;
    const bool was_page = !note.digest.empty() || note.interval;
    const auto interval =
        was_page
            ? policy.next_interval(open.lease.url, RecrawlPolicy::Change::kFailed, note.interval)
            : policy.failed_interval();
    if (interval) result.outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
  }
  return result;
}

// Compares the body with earlier ones: unchanged, a duplicate, or new.
void PageHandler::read(Page& page) {
  const HttpResponse& response = page.response;
  if (response.status == 304 && page.open.lease.recrawl) {  // else nobody asked for it
    page.output.page.digest = page.note.digest;
    page.unchanged = true;
    context_.fetches.add_not_modified();
    return;
  }
  const std::string_view payload = payload_of(response);
  if (payload.empty()) return;
  page.output.page.digest = digest_(payload);
  if (!is_2xx(response.status)) return;
  page.unchanged = page.open.lease.recrawl && page.output.page.digest == page.note.digest;
  if (!page.unchanged)
    page.first_copy = context_.output.find_duplicate(page.output.page.digest, page.open.lease.url);
  // An old page that is unchanged is not a sign of a trap.
  if (!page.unchanged) watch_for_traps(page);
}

void PageHandler::watch_for_traps(const Page& page) {
  const std::uint64_t slowed = traps_.slowed();
  const std::uint64_t parked = traps_.parked();
  traps_.on_page(page.url, !page.first_copy);
  const CrawlConfig::Scope& scope = context_.config.scope;
  if (traps_.parked() > parked) {
    if (auto kept = context_.parked_patterns.add(url_pattern_of(page.url)); !kept)
      context_.stop_with(std::move(kept.error()));
    room_log(LogRoom::kLinks)
        .warn("{}: left alone with all URLs of its pattern: {} pages of it brought nothing new",
              without_credentials(page.url.href()), scope.park_pattern_after);
  } else if (traps_.slowed() > slowed) {
    room_log(LogRoom::kLinks)
        .info("{}: URLs of its pattern wait behind others: {} pages of it brought nothing new",
              without_credentials(page.url.href()), scope.slow_pattern_after);
  }
}

void PageHandler::follow(Page& page) {
  const HttpResponse& response = page.response;
  if (response.is_redirect()) return follow_redirect(page);
  const bool found = is_2xx(response.status);
  if (found && page.note.role == UrlNote::Role::kSitemap) return follow_sitemap(page);
  if (found && context_.config.links.requisites && is_css_media_type(response.content_type))
    return follow_style_sheet(page);
  const GuessSources& guess = context_.config.links.guess;
  const bool is_script = guess.scripts && is_script_media_type(response.content_type);
  if (found && (is_script || (guess.json && is_json_media_type(response.content_type))))
    return follow_strings(page, is_script);
  if (found && is_feed(response)) return follow_feed(page);
  if (found || is_parsed(response)) follow_page(page);
}

void PageHandler::follow_redirect(Page& page) {
  const Lease& lease = page.open.lease;
  auto target = Url::parse(page.response.location, &page.url);
  if (!target) {
    page.output.page.redirect = page.response.location;
    page.outcome.error = "redirect: " + target.error().message;
    const SkipReason reason = has_other_scheme(page.response.location) ? SkipReason::kOtherScheme
                                                                       : SkipReason::kInvalidUrl;
    page.output.page.reason = trawl::to_string(reason);
    return follower_.skip(page.response.location, reason);
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
  follower_.add(std::move(*target), {.origin = origin,
                                     .sitemap_level = page.note.sitemap_level,
                                     .lists_seeds = page.note.lists_seeds,
                                     .again = itself});
}

// The target of a seed's redirect is a seed too: what belongs to it joins the scope.
void PageHandler::follow_as_seed(const Page& page, const Url& target, const UrlOrigin& origin) {
  if (!page.outcome.seed || page.note.hops_off_scope > 0) return;
  const UrlVerdict verdict = context_.rules.decider.decide(target, origin);
  if (verdict.reason != SkipReason::kOutOfScope && !verdict.off_scope) return;
  if (auto added = context_.seed_redirects.add(page.url, target); !added)
    context_.stop_with(std::move(added.error()));
}

void PageHandler::follow_sitemap(Page& page) {
  const SitemapSummary intake = read_sitemap(
      page.response.body, page.url, page.note,
      [&](SitemapRequest&& request) {
        const LinkContext found = listed_in(page, request);
        follower_.add(std::move(request.url), found);
      },
      [&](std::string_view text, SitemapUrlFault fault) {
        follower_.skip(text, skip_reason_of(fault));
      });
  page.output.page.links = intake.requests;
  follower_.skip_many(SkipReason::kInvalidUrl, intake.info.dropped.no_url);
}

LinkContext PageHandler::listed_in(const Page& page, const SitemapRequest& request) const {
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
    found.listed_interval = interval_of(*request.change_frequency);
  if (config.recrawl.by_sitemap) {
    found.has_lastmod = request.last_modified.has_value();
    const std::chrono::sys_seconds read_at{
        std::chrono::seconds(static_cast<std::int64_t>(note.read_at))};
    found.again = note.read_at > 0 && is_changed_since(request, read_at);
  }
  return found;
}

// RSS and Atom: their entries are links.
void PageHandler::follow_feed(Page& page) {
  if (page.unchanged || (page.first_copy && !context_.config.links.from_duplicates)) return;
  RobotsDirectives directives;
  if (!page.response.x_robots_tag.empty())
    directives = parse_x_robots_tag(page.response.x_robots_tag, context_.robots_agent);
  page.output.page.noindex = directives.noindex;
  page.output.page.nofollow = directives.nofollow;
  page.output.page.noarchive = directives.noarchive;
  const SitemapSummary intake = read_sitemap(
      page.response.body, page.url, {},
      [&](SitemapRequest&& request) {
        Link link;
        link.url = std::move(request.url);
        link.kind = LinkKind::kRelated;
        note_link(page, link);
        follower_.add(std::move(link.url), found_on(page, link.kind, directives.nofollow));
      },
      [&](std::string_view text, SitemapUrlFault fault) {
        follower_.skip(text, skip_reason_of(fault));
      });
  page.output.page.links = intake.requests;
}

bool PageHandler::is_feed(const HttpResponse& response) const {
  if (!context_.config.links.feeds || response.body.empty()) return false;
  return is_feed_media_type(response.content_type) ||
         (is_xml_media_type(response.content_type) && looks_like_feed(response.body));
}

void PageHandler::follow_page(Page& page) {
  PageRecord& record = page.output.page;
  const HttpResponse& response = page.response;
  RobotsDirectives directives;
  if (!response.x_robots_tag.empty())
    directives = parse_x_robots_tag(response.x_robots_tag, context_.robots_agent);
  bool parsed = is_parsed(response) && !page.unchanged;
  if (page.first_copy && !context_.config.links.from_duplicates) parsed = false;
  page.parsed = parsed;
  if (parsed) {
    extractor_.extract_into(response.body, response.content_type, page.url, found_);
    if (found_.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found_.skipped);
    record.links = found_.links.size();
    if (found_.canonical) record.canonical = found_.canonical->href_without_fragment();
    record.title = found_.title;
    record.language = found_.language;
    if (record.text) *record.text = std::move(found_.text);
  }
  const bool nofollow = directives.nofollow;  // of the links, the page's own are in Link::follow
  if (parsed) directives |= found_.robots;
  record.noindex = directives.noindex;
  record.nofollow = directives.nofollow;
  record.noarchive = directives.noarchive;
  if (!response.link.empty()) follow_header_links(page, nofollow);
  if (!response.refresh.empty()) follow_refresh(page, nofollow);
  if (!parsed) return;
  skip_dropped();
  follow_links(page, nofollow);
}

void PageHandler::follow_links(Page& page, bool nofollow) {
  const CrawlConfig::Links& config = context_.config.links;
  const bool all = stands_for_itself(page);
  const bool follows = follows_links(page);
  for (const Link& link : found_.links) {
    const bool is_link =
        follows && (all || link.url.href_without_fragment() == page.output.page.canonical);
    if (link.kind == LinkKind::kGuess) {
      follow_guess(page, link, nofollow || !link.follow, is_link);
      continue;
    }
    if (!config.requisites) {
      if (is_link) follow_link(page, link, nofollow);
      continue;
    }
    const bool is_followed = is_link && config.kinds.has(link.kind);
    if (is_requisite(link)) {
      note_link(page, link);
      follower_.add_requisite(link.url, found_on(page, link.kind, nofollow || !link.follow),
                              page.note.requisite_hops, is_followed);
    } else if (is_followed) {
      follow_link(page, link, nofollow);
    }
  }
}

// A guess in scope is fetched; elsewhere only if it is named like what a page is made of.
void PageHandler::follow_guess(Page& page, const Link& link, bool nofollow, bool is_link) {
  context_.fetches.add_guess();
  ++page.output.page.guesses;
  note_link(page, link);
  const LinkContext found = found_on(page, link.kind, nofollow);
  if (context_.config.links.requisites && is_named_as_requisite(link.url.path())) {
    follower_.add_requisite(link.url, found, page.note.requisite_hops, is_link);
  } else if (is_link) {
    follower_.add(link.url, found);
  }
}

// Scripts and JSON that are files. A browser resolves the URLs of a script against the page.
void PageHandler::follow_strings(Page& page, bool is_script) {
  if (page.unchanged) return;
  if (!scripts_) scripts_.emplace(extractor_.options().max_bytes);
  const auto parent = is_script && !page.open.lease.parent.empty()
                          ? Url::parse(page.open.lease.parent)
                          : trawl::Result<Url>(page.url);
  scripts_->read_into(page.response.body, parent ? *parent : page.url, found_);
  if (found_.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found_.skipped);
  page.output.page.links = found_.links.size();
  // What a script loads belongs to the page that the script belongs to.
  for (const Link& link : found_.links)
    follow_guess(page, link, false, true);
}

// Not those of a requisite, unless it is a page in scope, too, and not those of a guess that is
// none.
bool PageHandler::follows_links(const Page& page) const {
  constexpr int kOk = 200;
  if (page.note.found.has(FoundAs::kGuess) && page.response.status != kOk) return false;
  if (page.note.requisite_hops == 0) return true;
  UrlOrigin origin = UrlOrigin::of(page.open.lease.depth, page.open.lease.redirects, page.note);
  origin.requisite_hops = 0;
  return context_.rules.decider.decide(page.url, origin).is_fetched();
}

// A style sheet is read only for what it loads.
void PageHandler::follow_style_sheet(Page& page) {
  if (page.unchanged) return;
  if (!style_sheets_) style_sheets_.emplace(extractor_.options());
  style_sheets_->read_into(page.response.body, page.response.content_type, page.url, found_);
  if (found_.skipped != LinksSkipped::kNo) page.outcome.error = to_string(found_.skipped);
  page.output.page.links = found_.links.size();
  skip_dropped();
  for (const Link& link : found_.links) {
    note_link(page, link);
    follower_.add_requisite(link.url, found_on(page, link.kind, false), page.note.requisite_hops,
                            context_.config.links.kinds.has(link.kind));
  }
}

// References that are not http(s) URLs.
void PageHandler::skip_dropped() {
  if (!inputs_.skipped) {
    follower_.skip_many(SkipReason::kInvalidUrl, found_.invalid);
    follower_.skip_many(SkipReason::kOtherScheme, found_.other_scheme);
    return;
  }
  for (const DroppedLink& link : found_.dropped) {
    follower_.skip(link.text,
                   link.other_scheme ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
}

void PageHandler::follow_header_links(Page& page, bool nofollow) {
  const CrawlConfig::Links& config = context_.config.links;
  const bool wanted = config.kinds.has(LinkKind::kRelated) && follows_links(page);
  std::vector<DroppedHeaderLink> dropped;
  for (HeaderLink& link : parse_link_header(page.response.link, page.url, &dropped)) {
    if (link.has_rel("canonical") && page.output.page.canonical.empty())
      page.output.page.canonical = link.url.href_without_fragment();
    if (!leads_to_pages(link)) {
      if (config.requisites) follow_header_requisite(page, link);
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
    follower_.add(std::move(found.url), found_on(page, found.kind, nofollow || !follow));
  }
  for (const DroppedHeaderLink& each : dropped) {
    if (!wanted || !leads_to_pages(each.link)) continue;
    follower_.skip(each.text,
                   each.other_scheme ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
}

// What the Link header lets a browser load: style sheets, icons, preloads.
void PageHandler::follow_header_requisite(Page& page, const HeaderLink& link) {
  Link found;
  found.url = link.url;
  found.kind = LinkKind::kResource;
  found.element = "link";
  found.rel = link.rel;
  if (!is_requisite(found)) return;
  ++page.output.page.links;
  note_link(page, found);
  follower_.add_requisite(found.url, found_on(page, found.kind, false), page.note.requisite_hops,
                          false);
}

// The Refresh header, which means the same as <meta http-equiv=refresh>.
void PageHandler::follow_refresh(Page& page, bool nofollow) {
  if (!context_.config.links.kinds.has(LinkKind::kRefresh) || !follows_links(page)) return;
  const auto refresh = parse_meta_refresh(page.response.refresh);
  if (!refresh || refresh->url.empty()) return;
  auto url = Url::parse(refresh->url, &page.url);
  if (!url) {
    const bool other = has_other_scheme(refresh->url);
    return follower_.skip(refresh->url, other ? SkipReason::kOtherScheme : SkipReason::kInvalidUrl);
  }
  ++page.output.page.links;
  Link found;
  found.url = *std::move(url);
  found.kind = LinkKind::kRefresh;
  note_link(page, found);
  follower_.add(std::move(found.url), found_on(page, found.kind, nofollow));
}

void PageHandler::follow_link(Page& page, const Link& link, bool nofollow) {
  note_link(page, link);
  follower_.add(link.url, found_on(page, link.kind, nofollow || !link.follow));
}

LinkContext PageHandler::found_on(const Page& page, LinkKind kind, bool nofollow) {
  return {.origin = {.depth = page.open.lease.depth + 1,
                     .hops_off_scope = page.note.hops_off_scope,
                     .found = {found_as(kind)},
                     .seed = page.note.seed,
                     .nofollow = nofollow}};
}

// Links for the sinks that take them.
void PageHandler::note_link(Page& page, const Link& link) {
  if (!inputs_.links) return;
  LinkRecord record;
  record.to = link.url.href_without_fragment();
  record.kind = to_string(link.kind);
  record.text = link.text;
  record.rel = link.rel;
  context_.output.sinks().add_link(page.output, page.open.lease.url, record);
}

bool PageHandler::is_same_page(const Url& one, const Url& other) const {
  const Canonicalizer& canonicalizer = context_.rules.canonicalizer;
  return canonicalizer.key(one) == canonicalizer.key(other);
}

// With links.canonical = "key", a page that names another URL as canonical is followed only to that
// URL, if that URL may be followed.
bool PageHandler::stands_for_itself(const Page& page) const {
  const std::string& canonical = page.output.page.canonical;
  if (context_.config.links.canonical != CanonicalLinks::kKey || canonical.empty()) return true;
  const auto other = Url::parse(canonical);
  return !other || is_same_page(*other, page.url) ||
         !context_.rules.decider.decide(*other, found_on(page, LinkKind::kRelated, false).origin)
              .is_fetched();
}

bool PageHandler::is_parsed(const HttpResponse& response) const {
  return !response.body.empty() &&
         context_.rules.read.has(content_type_of(response), response.status);
}

void PageHandler::add_exchange(Page& page) {
  const HttpResponse& response = page.response;
  if (!inputs_.exchanges || response.response_head.empty()) return;
  if (!page.unchanged && !is_kept(response)) return;
  const Lease& lease = page.open.lease;
  std::vector<WarcOutlink> outlinks;
  if (inputs_.outlinks && page.parsed) {
    for (const Link& link : found_.links)
      outlinks.push_back({.url = link.url.href_without_fragment(), .kind = to_string(link.kind)});
  }
  // Without WARC files, another digest is used than theirs.
  const std::string& page_digest = page.output.page.digest;
  const std::string digest = page_digest.starts_with("sha1:") ? page_digest : std::string();
  std::optional<RevisitOf> revisit;
  if (response.status == 304 && page.unchanged) {
    revisit = {.url = page.note.first_url.empty() ? lease.url : page.note.first_url,
               .date = page.note.first_date,
               .digest = digest,
               .server_not_modified = true};
  } else if (page.unchanged && !page.note.first_date.empty()) {
    revisit = {.url = page.note.first_url, .date = page.note.first_date, .digest = digest};
  } else if (page.first_copy && !page.first_copy->date.empty()) {
    revisit = {.url = page.first_copy->url, .date = page.first_copy->date, .digest = digest};
  }
  WarcExchange exchange = exchange_of(lease.url, response);
  exchange.via = lease.parent;
  exchange.hops = lease.depth;
  exchange.outlinks = outlinks;
  encoders_.add_exchange(page.output, exchange, digest, revisit ? &*revisit : nullptr);
}

// Whether the body is for the sinks that take bodies.
bool PageHandler::keeps_body(const Page& page, const Result& result) const {
  const HttpResponse& response = page.response;
  if (!inputs_.bodies || !is_2xx(response.status) || response.body.empty()) return false;
  if (response.failure && !result.truncated) return false;
  return is_kept(response);
}

bool PageHandler::is_kept(const HttpResponse& response) const {
  return context_.rules.kept.has(content_type_of(response), response.status);
}

std::shared_ptr<PageOutput> PageHandler::archive(std::string_view url,
                                                 const HttpResponse& response) {
  if (!inputs_.exchanges || response.response_head.empty() || response.failure) return nullptr;
  auto output = std::make_shared<PageOutput>();
  output->listed = false;
  encoders_.add_exchange(*output, exchange_of(url, response), {}, nullptr);
  return output;
}

// A URL that was a page keeps the recrawl interval of a page, or has none.
void PageHandler::plan_failed(const OpenLease& open, Outcome& outcome) const {
  const UrlNote note = UrlNote::decode(open.lease.note);
  if (outcome.recrawl_at || !note.digest.empty() || note.interval) return;
  if (const auto interval = context_.rules.recrawl.failed_interval())
    outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
}

void PageHandler::plan_recrawl(Page& page) {
  const RecrawlPolicy& policy = context_.rules.recrawl;
  if (!policy.enabled()) return;
  const Lease& lease = page.open.lease;
  const int status = page.response.status;
  const bool fetched =
      !page.response.failure && (is_2xx(status) || (status == 304 && lease.recrawl));
  // A URL that was a page once keeps its own interval.
  const bool was_page = !page.note.digest.empty() || page.note.interval;
  if (!fetched && !was_page) {
    if (const auto interval = policy.failed_interval()) {
      page.outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
    }
    return;
  }
  using Change = RecrawlPolicy::Change;
  const std::string& digest = page.output.page.digest;
  const Change change = !fetched         ? Change::kFailed
                        : !lease.recrawl ? Change::kNew
                                         : RecrawlPolicy::compare(status, digest, page.note.digest);
  // The sitemap says when it is fetched again.
  if (page.note.has_lastmod && context_.config.recrawl.by_sitemap) return;
  const auto interval =
      policy.next_interval(lease.url, change, page.note.interval, page.note.listed_interval);
  if (!interval) return;
  UrlNote next = page.note;
  next.interval = interval;
  if (fetched) {
    if (next.role == UrlNote::Role::kSitemap)
      next.read_at =
          static_cast<std::uint64_t>(seconds_of(page.fetched_at).time_since_epoch().count());
    if (status != 304 || !page.response.etag.empty()) next.etag = page.response.etag;
    if (status != 304 || !page.response.last_modified.empty())
      next.last_modified = page.response.last_modified;
    next.digest = digest;
    if (page.first_copy && !page.first_copy->date.empty()) {
      next.first_url = page.first_copy->url;
      next.first_date = page.first_copy->date;
    } else if (!page.unchanged || (status != 304 && page.note.first_date.empty())) {
      // Every kind of record that is written has the body.
      next.first_url = lease.url;
      next.first_date = page.output.warc ? page.output.warc->date : std::string();
    }
  }
  page.outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
  page.outcome.note = next.encode();
}

}  // namespace trawl
