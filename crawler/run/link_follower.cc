#include "crawler/run/link_follower.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "trawl/url_groups.h"

#include "crawler/log/room_log.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

bool is_guess(const LinkContext& found) {
  return found.origin.found.has(FoundAs::kGuess);
}

}  // namespace

// What a thread knows about a link. Asking whether its host has room takes a place there.
class LinkFollower::Facts final : public CrawlFacts {
 public:
  explicit Facts(LinkFollower& follower) : follower_(follower) {}
  PatternState pattern(const Url& url) override { return follower_.traps_.state(url); }
  bool host_has_room(const Url& url) override { return follower_.has_room_for(url); }

 private:
  LinkFollower& follower_;
};

void LinkFollower::begin(std::string_view from, PageOutput* output) {
  thread_.check();
  from_ = from;
  output_ = context_.output.sinks().inputs().skipped ? output : nullptr;
  left_out_ = 0;
  requests_.clear();
  held_.clear();
  owned_.clear();
  notes_.clear();
  leave_places();
}

bool LinkFollower::is_ordinary(const LinkContext& found) const {
  const auto& max_depth = context_.config.scope.max_depth;
  const UrlOrigin& origin = found.origin;
  return origin.requisite_hops == 0 && !origin.sitemap && !origin.nofollow && !found.again &&
         origin.redirects == 0 && !found.sitemap_priority &&
         !(max_depth && origin.depth > *max_depth);
}

bool LinkFollower::knows(const Fingerprint& hash, const LinkContext& found) {
  const UrlOrigin& origin = found.origin;
  if (known_.knows(hash, origin.depth, origin.hops_off_scope)) return true;
  if (!is_guess(found)) return false;
  if (!known_guesses_) known_guesses_.emplace(context_.link_hash, kGuessesKnown);
  return known_guesses_->knows(hash, origin.depth, origin.hops_off_scope);
}

bool LinkFollower::knows_requisite(const Fingerprint& hash, bool is_guess) {
  if (!known_requisites_) known_requisites_.emplace(context_.link_hash);
  if (known_requisites_->knows(hash, 0, 0)) return true;
  if (!is_guess) return false;
  if (!known_guessed_requisites_)
    known_guessed_requisites_.emplace(context_.link_hash, kGuessesKnown);
  return known_guessed_requisites_->knows(hash, 0, 0);
}

// Before the URL is offered: whichever of a guess and a link the frontier takes, the other is
// known.
bool LinkFollower::is_link_to_guess(const Url& url, const LinkContext& found) {
  GuessedUrls& guessed = context_.guessed;
  if (is_guess(found)) {
    guessed.note_guess(context_.rules.canonicalizer.key(url));
    return false;
  }
  return guessed.any() && guessed.note_link(context_.rules.canonicalizer.key(url));
}

bool LinkFollower::add(const Url& url, const Fingerprint& hash, const LinkContext& found) {
  thread_.check();
  const UrlOrigin& origin = found.origin;
  const bool ordinary = is_ordinary(found);
  if (ordinary && knows(hash, found)) {
    left_out_ += found.times;
    return true;
  }
  Facts facts(*this);
  const UrlVerdict verdict = context_.rules.decider.decide(url, origin, facts);
  if (verdict.reason) {
    hold(url, found, *verdict.reason);
    skip(url.href_without_fragment(), *verdict.reason, verdict.rule, found.times);
    return false;
  }
  UrlRequest request{.url = url.href_without_fragment(),
                     .priority = priority_of(url, found),
                     .depth = origin.depth,
                     .redirects = origin.redirects};
  if (verdict.slow) request.priority += Priorities::kSlow;
  request.note = note_of(found, verdict.off_scope ? origin.hops_off_scope + 1 : 0);
  request.again = is_link_to_guess(url, found) || found.again;
  if (ordinary) (is_guess(found) ? *known_guesses_ : known_).note_offered();
  requests_.push_back(request);
  left_out_ += found.times - 1;
  return true;
}

