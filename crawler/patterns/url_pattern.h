// UrlPattern: a glob or a regular expression that URLs match or not.
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
// A glob with a host at its beginning covers URLs with a user name and a password, too. Matching
// takes time linear in the URL. Immutable, thread-safe, cheap to copy.
class UrlPattern {
 public:
  static constexpr std::size_t kMaxLength = 4096;

  // Errors: kInvalidArgument with the pattern and what is wrong with it: empty, too long, a regular
  // expression RE2 does not take, a glob that matches no URL: it has bytes that none has, begins
  // with a '/', has another scheme, a host without a path, or one as no URL spells it (in upper
  // case, with the port of its scheme). So is one such as "*.example.com", which says host and
  // would match what URLs end with; "*.pdf" is not.
  static Result<UrlPattern> parse(std::string_view text);

  bool matches(std::string_view href) const;
  const std::string& text() const { return *text_; }
  // What the pattern is in RE2's syntax.
  const std::string& expression() const;

 private:
  UrlPattern(std::shared_ptr<const std::string> text, std::shared_ptr<const re2::RE2> expression)
      : text_(std::move(text)), expression_(std::move(expression)) {}

  std::shared_ptr<const std::string> text_;
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace trawl
