// Command-line options whose values are parsed by a function.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace trawl::cli {

// Adds an option whose text `parse` converts to a value; errors of `parse` are usage errors.
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
