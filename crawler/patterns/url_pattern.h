// UrlPattern: a glob or a regular expression for URLs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "trawl/result.h"

namespace re2 {
class RE2;
}

namespace trawl {

// A pattern as people write it, for whole URLs as Url::href() spells them, without a fragment:
//   example.com/private/*    a glob: '*' is any run of bytes, also an empty one, '?' any one byte.
//                            It has to match from end to end, and case counts. One without a scheme
//                            leaves it open, unless it begins with '*'.
//   https://example.com/*    with a scheme
//   *.pdf                    anything that ends so
//   re:/\d{4}/\d\d?/         a regular expression in RE2's syntax, found anywhere
// A glob that begins with a host also matches URLs with a user name and a password. Matching takes
// time linear in the URL. Immutable, thread-safe, cheap to copy.
class UrlPattern {
 public:
  static constexpr std::size_t kMaxLength = 4096;

  // Errors: kInvalidArgument, with the pattern and what is wrong with it: empty, too long, a
  // regular expression that RE2 refuses, or a glob that cannot match: it has bytes that no URL has,
  // begins with a '/', has another scheme, a host without a path, or a host that is not in
  // canonical form (in upper case, or with the default port). A glob such as "*.example.com" is
  // refused too: it means a host, but would match the end of URLs; "*.pdf" is allowed.
  static Result<UrlPattern> parse(std::string_view text);

  bool matches(std::string_view href) const;
  const std::string& text() const { return *text_; }
  // The pattern in RE2's syntax.
  const std::string& expression() const;

 private:
  UrlPattern(std::shared_ptr<const std::string> text, std::shared_ptr<const re2::RE2> expression)
      : text_(std::move(text)), expression_(std::move(expression)) {}

  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace trawl
