// The first byte of the input picks an encoding, the rest is a page, a Content-Type and a link: no
// crash, and what comes out is UTF-8 that still holds the ASCII that browsers would see.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8_validation.h"
#include "crawler/parse/encoding/page_encoding.h"

namespace {

using namespace trawl;

constexpr std::string_view kLabels[] = {
    "utf-8",     "ibm866",      "iso-8859-2",   "iso-8859-6",     "iso-8859-8-i", "koi8-u",
    "macintosh", "windows-874", "windows-1252", "windows-1255",   "gbk",          "gb18030",
    "big5",      "euc-jp",      "iso-2022-jp",  "shift_jis",      "euc-kr",       "replacement",
    "utf-16be",  "utf-16le",    "koi8-r",       "x-user-defined", "windows-1251", "x-mac-cyrillic",
};

void check(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "the check in line %d does not hold\n", line);
  std::abort();
}

// Mark-up: never the second byte of a character, but the fourth of gb18030's may be a digit.
std::string mark_up(std::string_view text) {
  std::string found;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x30 || (c >= 0x3A && c < 0x40)) found += c;
  }
  return found;
}

bool keeps_ascii(PageEncoding encoding) {
  return encoding.output() == encoding && encoding.name() != "ISO-2022-JP";
}

void check_page(std::string_view page, PageEncoding encoding, std::string& buffer) {
  const std::string_view text = decode_page(page, encoding, buffer);
  check(text.size() <= 3 * page.size() + 3);
  if (encoding.is_utf8()) {
    check(page.ends_with(text) && page.size() - text.size() <= 3);
    return;
  }
  check(is_utf8(text));
  if (keeps_ascii(encoding)) check(mark_up(text) == mark_up(page));
}

void check_query(std::string_view reference, PageEncoding encoding, std::string& buffer) {
  const std::string_view encoded = encode_query(reference, encoding, buffer);
  check(encoded.size() <= 20 * reference.size() + 20);
  const std::size_t query = reference.find_first_of("?#");
  const bool has_query = query != std::string_view::npos && reference[query] == '?';
  if (!has_query || encoding.output().is_utf8()) {
    check(encoded == reference);
    return;
  }
  check(encoded.substr(0, query + 1) == reference.substr(0, query + 1));
  const std::size_t fragment = reference.find('#', query);
  check((encoded.find('#', query) == std::string_view::npos) ==
        (fragment == std::string_view::npos));
  if (fragment != std::string_view::npos) check(encoded.ends_with(reference.substr(fragment)));
  for (const char c : encoded.substr(query, encoded.find('#', query) - query))
    check(static_cast<unsigned char>(c) < 0x80);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto encoding = PageEncoding::find(kLabels[data[0] % std::size(kLabels)]);
  check(encoding.has_value());
  static std::string buffer;

  check(is_utf8(input) == is_utf8_portable(input));
  check_page(input, *encoding, buffer);
  check_query(input, *encoding, buffer);

  const std::size_t line_end = input.find('\n');
  const PageEncoding detected =
      detect_encoding(input.substr(line_end == std::string_view::npos ? 0 : line_end + 1),
                      input.substr(0, line_end));
  check(PageEncoding::find(detected.name()) == detected);
  check_page(input, detected, buffer);
  return 0;
}
