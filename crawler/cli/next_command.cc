#include "crawler/cli/next_command.h"

#include <fmt/format.h>

#include "crawler/cli/shell_word.h"

namespace trawl::cli {

std::string NextCommand::resume() const {
  std::string command = fmt::format("{} resume {}", quoted(program_), quoted(target_));
  for (const std::string& assignment : settings_)
    command += " --set " + quoted(assignment);
  return command;
}

std::string NextCommand::resume_with(std::string_view key, std::string_view value) const {
  NextCommand changed = *this;
  std::erase_if(changed.settings_, [key](const std::string& assignment) {
    return assignment.starts_with(key) && assignment.size() > key.size() &&
           assignment[key.size()] == '=';
  });
  changed.settings_.push_back(fmt::format("{}={}", key, value));
  return changed.resume();
}

std::string NextCommand::report() const {
  return fmt::format("{} report {}", quoted(program_), quoted(target_));
}

}  // namespace trawl::cli
