// The keys of the config's [links].
#pragma once

#include <vector>

#include "crawler/config/config_keys.h"

namespace trawl {

void add_links_keys(std::vector<ConfigKey>& keys);

}  // namespace trawl