bool LinkFollower::leaves_out(std::span<const LinkGist> gists, std::size_t i,
                              const UrlOrigin& origin) {
  constexpr std::size_t kAhead = 8;
  if (i + kAhead < gists.size()) known_.prefetch(gists[i + kAhead].hash);
  const LinkGist& gist = gists[i];
  if (gist.kind == LinkKind::kGuess || !gist.follow ||
      !known_.knows(gist.hash, origin.depth, origin.hops_off_scope))
    return false;
  left_out_ += gist.times;
  return true;
}

// A sitemap may list 50,000 long URLs: those that are not offered need no memory.
template <class Add>
void LinkFollower::add_owned(Url&& url, const Add& add) {
  const std::size_t offered = requests_.size() + held_.size();
  add(owned_.emplace_back(std::move(url)));
  if (requests_.size() + held_.size() == offered) owned_.pop_back();
}

void LinkFollower::add(Url&& url, const LinkContext& found) {
  add_owned(std::move(url), [&](const Url& owned) { add(owned, found); });
}

void LinkFollower::add_requisite(Url&& url, const LinkContext& found, std::uint32_t hops,
                                 bool is_link) {
  add_owned(std::move(url), [&](const Url& owned) {
    const Fingerprint hash = context_.link_hash(owned.href_without_fragment());
    add_requisite(owned, hash, found, hops, is_link);
  });
}

void LinkFollower::add_again(Url&& url, const SitemapPages::Page& page, const LinkContext& listed) {
  thread_.check();
  const CrawlRules& rules = context_.rules;
  const Url& kept = owned_.emplace_back(std::move(url));
  const std::uint32_t redirects = std::max(page.redirects, listed.origin.redirects);
  Facts facts(*this);
  const UrlVerdict verdict =
      rules.decider.decide(kept, UrlOrigin::of(page.depth, redirects, page.note), facts);
  if (verdict.reason) return skip(kept.href_without_fragment(), *verdict.reason, verdict.rule);
  UrlNote note = page.note;
  note.has_lastmod = true;
  if (listed.listed_interval) note.listed_interval = listed.listed_interval;
  if (listed.sitemap_priority) note.sitemap_priority = listed.sitemap_priority;
  const std::int32_t priority = rules.priorities.of(kept, page.depth, note.sitemap_priority,
                                                    rules.decider.seeds().find(note.seed));
  requests_.push_back({.url = kept.href_without_fragment(),
                       .priority = priority + (verdict.slow ? Priorities::kSlow : 0),
                       .depth = page.depth,
                       .redirects = redirects,
                       .parent = notes_.emplace_back(page.parent),
                       .note = notes_.emplace_back(note.encode()),
                       .again = true});
}

std::int32_t LinkFollower::priority_of(const Url& url, const LinkContext& found) const {
  const CrawlRules& rules = context_.rules;
  return rules.priorities.of(url, found.origin.depth, found.sitemap_priority,
                             rules.decider.seeds().find(found.origin.seed));
}

// A page that is in scope is crawled whole, whichever way it was found first. A requisite that is
// out of scope is the same for all pages.
void LinkFollower::add_requisite(const Url& url, const Fingerprint& hash, const LinkContext& found,
                                 std::uint32_t hops, bool is_link) {
  thread_.check();
  const bool known = is_link && is_ordinary(found) && knows(hash, found);
  // What is known was followed as a link, so most links of a site are not decided on twice.
  if (known || (is_link && context_.rules.decider.decide(url, found.origin).is_fetched())) {
    add(url, hash, found);
    return;
  }
  if (knows_requisite(hash, is_guess(found))) {
    left_out_ += found.times;
    return;
  }
  LinkContext requisite = found;
  requisite.origin.requisite_hops = hops + 1;
  requisite.origin.found.add(FoundAs::kRequisite);
  // What a rule refuses here may be found in another way on the next page, or under other rules.
  if (add(url, hash, requisite))
    (is_guess(found) ? *known_guessed_requisites_ : *known_requisites_).note_offered();
}

