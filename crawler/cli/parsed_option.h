// Options of the command line that a function of ours reads.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace trawl::cli {

// An option whose text `parse` makes a value of; what it finds wrong is an error of usage.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App* command, const std::string& name, std::optional<Value>& value,
                        Parse parse, const std::string& help) {
  return command->add_option_function<std::string>(
      name,
      [name, &value, parse](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(name, parsed.error());
        value = *parsed;
      },
      help);
}

}  // namespace trawl::cli
