// windows-1252, the encoding of most pages that are not UTF-8; decoded without iconv().
#pragma once

#include <array>

namespace trawl {

// https://encoding.spec.whatwg.org/index-windows-1252.txt: 0x80 to 0x9F; the rest is Latin-1.
inline constexpr std::array<char16_t, 32> kWindows1252Controls = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

constexpr char32_t windows_1252_character(unsigned char byte) noexcept {
  return byte >= 0x80 && byte < 0xA0 ? kWindows1252Controls[byte - 0x80u] : byte;
}

}  // namespace trawl
