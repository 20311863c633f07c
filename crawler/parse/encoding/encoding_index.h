// The indexes of the Encoding Standard (https://encoding.spec.whatwg.org/#indexes), which map bytes
// of older encodings to characters. They are built when first used, from the tables of the C
// library's iconv() and a list of differences from the standard. If iconv() lacks an encoding, its
// index is empty, and all its bytes are invalid.
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

// The characters of all bytes, U+FFFD for invalid ones.
using SingleByteIndex = std::array<PackedUtf8, 256>;

// The characters of an encoding's pointers, 0 for invalid ones; covers all pointers that the
// decoder can compute.
using PointerIndex = std::vector<PackedUtf8>;

const SingleByteIndex& single_byte_index(PageEncoding encoding);

const PointerIndex& big5_index();
const PointerIndex& euc_kr_index();
const PointerIndex& gb18030_index();
const PointerIndex& gb18030_four_byte_index();  // the pointers below kGb18030SupplementaryPointer
const PointerIndex& jis0208_index();            // with the user-defined characters of Shift_JIS
const PointerIndex& jis0212_index();

// From this pointer on, four-byte sequences of gb18030 map to U+10000 and the following characters.
inline constexpr std::size_t kGb18030SupplementaryPointer = 189000;

struct IndexCorrection {
  std::uint16_t bytes;
  std::uint16_t code_point;  // 0: invalid
  std::uint16_t count = 1;   // number of consecutive pointers and code points
};

// How the two-byte sequences of an encoding map to pointers.
struct TwoByteLayout {
  const char* iconv_name;
  std::string_view prefix;  // bytes before each sequence
  std::size_t pointers;
  bool (*is_lead)(unsigned byte);
  std::size_t (*pointer)(unsigned lead, unsigned trail);
  std::span<const IndexCorrection> corrections;
};

// Used by the functions above; see there for encodings that iconv() lacks.
PointerIndex make_two_byte_index(const TwoByteLayout& layout);
SingleByteIndex make_single_byte_index(const char* iconv_name, std::string_view name);

}  // namespace trawl
