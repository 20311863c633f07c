// Utf8Stream: converts a document of any encoding to UTF-8, piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Detects the encoding from a byte order mark, the pattern of UTF-16 without one, or the XML
// declaration; else assumes UTF-8. Bytes that are not UTF-8 in such a document are taken for
// windows-1252, the most common case. The byte order mark is removed. The output is valid UTF-8.
class Utf8Stream {
 public:
  Utf8Stream() = default;
  ~Utf8Stream();
  Utf8Stream(const Utf8Stream&) = delete;
  Utf8Stream& operator=(const Utf8Stream&) = delete;

  // Appends the decoded `bytes` to `out`. The first piece must contain the whole XML declaration.
  // `last`: nothing follows, so an incomplete character at the end is replaced.
  void decode(std::string_view bytes, bool last, std::string& out);

  // True if bytes were not UTF-8 although no other encoding was declared.
  bool repaired() const noexcept { return repaired_; }

 private:
  enum class Encoding : std::uint8_t { kUtf8, kUtf16Little, kUtf16Big, kSingleByte, kIconv };

  std::size_t detect(std::string_view bytes);
  void choose(PageEncoding declared);
  // Each returns how many bytes of its input it converted; the rest is the start of a character.
  std::size_t decode_utf8(std::string_view bytes, bool last, std::string& out);
  std::size_t decode_utf16(std::string_view bytes, bool last, std::string& out);
  std::size_t decode_iconv(std::string_view bytes, bool last, std::string& out);

  Encoding encoding_ = Encoding::kUtf8;
  bool detected_ = false;
  bool repaired_ = false;
  std::string carry_;  // an incomplete character
  const SingleByteIndex* single_byte_index_ = nullptr;
  void* iconv_ = nullptr;  // iconv_t
  std::string decoded_;    // buffer for the decoders, which may write beyond their output
};

}  // namespace trawl
