#include "crawler/cli/verb_help.h"

#include <algorithm>
#include <cstddef>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace trawl::cli {

namespace {

constexpr std::size_t kLineWidth = 98;
// Longer commands have what they do in the next line.
constexpr std::size_t kMostForCommand = 60;

void begin_section(std::string& out) {
  while (out.ends_with('\n'))
    out.pop_back();
  if (!out.empty()) out += "\n\n";
}

// Each line with an indent; empty lines stay empty.
void add_indented(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    out += line.empty() ? "\n" : fmt::format("  {}\n", line);
  }
}

void add_examples(const std::vector<VerbExample>& examples, std::string& out) {
  std::size_t widest = 0;
  for (const VerbExample& each : examples) {
    if (each.command.size() <= kMostForCommand && !each.what.empty())
      widest = std::max(widest, each.command.size());
  }
  for (const VerbExample& each : examples) {
    if (each.what.empty()) {
      out += fmt::format("  {}\n", each.command);
    } else if (each.command.size() <= widest) {
      out += fmt::format("  {:<{}}  {}\n", each.command, widest, each.what);
    } else {
      out += fmt::format("  {}\n  {:<{}}  {}\n", each.command, "", widest, each.what);
    }
  }
}

void add_exits(const VerbHelp& help, std::string& out) {
  std::string line = "Exit status";
  line += help.exits_note.empty() ? ":" : fmt::format(": {},", help.exits_note);
  for (std::size_t i = 0; i < help.exits.size(); ++i) {
    const VerbExit& each = help.exits[i];
    const std::string item =
        fmt::format("{} {}{}", each.code, each.meaning, i + 1 < help.exits.size() ? "," : ".");
    if (line.size() + 1 + item.size() > kLineWidth) {
      out += line + '\n';
      line.clear();
    }
    line += line.empty() ? item : " " + item;
  }
  out += line + '\n';
}

}  // namespace

std::string footer_of(const VerbHelp& help) {
  std::string out;
  std::string_view text = help.text;
  while (text.starts_with('\n'))
    text.remove_prefix(1);
  out += text;
  if (!help.output.empty()) {
    begin_section(out);
    out += "Output:\n";
    add_indented(help.output, out);
  }
  if (!help.examples.empty()) {
    begin_section(out);
    out += "Examples:\n";
    add_examples(help.examples, out);
  }
  if (!help.exits.empty()) {
    begin_section(out);
    add_exits(help, out);
  }
  if (!help.signals.empty()) {
    begin_section(out);
    out += fmt::format("Signals: {}\n", help.signals);
  }
  while (out.ends_with('\n'))
    out.pop_back();
  return "\n" + out;
}

void describe(CLI::App* command, const VerbHelp& help) {
  command->footer(footer_of(help));
}

std::vector<VerbExit> common_exits(std::string_view done) {
  return {{0, done},
          {1, "failed"},
          {2, "wrong usage"},
          {3, "out of space"},
          {4, "errors in the config"}};
}

std::vector<VerbExit> exits_of_crawls() {
  std::vector<VerbExit> exits = common_exits();
  exits.insert(exits.end(), {{5, "incomplete"},
                             {11, "interrupted and resumable"},
                             {13, "killed by a third interrupt"},
                             {14, "scope.max_bytes reached"},
                             {15, "scope.max_time reached"}});
  return exits;
}

}  // namespace trawl::cli
