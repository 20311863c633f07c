#include "crawler/cli/command_search.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/cli/typed_urls.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"

namespace trawl::cli {

namespace {

std::vector<CLI::App*> visible_commands(CLI::App& app) {
  std::vector<CLI::App*> commands =
      app.get_subcommands([](CLI::App* each) { return !each->get_group().empty(); });
  return commands;
}

CLI::App* command_named(CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](CLI::App* each) { return each->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// Every name of the options: "--output", "-o".
std::vector<std::string> option_names(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string& name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

const CLI::Option* option_named(CLI::App& command, const std::string& name) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->nonpositional() && option->check_name(name)) return option;
  }
  return nullptr;
}

std::string unknown_command(CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const each : visible_commands(app))
    names.push_back(each->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = nearest_name(word, known);
  std::string message = fmt::format("unknown command {}", shown(word));
  if (!nearest.empty()) {
    message += fmt::format("; did you mean {} {}?", path_of(app), nearest);
  } else if (app.get_parent() == nullptr && looks_like_url(word)) {
    message += fmt::format("; did you mean {} crawl {}?", path_of(app), word);
  } else if (app.get_parent() != nullptr) {
    message += fmt::format("; there are {}", fmt::join(names, ", "));
  }
  return message;
}

// The config key that a user may have meant by "--max-depth".
const ConfigKey* key_meant_by(std::string_view option) {
  std::string leaf(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::ranges::replace(leaf, '-', '_');
  for (const ConfigKey& key : config_keys()) {
    if (key.leaf() == leaf || key.name == leaf) return &key;
  }
  return nullptr;
}

std::string unknown_option(CLI::App& command, const std::string& name) {
  const std::vector<std::string> names = option_names(command);
  // A single letter is near to every other.
  std::vector<std::string_view> known;
  for (const std::string& each : names) {
    if (each.size() > 2 && name.size() > 2) known.push_back(each);
  }
  const std::string_view nearest = nearest_name(name, known);
  std::string message = fmt::format("unknown option {} of {}", name, path_of(command));
  const ConfigKey* const key =
      option_named(command, "--set") == nullptr ? nullptr : key_meant_by(name);
  if (key != nullptr && nearest != name) {
    message += fmt::format("; did you mean --set {}=VALUE?", key->name);
  } else if (!nearest.empty()) {
    message += fmt::format("; did you mean {}?", nearest);
  }
  return message;
}

}  // namespace

std::string path_of(const CLI::App& command) {
  const CLI::App* const above = command.get_parent();
  return above == nullptr ? command.get_name()
                          : fmt::format("{} {}", path_of(*above), command.get_name());
}

CLI::App* find_command(CLI::App& app, std::span<const std::string> words) {
  CLI::App* command = &app;
  for (const std::string& word : words) {
    command = command_named(*command, word);
    if (command == nullptr) break;
  }
  return command;
}

std::optional<Misspelling> find_misspelling(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = &app;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if (word.size() > 1 && word.front() == '-') {
      const bool is_long = word.starts_with("--");
      const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
      const CLI::Option* const option = option_named(*command, name);
      if (option == nullptr) return Misspelling{unknown_option(*command, name), command};
      if (name == word && option->get_items_expected_min() > 0) ++i;  // its value
    } else if (!visible_commands(*command).empty()) {
      CLI::App* const next = command_named(*command, word);
      if (next == nullptr) return Misspelling{unknown_command(*command, word), command};
      command = next;
    }
  }
  return std::nullopt;
}

}  // namespace trawl::cli
