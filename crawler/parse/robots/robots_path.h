// The normal form in which paths of URLs and patterns of robots.txt are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// Appends `text` with normalised percent-encoding (RFC 9309, section 2.2.2): unreserved characters
// are unescaped, characters that URLs cannot hold are escaped, with upper-case digits. '*' and '$'
// are literal in a URL, so they are escaped there, as in patterns that mean the literal characters;
// in a pattern, '*' stays. The result has no zero bytes.
void append_normalized(std::string_view text, bool is_pattern, std::string& out);

// The set of bytes in normalised `text`, folded to 62 bits: if the set of `a` has a bit that the
// set of `b` lacks, `b` lacks a byte of `a`.
std::uint64_t robots_byte_set(std::string_view text);

// The first eight bytes of `text` as a number with the same order, padded with zeros.
std::uint64_t robots_sort_key(std::string_view text);

// The normalised path and query of a URL; a view of the URL if nothing changes.
class RobotsPath {
 public:
  explicit RobotsPath(const Url& url);
  RobotsPath(const RobotsPath&) = delete;
  RobotsPath& operator=(const RobotsPath&) = delete;

  std::string_view text() const noexcept { return text_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  // robots_byte_set(text())

 private:
  std::string normalized_;
  std::string_view text_;
  std::uint64_t bytes_ = 0;
};

}  // namespace trawl
