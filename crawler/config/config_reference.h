// The reference of config keys, written from their rows.
#pragma once

#include <string>

namespace trawl {

// The table of docs/config.md.
std::string config_reference_table();

// config/quickstart.toml: a config with every key and what it does, set to its default or, where
// there is none, commented out with an example.
std::string commented_config();

}  // namespace trawl
