#include "crawler/cli/shell_word.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "crawler/config/crawl_paths.h"

namespace trawl::cli {

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+,:@%=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string resume_command(const std::string& program, const std::string& state_dir) {
  std::error_code error;
  if (!std::filesystem::exists(saved_config_path(state_dir), error)) return {};
  return quoted(program) + " resume " + quoted(state_dir);
}

}  // namespace trawl::cli
