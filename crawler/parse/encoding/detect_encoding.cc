#include <cstddef>
#include <optional>
#include <string_view>

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "base/utf8_validation.h"
#include "crawler/parse/encoding/byte_order_mark.h"
#include "crawler/parse/encoding/charset_parameter.h"
#include "crawler/parse/encoding/meta_prescan.h"
#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

namespace {

constexpr std::size_t kPrescanBytes = 1024;
// Browsers that find a later <meta> reload the page with its encoding.
constexpr std::size_t kLatePrescanBytes = 64u << 10;

// A page that a size limit cut in the middle of a character is still UTF-8, if it has other
// non-ASCII characters.
bool is_utf8_page(std::string_view bytes) {
  const std::string_view whole = bytes.substr(0, bytes.size() - unfinished_utf8_length(bytes));
  if (!is_utf8(whole)) return false;
  return whole.size() == bytes.size() || ascii_prefix_length(whole) < whole.size();
}

}  // namespace

std::optional<PageEncoding> byte_order_mark(std::string_view bytes) noexcept {
  if (bytes.starts_with(kByteOrderMark)) return PageEncoding::utf8();
  if (bytes.starts_with("\xFE\xFF")) return PageEncoding::find("utf-16be");
  if (bytes.starts_with("\xFF\xFE")) return PageEncoding::find("utf-16le");
  return std::nullopt;
}

std::size_t byte_order_mark_length(std::string_view bytes, PageEncoding encoding) noexcept {
  if (byte_order_mark(bytes) != encoding) return 0;
  return encoding.is_utf8() ? 3 : 2;
}

PageEncoding detect_encoding(std::string_view bytes, std::string_view content_type) {
  if (const auto encoding = byte_order_mark(bytes)) return *encoding;
  if (const auto encoding = PageEncoding::find(charset_parameter(content_type))) return *encoding;
  if (const auto encoding = prescan_encoding(bytes.substr(0, kPrescanBytes))) return *encoding;
  if (is_utf8_page(bytes)) return PageEncoding::utf8();
  const auto late = prescan_encoding(bytes.substr(0, kLatePrescanBytes));
  return late.value_or(PageEncoding::windows_1252());
}

}  // namespace trawl
