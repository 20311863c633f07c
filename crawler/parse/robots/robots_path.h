// The form in which the paths of URLs and the patterns of robots.txt are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// Appends `text` with its percent-encoding normalised (RFC 9309, section 2.2.2): unreserved
// characters bare, what no URL holds unescaped escaped, with upper case digits. '*' and '$' mean
// themselves in a URL only, so there they are escaped, as patterns must write them; in a pattern
// '*' stays. The result has no zero bytes.
void append_normalized(std::string_view text, bool is_pattern, std::string& out);

// The set of the bytes in normalised `text`, folded to 62 bits: if `a` has bits that `b` has not,
// `b` lacks a byte of `a`.
std::uint64_t robots_byte_set(std::string_view text);

// The first eight bytes of `text` as a number that sorts as they do; zeros where it is shorter.
std::uint64_t robots_sort_key(std::string_view text);

// The path and query of a URL, normalised. Views the URL if nothing in it has to change.
class RobotsTarget {
 public:
  explicit RobotsTarget(const Url& url);
  RobotsTarget(const RobotsTarget&) = delete;
  RobotsTarget& operator=(const RobotsTarget&) = delete;

  std::string_view text() const noexcept { return text_; }
  std::uint64_t bytes() const noexcept { return bytes_; }  // robots_byte_set(text())

 private:
  std::string normalized_;
  std::string_view text_;
  std::uint64_t bytes_ = 0;
};

}  // namespace trawl
