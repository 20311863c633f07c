#include "crawler/run/page_handler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "trawl/robots_directives.h"

#include "crawler/decide/url_shape.h"
#include "crawler/log/room_log.h"
#include "crawler/run/fetch_failure.h"
#include "crawler/warc/record_text.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

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

PageHandler::PageHandler(CrawlContext& context, PageReader& reader)
    : context_(context),
      reader_(reader),
      traps_(context.config.scope),
      follower_(context, reader, traps_),
      inputs_(context.output.sinks().inputs()),
      encoders_(context.output.sinks().encoders()) {
  for (const std::string& pattern : context.parked_patterns.before())
    traps_.park_again(pattern);
}

PageHandler::Result PageHandler::handle(const OpenLease& open, const Url& url,
                                        HttpResponse&& newest, ReadPage& read, bool host_doubted) {
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
  if (reader_.keeps_text()) record.text.emplace();
  // A body that was cut because its type is not wanted is not a failure.
  const bool unwanted = response.failure == FetchError::kUnwantedType;
  result.outcome.status = response.status;
  if (!unwanted) result.outcome.error = response.error;
  result.outcome.reason = trawl::to_string(response.failure);
  follower_.links().begin(open.lease.url, &output);
  if (result.failure && result.outcome.error.empty())
    result.outcome.error = "status " + std::to_string(response.status);
  PageInHand page{.open = open,
                  .url = url,
                  .response = response,
                  .read = read,
                  .fetched_at = answer.fetched_at,
                  .note = UrlNote::decode(open.lease.note),
                  .output = output,
                  .outcome = result.outcome};
  if (const auto* seed = context_.rules.decider.seeds().find(page.note.seed))
    record.seed_note = seed->note;
  if (!response.x_robots_tag.empty())
    page.asked = parse_x_robots_tag(response.x_robots_tag, context_.robots_agent);
  // For what is not read as a page, too: style sheets, redirects, errors.
  const CrawlConfig::Output& kept = context_.config.output;
  if (kept.respect_noarchive || kept.respect_noindex) {
    record.noindex = page.asked.noindex;
    record.noarchive = page.asked.noarchive;
  }
  result.outcome.seed = open.lease.depth == 0 && page.note.role == UrlNote::Role::kPage;
  result.truncated = answer.last && response.cut;
  if (result.truncated) {
    // The digest of a part does not identify the page.
    record.truncated = trawl::to_string(response.cut);
    follower_.follow(page);
  } else if (!result.failure && !response.failure) {
    compare(page);
    follower_.follow(page);
  }
  hide_secrets(url, record);
  if (record.text && is_left_out(page)) record.text->clear();
  if (answer.last && (result.truncated || !response.failure)) add_exchange(page);
  plan_recrawl(page, answer.last);
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
                                               HttpResponse&& response) {
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
  return rules.read.may_have(head.content_type, head.status, context_.config.links.requisites);
}

PageHandler::Result PageHandler::give_up(const OpenLease& open, std::string_view error,
                                         std::string_view reason) {
  thread_.check();
  Result result;
  result.output = std::make_shared<PageOutput>();
  result.output->page.fetched_at = open.wall_time;
  if (reader_.keeps_text()) result.output->page.text.emplace();
  result.output->page.reason = reason;
  result.outcome.error = error;
  result.outcome.reason = reason;
  follower_.links().begin(open.lease.url, result.output.get());
  if (open.lease.recrawl) {
    // A page that existed once is requested again.
    const UrlNote note = UrlNote::decode(open.lease.note);
    const RecrawlPolicy& policy = context_.rules.recrawl;
    const bool was_page = !note.digest.empty() || note.interval;
    const auto interval = was_page
                              ? policy.next_interval(open.lease.url, RecrawlPolicy::Change::kFailed,
                                                     note.interval, note.listed_interval)
                              : policy.failed_interval();
    const bool by_sitemap = note.has_lastmod && context_.config.recrawl.by_sitemap;
    if (interval && !by_sitemap)
      result.outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
  }
  return result;
}

// Compares the body with earlier ones: unchanged, a duplicate, or new.
void PageHandler::compare(PageInHand& page) {
  const HttpResponse& response = page.response;
  if (response.status == 304 && page.open.lease.recrawl) {  // else nobody asked for it
    page.output.page.digest = page.note.digest;
    page.unchanged = true;
    context_.fetches.add_not_modified();
    return;
  }
  if (payload_of(response).empty()) return;
  page.output.page.digest = reader_.digest(response, page.read);
  if (!is_2xx(response.status)) return;
  page.unchanged = page.open.lease.recrawl && page.output.page.digest == page.note.digest;
  if (!page.unchanged) {
    page.first_copy = context_.output.find_body(page.output.page.digest);
    if (page.first_copy && page.first_copy->url == page.open.lease.url) page.first_copy.reset();
  }
  // An old page that is unchanged is not a sign of a trap.
  if (!page.unchanged) watch_for_traps(page);
}

