// The keys of [url]: the rules for canonical keys.
#pragma once

#include <vector>

#include "crawler/config/config_keys.h"

namespace trawl {

void add_url_keys(std::vector<ConfigKey>& keys);

}  // namespace trawl
