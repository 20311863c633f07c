#include "crawler/cli/help_reference.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace trawl::cli {

namespace {

using HelpJson = nlohmann::ordered_json;

// The title that a line of a footer begins: "Examples:", "Exit status: 0 done, ...". Empty: none.
std::string_view section_title(std::string_view line) {
  constexpr std::string_view kTitles[] = {"Examples", "Output", "Exit status", "Signals"};
  for (const std::string_view title : kTitles) {
    if (line.starts_with(title) && line.substr(title.size()).starts_with(":")) return title;
  }
  return {};
}

// Splits a footer into the text before the first section, and the sections.
void add_footer(std::string_view footer, HelpJson& help) {
  std::string description;
  HelpJson sections = HelpJson::array();
  std::string* text = &description;
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    std::string_view line = footer.substr(0, end);
    footer.remove_prefix(std::min(end + 1, footer.size()));
    if (const std::string_view title = section_title(line); !title.empty()) {
      sections.push_back({{"title", title}, {"text", ""}});
      text = sections.back()["text"].get_ptr<std::string*>();
      line.remove_prefix(title.size() + 1);
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      if (line.empty()) continue;
    }
    text->append(line).append("\n");
  }
  help["description"] = std::move(description);
  help["sections"] = std::move(sections);
}

HelpJson option_help(const CLI::Option& option) {
  HelpJson names = HelpJson::array();
  for (const std::string& name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  const bool has_value = option.get_items_expected_max() > 0;
  return {{"names", std::move(names)},
          {"value", has_value ? option.get_type_name() : ""},
          {"text", option.get_description()},
          {"default", option.get_default_str()}};
}

void add_options(const CLI::App& command, HelpJson& help) {
  HelpJson options = HelpJson::array();
  HelpJson positionals = HelpJson::array();
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->nonpositional()) {
      options.push_back(option_help(*option));
    } else {
      positionals.push_back(
          {{"name", option->get_name(true)}, {"text", option->get_description()}});
    }
  }
  help["positionals"] = std::move(positionals);
  help["options"] = std::move(options);
}

std::string usage_of(const CLI::App& command, const std::string& path, const HelpJson& help) {
  std::string usage = path;
  if (!help["options"].empty()) usage += " [OPTIONS]";
  for (const CLI::Option* const option : command.get_options()) {
    if (option->nonpositional() || option->get_group().empty()) continue;
    const std::string name =
        option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  return command.get_subcommands([](const CLI::App*) { return true; }).empty() ? usage
                                                                               : usage + " COMMAND";
}

HelpJson help_of(const CLI::App& command, const std::string& above) {
  const std::string path = above.empty() ? command.get_name() : above + " " + command.get_name();
  HelpJson help{{"name", command.get_name()}, {"summary", command.get_description()}};
  add_options(command, help);
  help["usage"] = usage_of(command, path, help);
  add_footer(command.get_footer(), help);
  HelpJson commands = HelpJson::array();
  for (const CLI::App* const each : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) commands.push_back(help_of(*each, path));
  }
  help["commands"] = std::move(commands);
  return help;
}

}  // namespace

std::string help_reference(const CLI::App& app) {
  HelpJson help = help_of(app, "");
  help["version"] = TRAWL_VERSION;
  return help.dump(2) + "\n";
}

}  // namespace trawl::cli
