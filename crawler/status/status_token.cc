#include "crawler/status/status_token.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/file_io.h"

namespace trawl {

namespace {

constexpr std::size_t kTokenDigits = 32;

bool is_token(std::string_view text) {
  return text.size() == kTokenDigits &&
         std::ranges::all_of(text, [](char c) { return hex_value(c) >= 0; });
}

}  // namespace

std::string random_hex() {
  std::array<unsigned char, kTokenDigits / 2> bytes{};
  // Of so few bytes the call neither fails nor returns fewer, once the system has started.
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  std::string digits;
  for (const unsigned char byte : bytes)
    fmt::format_to(std::back_inserter(digits), "{:02x}", byte);
  return digits;
}

std::filesystem::path status_token_path(const std::filesystem::path& state_dir) {
  return state_dir / "status-token";
}

Result<std::string> status_token(const std::filesystem::path& state_dir) {
  const std::string path = status_token_path(state_dir).string();
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & 077) == 0) {
    auto text = read_file(path, 4096);
    if (text) {
      while (text->ends_with('\n'))
        text->pop_back();
      if (is_token(*text)) return *text;
    }
  }
  std::string token = random_hex();
  if (auto written = replace_file(path, token + "\n", 0600); !written)
    return tl::unexpected(written.error());
  return token;
}

}  // namespace trawl
