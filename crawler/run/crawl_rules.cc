#include "trawl/url_groups.h"

#include "crawler/run/crawl_context.h"

namespace trawl {

Result<std::unique_ptr<CrawlRules>> CrawlRules::create(const CrawlConfig& config,
                                                       const std::vector<Url>& seeds) {
  auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return tl::unexpected(profile.error());
  Canonicalizer canonicalizer(*profile);
  auto scope = Scope::create(config.scope, seeds, canonicalizer);
  if (!scope) return tl::unexpected(scope.error());
  auto priorities = Priorities::create(config.crawl);
  if (!priorities) return tl::unexpected(priorities.error());
  std::set<std::string, std::less<>> seed_hosts;
  for (const Url& seed : seeds)
    seed_hosts.insert(politeness_group(seed));
  return std::make_unique<CrawlRules>(
      CrawlRules{.canonicalizer = std::move(canonicalizer),
                 .scope = std::move(*scope),
                 .priorities = std::move(*priorities),
                 .recrawl = RecrawlPolicy(config.recrawl),
                 .requests = HostRequests(config.fetch),
                 .seed_hosts = std::move(seed_hosts),
                 .fetched_types = MediaTypes(config.fetch.content_types),
                 .parsed_types = MediaTypes(config.links.content_types),
                 .stored_types = MediaTypes(config.output.content_types)});
}

}  // namespace trawl