// Empty for most pages.
std::string_view LinkFollower::note_of(const LinkContext& found, std::uint32_t hops_off_scope) {
  const UrlOrigin& origin = found.origin;
  const bool by_kind =
      origin.is_listed_seed() || origin.found.has(FoundAs::kGuess) ||
      // Whether SVG is an image or a document.
      (context_.config.links.requisites && origin.found.has(FoundAs::kResource)) ||
      (context_.rules.decider.scope().has_rules_by_kind() && origin.found != UrlOrigin().found);
  const bool is_requisite = origin.requisite_hops > 0;
  const bool is_listed = found.sitemap_priority || found.listed_interval || found.has_lastmod;
  if (hops_off_scope == 0 && !origin.sitemap && !is_listed && !by_kind && !is_requisite &&
      !found.style_sheet && origin.seed == 0)
    return {};
  UrlNote note;
  if (by_kind) note.found = origin.found;
  note.seed = origin.seed;
  note.requisite_hops = origin.requisite_hops;
  note.role = origin.sitemap ? UrlNote::Role::kSitemap : UrlNote::Role::kPage;
  note.sitemap_level = found.sitemap_level;
  note.vouched = origin.vouched;
  note.lists_seeds = found.lists_seeds;
  note.listed_interval = found.listed_interval;
  note.has_lastmod = found.has_lastmod;
  note.style_sheet = found.style_sheet;
  note.hops_off_scope = hops_off_scope;
  note.sitemap_priority = found.sitemap_priority;
  return notes_.emplace_back(note.encode());
}

void LinkFollower::hold(const Url& url, const LinkContext& found, SkipReason reason) {
  const UrlOrigin& origin = found.origin;
  if (!row_of(reason).is_held || origin.sitemap || origin.requisite_hops > 0 ||
      context_.config.frontier.max_set_aside == 0)
    return;
  const std::string_view href = url.href_without_fragment();
  if (known_held_.knows(href, origin.depth, origin.hops_off_scope)) return;
  known_held_.note_offered();
  UrlRequest request{.url = href,
                     .priority = priority_of(url, found),
                     .depth = origin.depth,
                     .redirects = origin.redirects};
  request.hold = {.reason = to_string(reason), .rules = context_.rules.decider.held_by(reason)};
  // If the link is out of a later run's scope, it is one hop further than its page.
  request.note = note_of(found, origin.hops_off_scope + 1);
  held_.push_back(request);
}

std::span<const UrlRequest> LinkFollower::requests() {
  requests_.insert(requests_.end(), held_.begin(), held_.end());
  held_.clear();
  return requests_;
}

void LinkFollower::skip(std::string_view url, SkipReason reason, std::string_view rule,
                        std::uint32_t times) {
  context_.skipped.add(reason, times);
  if (room_log(LogRoom::kLinks).should_log(spdlog::level::debug))
    room_log(LogRoom::kLinks)
        .debug("skipped: {}: {}{}{}{}", without_credentials(url), to_string(reason),
               rule.empty() ? "" : ": ", rule,
               times > 1 ? fmt::format(", {} times on the page", times) : std::string());
  if (output_ == nullptr) return;
  context_.output.sinks().add_skipped(*output_, from_,
                                      {.url = url, .reason = to_string(reason), .rule = rule});
}

bool LinkFollower::has_room_for(const Url& url) {
  if (!context_.urls_of_hosts.limited()) return true;
  const auto place =
      context_.urls_of_hosts.take(politeness_group(url), url.href_without_fragment());
  if (place) places_.push_back(*place);
  return place.has_value();
}

void LinkFollower::offered(std::span<const Admission> admissions) {
  thread_.check();
  for (std::size_t i = 0; i < places_.size() && i < admissions.size(); ++i)
    context_.urls_of_hosts.report(places_[i], admissions[i]);
  places_.clear();
}

void LinkFollower::leave_places() {
  for (const HostUrlQuota::Place& place : places_)
    context_.urls_of_hosts.report(place, std::nullopt);
  places_.clear();
}

}  // namespace trawl
