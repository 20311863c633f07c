#include "crawler/decide/priorities.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace trawl {

namespace {

constexpr std::uint32_t kDeepest = 500'000;  // greater depths count as this
static_assert(static_cast<std::int64_t>(kDeepest) * 2 <= -std::int64_t{Priorities::kSlow});

}  // namespace

Result<Priorities> Priorities::create(const CrawlConfig::Crawl& config) {
  Priorities made;
  made.order_ = config.order;
  if (config.order != CrawlOrder::kPriority) return made;
  std::vector<UrlPattern> patterns;
  for (const PriorityRuleText& rule : config.priorities) {
    auto pattern = UrlPattern::parse(rule.pattern);
    if (!pattern) return tl::unexpected(std::move(pattern.error()));
    patterns.push_back(std::move(*pattern));
    made.priorities_.push_back(rule.priority);
  }
  auto set = UrlPatternSet::create(std::move(patterns));
  if (!set) return tl::unexpected(std::move(set.error()));
  made.patterns_ = std::move(*set);
  return made;
}

std::int32_t Priorities::of(const Url& url, std::uint32_t depth,
                            std::optional<double> sitemap_priority,
                            const SeedSettings::Own* seed) const {
  const auto deep = static_cast<std::int32_t>(std::min(depth, kDeepest));
  if (order_ == CrawlOrder::kBreadthFirst) return -deep;
  if (order_ == CrawlOrder::kDepthFirst) return deep;
  if (!patterns_.empty()) {
    thread_local std::string scratch;
    if (const auto rule = patterns_.first_match(spelling_.key_view(url, scratch)))
      return priorities_[*rule];
  }
  if (seed != nullptr && seed->priority) return *seed->priority;
  if (!sitemap_priority || std::isnan(*sitemap_priority)) return 0;
  return static_cast<std::int32_t>(
      std::lround((std::clamp(*sitemap_priority, 0.0, 1.0) - 0.5) * 20));
}

}  // namespace trawl
