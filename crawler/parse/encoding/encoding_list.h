// The encodings of the Encoding Standard and how each is dealt with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Encodings that are decoded alike.
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
  const char* iconv_name;   // of single-byte encodings: where their table comes from, if anywhere
  std::string_view labels;  // in lower case, separated by spaces
};

const EncodingInfo& encoding_info(PageEncoding encoding) noexcept;

inline constexpr std::size_t kEncodingCount = 40;
std::size_t encoding_position(PageEncoding encoding) noexcept;  // below kEncodingCount

}  // namespace trawl
