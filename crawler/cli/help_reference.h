// The help of all commands as JSON, from which manual pages and completions are made.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace trawl::cli {

// {"name", "version", "summary", "usage", "description", "positionals": [{"name", "text"}],
// "options": [{"names": ["-o", "--output"], "value", "text", "default"}],
// "sections": [{"title", "text"}], "commands": [...]}, with the same keys for each command except
// "version". Hidden commands and options are left out.
std::string help_reference(const CLI::App& app);

}  // namespace trawl::cli
