// Options of commands that are short for config keys.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace trawl::cli {

// Adds --depth, --max-pages, --delay, --scope, --warc, --save, --user-agent, --allow-private and
// --set, which append "table.key=value" to `overrides`; --set comes last, and wins. Wrong values of
// the former are usage errors.
void add_crawl_flags(CLI::App* command, std::vector<std::string>& overrides);

}  // namespace trawl::cli
