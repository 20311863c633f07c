#include "crawler/config/home_path.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include "crawler/config/config_values.h"

namespace trawl {

namespace {

// The home directory of user `name`, or of the current user if `name` is empty; empty if unknown.
std::string home_of(const std::string& name) {
  constexpr std::size_t kMost = 1u << 20;
  passwd entry{};
  passwd* found = nullptr;
  for (std::vector<char> buffer(4096); buffer.size() <= kMost; buffer.resize(2 * buffer.size())) {
    const int error =
        name.empty() ? ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found)
                     : ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error == ERANGE) continue;
    return found == nullptr || found->pw_dir == nullptr ? "" : found->pw_dir;
  }
  return {};
}

}  // namespace

tl::expected<std::filesystem::path, std::string> expand_home(std::string_view path) {
  if (!path.starts_with('~')) return std::filesystem::path(path);
  const std::string name(path.substr(1, path.find('/') - 1));
  // HOME takes precedence, for tests and services.
  const char* const variable = name.empty() ? std::getenv("HOME") : nullptr;
  const std::string home =
      variable != nullptr && *variable != '\0' ? std::string(variable) : home_of(name);
  if (home.empty()) {
    return tl::unexpected(name.empty() ? "there is no home directory: HOME is not set"
                                       : fmt::format("there is no user {}", shown(name)));
  }
  const std::size_t slash = path.find('/');
  const std::size_t rest = path.find_first_not_of('/', slash);
  if (slash == std::string_view::npos || rest == std::string_view::npos) return home;
  return std::filesystem::path(home) / path.substr(rest);
}

}  // namespace trawl
