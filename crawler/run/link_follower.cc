#include "crawler/run/link_follower.h"

#include <spdlog/spdlog.h>

#include "trawl/url_groups.h"

#include "crawler/run/held_urls.h"
#include "url/url_credentials.h"

namespace trawl {

void LinkFollower::begin(std::string_view from, PageOutput* output) {
  thread_.check();
  from_ = from;
  output_ = context_.config.output.skipped ? output : nullptr;
  left_out_ = 0;
  requests_.clear();
  held_.clear();
  owned_.clear();
  notes_.clear();
  leave_places();
}

bool LinkFollower::is_ordinary(const FoundAs& found) const {
  const auto& max_depth = context_.config.scope.max_depth;
  return found.role == UrlNote::Role::kPage && !found.again && found.redirects == 0 &&
         !found.sitemap_priority && !(max_depth && found.depth > *max_depth);
}

void LinkFollower::add(const Url& url, const FoundAs& found) {
  thread_.check();
  const bool ordinary = is_ordinary(found);
  if (ordinary && known_.knows(url.href_without_fragment(), found.depth, found.hops_off_scope)) {
    ++left_out_;
    return;
  }
  const ScopeVerdict verdict = context_.rules.scope->check(url, found.depth, found.hops_off_scope);
  const bool allowed =
      verdict.in() || (verdict.reason == SkipReason::kOutOfScope && is_own_sitemap(url, found));
  if (!allowed) {
    if (verdict.reason == SkipReason::kTooDeep || verdict.reason == SkipReason::kOutOfScope)
      hold(url, found, verdict.reason);
    return skip(url.href_without_fragment(), verdict.reason, verdict.rule);
  }
  const PatternState pattern = traps_.state(url);
  if (pattern == PatternState::kParked) {
    return skip(url.href_without_fragment(), SkipReason::kPatternParked);
  }
  if (!has_room_for(url)) {
    hold(url, found, SkipReason::kTooManyUrlsOfHost);
    return skip(url.href_without_fragment(), SkipReason::kTooManyUrlsOfHost);
  }
  UrlRequest request{
      .url = url.href_without_fragment(),
      .priority = context_.rules.priorities.of(url, found.depth, found.sitemap_priority),
      .depth = found.depth,
      .redirects = found.redirects};
  if (pattern == PatternState::kSlow) request.priority += Priorities::kSlow;
  const std::uint32_t hops = verdict.off_scope ? found.hops_off_scope + 1 : 0;
  if (hops > 0 || found.role != UrlNote::Role::kPage || found.sitemap_priority) {
    UrlNote note;
    note.role = found.role;
    note.sitemap_level = found.sitemap_level;
    note.vouched = found.vouched;
    note.hops_off_scope = hops;
    note.sitemap_priority = found.sitemap_priority;
    request.note = notes_.emplace_back(note.encode());
  }
  request.again = found.again;
  if (ordinary) known_.note_offered();
  requests_.push_back(request);
}

bool LinkFollower::is_own_sitemap(const Url& url, const FoundAs& found) const {
  if (found.role != UrlNote::Role::kSitemap) return false;
  return found.vouched ||
         (found.own_site && context_.rules.seed_hosts.contains(politeness_group(url)));
}

void LinkFollower::hold(const Url& url, const FoundAs& found, SkipReason reason) {
  if (found.role != UrlNote::Role::kPage || context_.config.frontier.max_set_aside == 0) return;
  const std::string_view href = url.href_without_fragment();
  if (known_held_.knows(href, found.depth, found.hops_off_scope)) return;
  known_held_.note_offered();
  UrlRequest request{
      .url = href,
      .priority = context_.rules.priorities.of(url, found.depth, found.sitemap_priority),
      .depth = found.depth,
      .redirects = found.redirects};
  request.hold = {.reason = to_string(reason), .rules = held_by(reason, context_.config)};
  // Where it is out of the scope that then is, it is one hop further than its page.
  UrlNote note;
  note.hops_off_scope = found.hops_off_scope + 1;
  note.sitemap_priority = found.sitemap_priority;
  request.note = notes_.emplace_back(note.encode());
  held_.push_back(request);
}

std::span<const UrlRequest> LinkFollower::requests() {
  requests_.insert(requests_.end(), held_.begin(), held_.end());
  held_.clear();
  return requests_;
}

void LinkFollower::skip(std::string_view url, SkipReason reason, std::string_view rule) {
  context_.skipped.add(reason);
  if (spdlog::should_log(spdlog::level::debug))
    spdlog::debug("skipped: {}: {}{}{}", without_credentials(url), to_string(reason),
                  rule.empty() ? "" : ": ", rule);
  if (output_ == nullptr || output_->skipped_lines.size() >= PageOutput::kMaxLines) return;
  output_->add_skipped(from_, {.url = url, .reason = to_string(reason), .rule = rule});
}

bool LinkFollower::has_room_for(const Url& url) {
  if (!context_.urls_of_hosts.limited()) return true;
  const auto place =
      context_.urls_of_hosts.take(politeness_group(url), url.href_without_fragment());
  if (place) places_.push_back(*place);
  return place.has_value();
}

void LinkFollower::offered(std::span<const Admission> admissions) {
  for (std::size_t i = 0; i < places_.size() && i < admissions.size(); ++i)
    context_.urls_of_hosts.settle(places_[i], admissions[i]);
  places_.clear();
}

void LinkFollower::leave_places() {
  for (const HostUrlCounts::Place& place : places_)
    context_.urls_of_hosts.settle(place, std::nullopt);
  places_.clear();
}

}  // namespace trawl
