#include "crawler/parse/html/srcset.h"

#include <cstddef>

#include "base/ascii.h"

namespace trawl {
namespace {

std::size_t digits_at(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at;
  while (end < text.size() && is_ascii_digit(text[end]))
    ++end;
  return end - at;
}

// The standard's "valid non-negative integer", other than zero.
bool is_positive_integer(std::string_view text) noexcept {
  return !text.empty() && digits_at(text, 0) == text.size() &&
         text.find_first_not_of('0') != std::string_view::npos;
}

// The standard's "valid floating-point number", but not a negative one.
bool is_valid_density(std::string_view text) noexcept {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::size_t at = digits_at(text, 0);
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_at(text, at + 1);
    if (fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at == 0) return false;
  const bool zero = text.substr(0, at).find_first_not_of("0.") == std::string_view::npos;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const std::size_t exponent = digits_at(text, at);
    if (exponent == 0) return false;
    at += exponent;
  }
  return at == text.size() && (!negative || zero);
}

// The descriptors of one candidate.
class Descriptors {
 public:
  void add(std::string_view descriptor) noexcept {
    const char unit = descriptor.back();
    descriptor.remove_suffix(1);
    bool fits = false;
    if (unit == 'w') {
      fits = !width_ && !density_ && is_positive_integer(descriptor);
      width_ = true;
    } else if (unit == 'x') {
      fits = !width_ && !density_ && !height_ && is_valid_density(descriptor);
      density_ = true;
    } else if (unit == 'h') {
      fits = !height_ && !density_ && is_positive_integer(descriptor);
      height_ = true;
    }
    valid_ = valid_ && fits;
  }
  bool valid() const noexcept { return valid_ && (!height_ || width_); }

 private:
  bool width_ = false;
  bool density_ = false;
  bool height_ = false;
  bool valid_ = true;
};

}  // namespace

std::optional<std::string_view> Srcset::next() noexcept {
  while (true) {
    std::size_t start = 0;
    while (start < rest_.size() && (is_html_white_space(rest_[start]) || rest_[start] == ','))
      ++start;
    if (start == rest_.size()) {
      rest_ = {};
      return std::nullopt;
    }
    std::size_t end = start;
    while (end < rest_.size() && !is_html_white_space(rest_[end]))
      ++end;
    std::string_view url = rest_.substr(start, end - start);
    rest_.remove_prefix(end);
    if (url.back() == ',') {
      url.remove_suffix(url.size() - 1 - url.find_last_not_of(','));
      return url;
    }
    if (take_descriptors()) return url;
  }
}

// Reads to the comma that ends the candidate; commas in parentheses do not. Returns true if the
// candidate is valid.
bool Srcset::take_descriptors() noexcept {
  Descriptors descriptors;
  std::size_t start = 0;  // start of the current descriptor
  std::size_t at = 0;
  bool in_parentheses = false;
  const auto finish = [&] {
    if (at > start) descriptors.add(rest_.substr(start, at - start));
    start = at + 1;
  };
  for (; at < rest_.size(); ++at) {
    const char c = rest_[at];
    if (in_parentheses) {
      if (c == ')') in_parentheses = false;
    } else if (c == '(') {
      in_parentheses = true;
    } else if (is_html_white_space(c)) {
      finish();
    } else if (c == ',') {
      break;
    }
  }
  finish();
  rest_.remove_prefix(at);
  return descriptors.valid();
}

}  // namespace trawl
