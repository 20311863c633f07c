// parse_toml: toml++ made safe for any bytes.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "trawl/result.h"

#include "crawler/config/config.h"

namespace trawl {

// Parses TOML; `name` stands for the file in the error. toml++ frees what it parsed recursively, so
// that a key of thousands of parts ("a.a.a...") would overrun the stack: such keys are refused.
tl::expected<toml::table, ConfigError> parse_toml(std::string_view text, const std::string& name);

}  // namespace trawl