void PageHandler::watch_for_traps(const PageInHand& page) {
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

// The digest as WARC files have it, empty if their writer is to compute it. The indexes of earlier
// crawls have it too, whatever output.digest is.
std::string PageHandler::record_digest(const PageInHand& page) {
  const std::string& digest = page.output.page.digest;
  if (digest.starts_with("sha1:")) return digest;
  const std::string_view payload = payload_of(page.response);
  if (context_.known_bodies == nullptr || payload.empty() || !is_2xx(page.response.status))
    return {};
  return sha1_.digest(payload);
}

// The index of bodies knows which record was written; what was noted of the URL's last fetch, which
// may have become a revisit when it was written, counts where the index has nothing.
std::optional<RevisitOf> PageHandler::find_earlier(const PageInHand& page,
                                                   std::string record_digest) const {
  const std::string& digest = page.output.page.digest;
  const bool not_modified = page.response.status == 304 && page.unchanged;
  if (!not_modified && (digest.empty() || !is_2xx(page.response.status))) return std::nullopt;
  RevisitOf earlier{.url = {},
                    .date = {},
                    .digest = std::move(record_digest),
                    .server_not_modified = not_modified};
  const auto refer_to = [&earlier](const std::string& url, const std::string& date) {
    earlier.url = url;
    earlier.date = date;
    return earlier;
  };
  if (!digest.empty()) {
    const auto first = context_.output.find_body(digest);
    if (first && !first->date.empty()) return refer_to(first->url_of_record(), first->date);
  }
  if (page.unchanged && !page.note.first_date.empty())
    return refer_to(page.note.first_url, page.note.first_date);
  if (not_modified) return refer_to(page.open.lease.url, {});
  if (context_.known_bodies == nullptr || earlier.digest.empty()) return std::nullopt;
  const auto known = context_.known_bodies->find(earlier.digest);
  if (!known) context_.stop_with(known.error());
  if (!known || !*known) return std::nullopt;
  return refer_to((*known)->url, (*known)->date);
}

void PageHandler::add_exchange(PageInHand& page) {
  const HttpResponse& response = page.response;
  if (!inputs_.exchanges || response.response_head.empty()) return;
  if (is_left_out(page)) return;
  const std::string digest = record_digest(page);
  page.earlier = find_earlier(page, digest);
  // A 304 does not have the content type of what is kept.
  const bool has_earlier = response.status == 304 && page.earlier && !page.earlier->date.empty();
  if (!has_earlier && !is_kept(response)) return;
  const Lease& lease = page.open.lease;
  std::vector<WarcOutlink> outlinks;
  if (inputs_.outlinks && page.parsed) {
    for (const Link& link : page.read.links.links)
      outlinks.push_back({.url = link.url.href_without_fragment(), .kind = to_string(link.kind)});
  }
  archive_lookup(response);
  WarcExchange exchange = exchange_of(lease.url, response);
  exchange.via = lease.parent;
  exchange.hops = lease.depth;
  exchange.outlinks = outlinks;
  encoders_.add_exchange(page.output, exchange, digest, page.earlier ? &*page.earlier : nullptr);
}

// Before the first page of a host that is kept: the addresses of its name.
void PageHandler::archive_lookup(const HttpResponse& response) {
  if (response.lookup == nullptr || !context_.archived_lookups.add(*response.lookup)) return;
  const DnsLookup& lookup = *response.lookup;
  const std::string url = "dns:" + lookup.host;
  // The line before the records is that of RFC 2540.
  const std::string block = cdxj_timestamp(warc_date(lookup.asked_at)) + "\n" + lookup.records;
  auto output = std::make_shared<PageOutput>();
  output->listed = false;
  encoders_.add_resource(*output, {.url = url,
                                   .ip = lookup.server,
                                   .content_type = "text/dns",
                                   .block = block,
                                   .date = lookup.asked_at});
  context_.output.submit(std::move(output), {});
}

// Whether the body is for the sinks that take bodies.
bool PageHandler::keeps_body(const PageInHand& page, const Result& result) const {
  const HttpResponse& response = page.response;
  if (!inputs_.bodies || !is_2xx(response.status) || response.body.empty()) return false;
  if (response.failure && !result.truncated) return false;
  return !is_left_out(page) && is_kept(response);
}

// Whether the page asks not to be kept, and that is respected.
bool PageHandler::is_left_out(const PageInHand& page) const {
  const CrawlConfig::Output& output = context_.config.output;
  const PageRecord& record = page.output.page;
  if (!output.respect_noarchive && !output.respect_noindex) return false;
  if (output.respect_noarchive && record.noarchive) return true;
  if (output.respect_noindex && record.noindex) return true;
  // A page that did not come again asks for what it did before: it is kept if that one was.
  return page.response.status == 304 && page.unchanged &&
         (!inputs_.exchanges || page.note.first_date.empty());
}

// What headers say that the user declared secret. The state keeps what the next fetch needs of it.
void PageHandler::hide_secrets(const Url& url, PageRecord& record) const {
  for (const std::string& name : context_.rules.requests.for_url(url).secret_fields) {
    if (name == "etag") record.etag.clear();
    if (name == "last-modified") record.last_modified.clear();
    if (name == "location") record.redirect.clear();
    if (name == "content-type") record.content_type.clear();
  }
}

bool PageHandler::is_kept(const HttpResponse& response) const {
  return context_.rules.kept.has(content_type_of(response), response.status);
}

std::shared_ptr<PageOutput> PageHandler::archive(std::string_view url,
                                                 const HttpResponse& response) {
  if (!inputs_.exchanges || response.response_head.empty() || response.failure) return nullptr;
  archive_lookup(response);
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

void PageHandler::plan_recrawl(PageInHand& page, bool last) {
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
    if (last) static_cast<void>(is_left_to_sitemap(lease, page.note));
    return;
  }
  using Change = RecrawlPolicy::Change;
  const Change change =
      !fetched         ? Change::kFailed
      : !lease.recrawl ? Change::kNew
                       : RecrawlPolicy::compare(status, page.output.page.digest, page.note.digest);
  take_listed_interval(page);
  const auto interval =
      policy.next_interval(lease.url, change, page.note.interval, page.note.listed_interval);
  if (!interval && context_.sitemap_pages == nullptr) return;
  UrlNote next = fetched ? next_note(page) : page.note;
  next.interval = interval;
  if (last && is_left_to_sitemap(lease, next)) return;
  if (!interval) return;
  page.outcome.recrawl_at = std::chrono::system_clock::now() + *interval;
  page.outcome.note = next.encode();
}

// A sitemap may have been read after the page was found, and may have changed.
void PageHandler::take_listed_interval(PageInHand& page) const {
  if (context_.sitemap_pages == nullptr || page.note.role != UrlNote::Role::kPage) return;
  const auto known = context_.sitemap_pages->find(context_.rules.canonicalizer.key(page.url));
  if (!known) return context_.stop_with(known.error());
  if (known->listed_interval) page.note.listed_interval = known->listed_interval;
}

UrlNote PageHandler::next_note(const PageInHand& page) {
  const HttpResponse& response = page.response;
  const bool not_modified = response.status == 304;
  UrlNote next = page.note;
  if (next.role == UrlNote::Role::kSitemap)
    next.read_at =
        static_cast<std::uint64_t>(seconds_of(page.fetched_at).time_since_epoch().count());
  if (!not_modified || !response.etag.empty()) next.etag = response.etag;
  if (!not_modified || !response.last_modified.empty()) next.last_modified = response.last_modified;
  next.digest = page.output.page.digest;
  if (page.earlier && !page.earlier->date.empty()) {
    next.first_url = page.earlier->url;
    next.first_date = page.earlier->date;
  } else if (!page.unchanged || (!not_modified && page.note.first_date.empty())) {
    // Every kind of record that is written has the body.
    next.first_url = page.open.lease.url;
    next.first_date = page.output.warc ? page.output.warc->date : std::string();
  }
  return next;
}

bool PageHandler::waits_for_sitemap(const Lease& lease, const Url& url, const UrlNote& note) const {
  const bool is_due_by_interval =
      lease.recrawl && !note.has_lastmod && (note.interval || !note.digest.empty());
  if (context_.sitemap_pages == nullptr || !context_.config.recrawl.by_sitemap ||
      !is_due_by_interval)
    return false;
  const auto known = context_.sitemap_pages->find(context_.rules.canonicalizer.key(url));
  if (!known) context_.stop_with(known.error());
  return known && known->fetched && known->listed;
}

bool PageHandler::is_left_to_sitemap(const Lease& lease, const UrlNote& note) const {
  SitemapPages* const pages = context_.sitemap_pages;
  if (pages == nullptr || !context_.config.recrawl.by_sitemap || note.role != UrlNote::Role::kPage)
    return false;
  const auto url = Url::parse(lease.url);
  if (!url || context_.rules.recrawl.says_never(lease.url)) return false;
  const auto listed =
      pages->note_fetched(context_.rules.canonicalizer.key(*url), {.listed_interval = std::nullopt,
                                                                   .listed = note.has_lastmod,
                                                                   .depth = lease.depth,
                                                                   .redirects = lease.redirects,
                                                                   .parent = lease.parent,
                                                                   .note = note});
  if (!listed) context_.stop_with(listed.error());
  return listed.value_or(false);
}

}  // namespace trawl
