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

struct Misspelling {
  std::string message;      // names the nearest known name
  const CLI::App* command;  // where it is
};

// An unknown command or name of an option in `words`, which follow the program's name. Nothing if
// all are known; values of options are not checked.
std::optional<Misspelling> find_misspelling(CLI::App& app, const std::vector<std::string>& words);

}  // namespace trawl::cli
