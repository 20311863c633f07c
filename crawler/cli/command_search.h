// Finds commands and options by the words of a command line, and the nearest to a misspelt one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace trawl::cli {

// "trawl frontier dump"
std::string path_of(const CLI::App& command);

// The command that the words name, such as {"frontier", "dump"}; null if there is none.
CLI::App* find_command(CLI::App& app, std::span<const std::string> words);

// What is wrong with the commands and the names of options in `words`, which follow the program's
// name: an unknown one, with the nearest known one. Nothing if all are known; values of options are
// not checked.
std::optional<std::string> misspelt(CLI::App& app, const std::vector<std::string>& words);

}  // namespace trawl::cli
