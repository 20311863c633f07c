#include "crawler/config/config_warnings.h"

namespace trawl {

std::vector<std::string> config_warnings(const CrawlConfig& config) {
  std::vector<std::string> warnings;
  if (config.links.sitemaps && !config.politeness.respect_robots) {
    warnings.emplace_back(
        "links.sitemaps = true has no effect with politeness.respect_robots = false: sitemaps are "
        "found in robots.txt, which is not fetched");
  }
  if (!config.fetch.ca_file.empty() && !config.fetch.verify_tls) {
    warnings.emplace_back(
        "fetch.ca_file has no effect with fetch.verify_tls = false: certificates are not checked");
  }
  if (config.recrawl.wait && !config.recrawl.enabled()) {
    warnings.emplace_back(
        "recrawl.wait = true has no effect without recrawl.interval or recrawl.rules");
  }
  return warnings;
}

}  // namespace trawl
