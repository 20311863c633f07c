// parse_toml: parses TOML with toml++, safely for any bytes.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

// `name`: the file name in the error. toml++ frees values recursively, so a key of thousands of
// parts ("a.a.a...") would overflow the stack: such keys are refused.
tl::expected<toml::table, ConfigError> parse_toml(std::string_view text, const std::string& name);

}  // namespace trawl
