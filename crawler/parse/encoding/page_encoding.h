// The encoding of a page: detection, decoding to UTF-8, and encoding of queries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

struct EncodingInfo;

// An encoding of the Encoding Standard (https://encoding.spec.whatwg.org/#names-and-labels). Cheap
// to copy.
class PageEncoding {
 public:
  static PageEncoding utf8() noexcept { return PageEncoding(0); }
  static PageEncoding windows_1252() noexcept;
  // Finds an encoding by one of the standard's labels ("latin1", "sjis"), ignoring case and
  // surrounding white space.
  static std::optional<PageEncoding> find(std::string_view label) noexcept;

  // The standard's name: "UTF-8", "windows-1252", "Shift_JIS". Valid forever.
  std::string_view name() const noexcept;
  // The encoding of queries: UTF-8 for UTF-16 and "replacement", else the encoding itself.
  PageEncoding output() const noexcept;
  bool is_utf8() const noexcept { return index_ == 0; }
  friend bool operator==(const PageEncoding&, const PageEncoding&) = default;

 private:
  friend const EncodingInfo& encoding_info(PageEncoding encoding) noexcept;

  explicit constexpr PageEncoding(std::uint8_t index) : index_(index) {}
  std::uint8_t index_;
};

// Detects the encoding of an HTML page, by the first of these: byte order mark, the charset of
// `content_type` (the value of the HTTP header), <meta> in the first 1,024 bytes by the standard's
// prescan (https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding);
// UTF-8 if the bytes are valid UTF-8, <meta> in the first 64 KiB, windows-1252.
PageEncoding detect_encoding(std::string_view bytes, std::string_view content_type);

// Returns `bytes` as UTF-8, without a byte order mark: a view of `bytes` if no conversion is needed
// (ASCII; UTF-8, whose invalid bytes stay), else of `buffer`, which is overwritten. Invalid bytes
// of other encodings become U+FFFD.
std::string_view decode_page(std::string_view bytes, PageEncoding encoding, std::string& buffer);

// Returns `reference`, a URL or relative reference in UTF-8, with the non-ASCII characters of its
// query encoded in `encoding` and percent-encoded; characters that the encoding lacks become
// "%26%23NNN%3B" (https://url.spec.whatwg.org/#string-percent-encode-after-encoding). A view of
// `reference` if nothing changes, else of `buffer`, which is overwritten.
std::string_view encode_query(std::string_view reference, PageEncoding encoding,
                              std::string& buffer);

}  // namespace trawl
