// The encodings of the Encoding Standard and how each is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Groups of encodings with the same decoder.
enum class EncodingFamily : std::uint8_t {
  kUtf8,
  kSingleByte,
  kGbk,
  kGb18030,
  kBig5,
  kEucJp,
  kIso2022Jp,
  kShiftJis,
  kEucKr,
  kReplacement,
  kUtf16Be,
  kUtf16Le,
};

struct EncodingInfo {
  std::string_view name;
  EncodingFamily family;
  const char* iconv_name;   // for single-byte encodings: the iconv() table to use, if any
  std::string_view labels;  // in lower case, separated by spaces
};

const EncodingInfo& encoding_info(PageEncoding encoding) noexcept;

inline constexpr std::size_t kEncodingCount = 40;
std::size_t encoding_position(PageEncoding encoding) noexcept;  // below kEncodingCount

}  // namespace trawl
