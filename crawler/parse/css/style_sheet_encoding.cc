#include "crawler/parse/css/style_sheet_encoding.h"

#include <cstddef>
#include <optional>

#include "crawler/parse/encoding/byte_order_mark.h"
#include "crawler/parse/encoding/charset_parameter.h"

namespace trawl {

namespace {

constexpr std::string_view kCharset = "@charset \"";  // these bytes exactly
constexpr std::size_t kMostBytes = 1024;

std::optional<PageEncoding> charset_rule(std::string_view bytes) {
  if (!bytes.starts_with(kCharset)) return std::nullopt;
  const std::string_view rest = bytes.substr(0, kMostBytes).substr(kCharset.size());
  const std::size_t quote = rest.find('"');
  if (quote == rest.npos || !rest.substr(quote).starts_with("\";")) return std::nullopt;
  const auto encoding = PageEncoding::find(rest.substr(0, quote));
  // The rule was read as ASCII, so it is not in UTF-16.
  if (encoding && encoding->name().starts_with("UTF-16")) return PageEncoding::utf8();
  return encoding;
}

}  // namespace

PageEncoding style_sheet_encoding(std::string_view bytes, std::string_view content_type,
                                  PageEncoding environment) {
  if (const auto encoding = byte_order_mark(bytes)) return *encoding;
  if (const auto encoding = PageEncoding::find(charset_parameter(content_type))) return *encoding;
  return charset_rule(bytes).value_or(environment);
}

}  // namespace trawl
