// UrlStrings: finds quoted strings that look like URLs, in scripts and JSON.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

// Guesses: a string is taken if it is an http(s) URL, begins like a path ("/x", "./x", "../x",
// "//host.example/x"), or ends, before a query or fragment, like the name of a file of the web
// ("a/b.html"); and if it has no white space and no character that is rare in URLs and common in
// code.
// Escapes of JavaScript and JSON are decoded. Code is not parsed: quotes in comments and regular
// expressions may hide or make a string. Takes linear time.
class UrlStrings {
 public:
  static constexpr std::size_t kLongest = 2048;  // bytes, as written

  // Strings are views of `text` or, if they had escapes, of strings added to `made`; both must
  // outlive them.
  UrlStrings(std::string_view text, std::deque<std::string>& made) : text_(text), made_(made) {}

  // The next one; nothing at the end.
  std::optional<std::string_view> next();

 private:
  std::size_t end_of_literal(std::size_t begin, char quote) const noexcept;
  std::string_view decoded(std::string_view literal);

  const std::string_view text_;
  std::deque<std::string>& made_;
  std::size_t at_ = 0;
  std::string scratch_;
};

// Whether the path of a URL ends like the name of an image, a font, a script, a style sheet, or of
// media.
bool is_named_as_requisite(std::string_view path) noexcept;

}  // namespace trawl
