// What a config says in vain.
#pragma once

#include <string>
#include <vector>

#include "crawler/config/config.h"

namespace trawl {

// Settings that have no effect beside others, a sentence each. They are no errors: who turns one
// thing off for a while need not take out what goes with it.
std::vector<std::string> config_warnings(const CrawlConfig& config);

}  // namespace trawl
