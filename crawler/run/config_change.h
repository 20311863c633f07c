// ConfigChange: what a reload of the config changes, and what it cannot change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

struct ConfigChange {
  CrawlConfig next;  // the config in effect with what may change while the crawl runs
  // "key: old -> new"; secrets are left out.
  std::vector<std::string> changed;
  std::vector<std::string> needs_restart;
};

// `now`: the config in effect; `before` and `read`: the config as it was read before, and now.
// `sets_log`: log settings may change.
ConfigChange config_change(const CrawlConfig& now, const CrawlConfig& before,
                           const CrawlConfig& read, bool sets_log);

// Whether a change of the key takes effect without a restart.
bool is_reloaded(std::string_view key);

}  // namespace trawl
