#include "crawler/run/crawl_context.h"

namespace trawl {

std::vector<Url> parse_seeds(const CrawlConfig& config) {
  std::vector<Url> seeds;
  for (const std::string& seed : config.crawl.seeds) {
    if (auto url = Url::parse(seed)) seeds.push_back(std::move(*url));
  }
  return seeds;
}

Result<std::unique_ptr<CrawlRules>> CrawlRules::create(
    const CrawlConfig& config, const std::vector<Url>& seeds,
    std::shared_ptr<const SeedRedirects> redirects) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  Canonicalizer canonicalizer(*profile);
  auto decider = UrlDecider::create(config, seeds, canonicalizer, std::move(redirects));
  if (!decider) return tl::unexpected(decider.error());
  auto priorities = Priorities::create(config.crawl);
  if (!priorities) return tl::unexpected(priorities.error());
  return std::make_unique<CrawlRules>(
      CrawlRules{.canonicalizer = std::move(canonicalizer),
                 .decider = std::move(*decider),
                 .priorities = std::move(*priorities),
                 .recrawl = RecrawlPolicy(config.recrawl),
                 .requests = HostRequests(config.fetch),
                 .politeness = HostPoliteness(config.politeness),
                 .fetched_types = MediaTypes(config.fetch.content_types),
                 .read = ReadResponses(config.links),
                 .kept = KeptResponses(config.output)});
}

}  // namespace trawl
