// The encoding of a page: which it is, the page as UTF-8, and how queries are written in it.
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
  // By one of the standard's labels ("latin1", "sjis"), in any case, white space around it ignored.
  static std::optional<PageEncoding> find(std::string_view label) noexcept;

  // The standard's name: "UTF-8", "windows-1252", "Shift_JIS". Lives as long as the program.
  std::string_view name() const noexcept;
  // What queries are written in: UTF-8 for UTF-16 and "replacement", else the encoding itself.
  PageEncoding output() const noexcept;
  bool is_utf8() const noexcept { return index_ == 0; }
  friend bool operator==(const PageEncoding&, const PageEncoding&) = default;

 private:
  friend const EncodingInfo& encoding_info(PageEncoding encoding) noexcept;

  explicit constexpr PageEncoding(std::uint8_t index) : index_(index) {}
  std::uint8_t index_;
};

// Finds the encoding of an HTML page: byte order mark, the charset of `content_type` (the value of
// the HTTP header), <meta> in the first 1,024 bytes by the standard's prescan
// (https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding); else
// UTF-8 if the bytes are that, else <meta> in the first 64 KiB, else windows-1252.
PageEncoding detect_encoding(std::string_view bytes, std::string_view content_type);

// `bytes` without a byte order mark as UTF-8, or as bytes that do for links: a view of `bytes`
// where nothing needs converting (UTF-8, whose invalid bytes stay; ASCII), else of `buffer`, which
// is overwritten. Bytes that mean nothing become U+FFFD.
std::string_view decode_page(std::string_view bytes, PageEncoding encoding, std::string& buffer);

// `reference`, a URL or relative reference in UTF-8, with the characters of its query that are not
// ASCII written in `encoding` and percent-encoded, those it lacks as "%26%23NNN%3B"
// (https://url.spec.whatwg.org/#string-percent-encode-after-encoding). Returns a view of
// `reference` where nothing changes, else of `buffer`, which is overwritten.
std::string_view encode_query(std::string_view reference, PageEncoding encoding,
                              std::string& buffer);

}  // namespace trawl
