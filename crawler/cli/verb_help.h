// VerbHelp: what `--help`, `trawl help`, the manual pages and the completions say of a command, in
// addition to its summary, arguments and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace trawl::cli {

struct VerbExample {
  std::string_view command;
  std::string_view what = {};
};

struct VerbExit {
  int code;
  std::string_view meaning;
};

struct VerbHelp {
  std::string text = {};    // how it works: paragraphs, and lists with an indent
  std::string output = {};  // what it prints or writes, and where
  std::vector<VerbExample> examples = {};
  std::vector<VerbExit> exits;       // in ascending order
  std::string_view exits_note = {};  // before the codes: "as for grep"
  std::string_view signals = {};
};

// The sections of all commands have the same order and form.
std::string footer_of(const VerbHelp& help);
void describe(CLI::App* command, const VerbHelp& help);

// Exit codes that many commands share.
std::vector<VerbExit> common_exits(std::string_view done = "done");
std::vector<VerbExit> exits_of_crawls();

}  // namespace trawl::cli
