#include "crawler/config/config_warnings.h"

#include <fmt/format.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"

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
  for (const HostPolitenessText& host : config.politeness.hosts) {
    if (host.own || !host.delay || *host.delay >= config.politeness.delay) continue;
    warnings.push_back(fmt::format(
        "politeness.host: delay = \"{}\" of {} has no effect, since politeness.delay = "
        "\"{}\" is longer: set own = true if the host is yours",
        format_duration(*host.delay), host.host, format_duration(config.politeness.delay)));
  }
  if (const auto place = redis_place(config.cluster);
      !config.cluster.ca_file.empty() && place && place->tls == RedisPlace::Tls::kNo)
    warnings.emplace_back("cluster.ca_file has no effect without cluster.tls = true or rediss://");
  const CrawlConfig defaults;
  for (const ConfigKey& key : config_keys()) {
    if (!config.cluster.enabled() || key.table() != "checkpoint") continue;
    if (key.write(config) == key.write(defaults)) continue;
    warnings.push_back(fmt::format(
        "{} has no effect with [cluster]: a frontier in Redis has no checkpoints", key.name));
  }
  if (config.log.max_size > 0 && config.log.file.empty())
    warnings.emplace_back("log.max_size has no effect without log.file");
  return warnings;
}

}  // namespace trawl
