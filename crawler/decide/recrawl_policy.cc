#include "crawler/decide/recrawl_policy.h"

#include <algorithm>
#include <string>
#include <utility>

namespace trawl {

RecrawlPolicy::RecrawlPolicy(const CrawlConfig::Recrawl& config)
    : enabled_(config.enabled()),
      interval_(config.interval),
      failed_(config.failed),
      adaptive_(config.adaptive),
      min_interval_(config.min_interval),
      max_interval_(std::max(config.min_interval, config.max_interval)) {
  for (const RecrawlRuleText& rule : config.rules) {
    if (auto pattern = UrlPattern::parse(rule.pattern)) {
      rules_.push_back({std::move(*pattern), rule.interval});
    }
  }
}

RecrawlPolicy::Interval RecrawlPolicy::first_interval(std::string_view href,
                                                      Interval listed) const {
  if (const Rule* rule = find_rule(href)) return rule->interval;
  return interval_ && listed ? within_bounds(*listed) : interval_;
}

const RecrawlPolicy::Rule* RecrawlPolicy::find_rule(std::string_view href) const {
  if (rules_.empty()) return nullptr;
  const auto url = Url::parse(href);
  const std::string spelled = url ? spelling_.key(*url) : std::string(href);
  const auto rule = std::ranges::find_if(
      rules_, [&spelled](const Rule& each) { return each.pattern.matches(spelled); });
  return rule == rules_.end() ? nullptr : &*rule;
}

bool RecrawlPolicy::says_never(std::string_view href) const {
  const Rule* rule = find_rule(href);
  return rule != nullptr && !rule->interval;
}

std::chrono::milliseconds RecrawlPolicy::within_bounds(std::chrono::milliseconds interval) const {
  return std::clamp(interval, min_interval_, max_interval_);
}

RecrawlPolicy::Interval RecrawlPolicy::next_interval(std::string_view href, Change change,
                                                     Interval last_interval,
                                                     Interval listed) const {
  const Interval first = first_interval(href, listed);
  if (!first || !adaptive_) return first;
  if (change == Change::kNew || !last_interval) return within_bounds(*first);
  // Bounded before doubling too, so that nothing overflows.
  const std::chrono::milliseconds last = within_bounds(*last_interval);
  switch (change) {
    case Change::kChanged:
      return within_bounds(last / 2);
    case Change::kUnchanged:
      return last > max_interval_ / 2 ? max_interval_ : within_bounds(last * 2);
    default:
      return last;
  }
}

RecrawlPolicy::Change RecrawlPolicy::compare(int status, std::string_view digest,
                                             std::string_view last_digest) {
  constexpr int kNotModified = 304;
  if (status == kNotModified) return Change::kUnchanged;
  if (last_digest.empty()) return Change::kNew;
  return digest == last_digest ? Change::kUnchanged : Change::kChanged;
}

}  // namespace trawl
