#include "crawler/config/config_key_lists.h"

#include <algorithm>

#include "crawler/config/media_types.h"
#include "crawler/config/nearest_name.h"
#include "crawler/patterns/url_pattern.h"

namespace trawl::config_key {

bool only_names(const toml::table& table, std::initializer_list<std::string_view> known,
                const ConfigComplaint& complain) {
  bool all_known = true;
  for (auto&& [name, value] : table) {
    if (std::ranges::find(known, name.str()) != known.end()) continue;
    all_known = false;
    const std::string_view nearest = nearest_name(name.str(), {known.begin(), known.size()});
    complain(value, fmt::format("unknown name {}{}; known are {}", shown(name.str()),
                                nearest.empty() ? "" : fmt::format(" (\"{}\"?)", nearest),
                                fmt::join(known, ", ")));
  }
  return all_known;
}

std::optional<std::string> text_at(const toml::table& table, std::string_view name,
                                   const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return std::nullopt;
  auto text = node->value_exact<std::string>();
  if (!text) complain(*node, fmt::format("{}: {}", name, mismatch("a string", "", *node)));
  return text;
}

std::optional<std::string> pattern_at(const toml::table& table, std::string_view name,
                                      const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) {
    complain(table, fmt::format("{} is missing: a URL pattern such as \"*/news/*\"", name));
    return std::nullopt;
  }
  const auto text = text_at(table, name, complain);
  if (!text) return std::nullopt;
  auto pattern = check_pattern(*text);
  if (pattern) return std::move(*pattern);
  complain(*node, fmt::format("{}: {}", name, pattern.error().message));
  return std::nullopt;
}

bool has_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    // U+0080 to U+009F in UTF-8.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      return true;
    }
  }
  return false;
}

Result<std::string> check_pattern(std::string_view text) {
  const auto pattern = UrlPattern::parse(text);
  if (!pattern) return tl::unexpected(pattern.error());
  return std::string(text);
}

Result<std::string> check_media_type(std::string_view text) {
  if (!MediaTypes::is_pattern(text)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("expected a content type such as \"text/html\", \"image/*\" or "
                             "\"*/*\", without parameters; found the string {}",
                             shown(text)));
  }
  std::string type(text);
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

}  // namespace trawl::config_key
