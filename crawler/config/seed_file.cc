#include "crawler/config/seed_file.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/config/config_values.h"
#include "crawler/config/text_file.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::size_t kMaxErrors = 1000;

std::string_view without_blanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t start = line.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return line.substr(start, line.find_last_not_of(kBlanks) - start + 1);
}

}  // namespace

ConfigResult<std::vector<std::string>> read_seed_file(const std::filesystem::path& file) {
  const std::string name = file.string();
  const auto text = read_text_file(file, kMaxBytes);
  if (!text) {
    return tl::unexpected(std::vector{ConfigError{name, 0, 0, "crawl.seed_file: " + text.error()}});
  }
  std::vector<std::string> seeds;
  std::vector<ConfigError> errors;
  std::string_view rest = *text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  for (std::uint32_t line_number = 1; !rest.empty(); ++line_number) {
    const std::size_t length = rest.find('\n');
    const std::string_view line = without_blanks(rest.substr(0, length));
    rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
    if (line.empty() || line.starts_with('#')) continue;
    if (const auto url = Url::parse(line)) {
      seeds.emplace_back(url->href());
      continue;
    } else if (errors.size() < kMaxErrors) {
      errors.push_back({name, line_number, 1,
                        fmt::format("expected an http(s) URL; found {} ({})", shown(line),
                                    url.error().message)});
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return seeds;
}

}  // namespace trawl
