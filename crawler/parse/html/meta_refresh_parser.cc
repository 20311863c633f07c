#include "crawler/parse/html/meta_refresh_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/ascii.h"

namespace trawl {
namespace {

constexpr std::int64_t kMaxDelay = 365 * 24 * 3600;

bool take(std::string_view& text, char lower) noexcept {
  if (text.empty() || ascii_lower(text.front()) != lower) return false;
  text.remove_prefix(1);
  return true;
}

std::string_view without_quotes(std::string_view text) noexcept {
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return text;
  const char quote = text.front();
  text.remove_prefix(1);
  return text.substr(0, text.find(quote));
}

// "url='x'", "'x'" or "x".
std::string_view refresh_url(std::string_view text) noexcept {
  const std::string_view whole = text;
  if (!take(text, 'u')) return without_quotes(text);
  if (!take(text, 'r') || !take(text, 'l')) return whole;
  skip_white_space(text);
  if (!take(text, '=')) return whole;
  skip_white_space(text);
  return without_quotes(text);
}

}  // namespace

std::optional<PageReferences::Refresh> parse_meta_refresh(std::string_view content) noexcept {
  skip_white_space(content);
  if (content.empty() || (!is_ascii_digit(content.front()) && content.front() != '.')) {
    return std::nullopt;
  }
  std::int64_t delay = 0;
  for (; !content.empty() && is_ascii_digit(content.front()); content.remove_prefix(1))
    delay = std::min(kMaxDelay, delay * 10 + (content.front() - '0'));
  while (!content.empty() && (is_ascii_digit(content.front()) || content.front() == '.'))
    content.remove_prefix(1);

  const PageReferences::Refresh itself{.delay = std::chrono::seconds(delay), .url = {}};
  if (content.empty()) return itself;
  const char separator = content.front();
  if (separator != ';' && separator != ',' && !is_html_white_space(separator)) return std::nullopt;
  skip_white_space(content);
  if (!take(content, ';')) take(content, ',');
  skip_white_space(content);
  if (content.empty()) return itself;
  return PageReferences::Refresh{.delay = itself.delay, .url = refresh_url(content)};
}

}  // namespace trawl
