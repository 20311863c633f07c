// The indexes of the Encoding Standard (https://encoding.spec.whatwg.org/#indexes), which say what
// character the bytes of the older encodings stand for. They are made when first used, from the
// tables of the C library's iconv() and a list of where those differ from the standard; one that
// iconv() lacks is empty, and its bytes mean nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "crawler/parse/encoding/packed_utf8.h"
#include "crawler/parse/encoding/page_encoding.h"
#include "crawler/parse/encoding/two_byte_pointers.h"

namespace trawl {

// The characters of all bytes, U+FFFD for those that mean nothing.
using SingleByteIndex = std::array<PackedUtf8, 256>;

// The characters of an encoding's pointers, 0 for those that mean nothing; has all pointers that
// its decoder can come to.
using PointerIndex = std::vector<PackedUtf8>;

const SingleByteIndex& single_byte_index(PageEncoding encoding);

const PointerIndex& big5_index();
const PointerIndex& euc_kr_index();
const PointerIndex& gb18030_index();
const PointerIndex& gb18030_four_byte_index();  // the pointers below kGb18030SupplementaryPointer
const PointerIndex& jis0208_index();            // with Shift_JIS's characters that users define
const PointerIndex& jis0212_index();

// Pointers of four-byte sequences of gb18030 from here on are U+10000 and those after it.
inline constexpr std::size_t kGb18030SupplementaryPointer = 189000;

struct IndexCorrection {
  std::uint16_t bytes;
  std::uint16_t code_point;  // 0: means nothing
  std::uint16_t count = 1;   // so many of both, one after the other
};

// Where the sequences of two bytes of an encoding have their pointers.
struct TwoByteLayout {
  const char* iconv_name;
  std::string_view prefix;  // what comes before them
  std::size_t pointers;
  bool (*is_lead)(unsigned byte);
  std::size_t (*pointer)(unsigned lead, unsigned trail);
  std::span<const IndexCorrection> corrections;
};

// What the functions above are made of; of encodings that iconv() lacks they give what is said
// there.
PointerIndex make_two_byte_index(const TwoByteLayout& layout);
SingleByteIndex make_single_byte_index(const char* iconv_name, std::string_view name);

}  // namespace trawl
