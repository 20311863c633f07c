// GumboText: rewrites a page so that Gumbo keeps all its characters.
//
// Gumbo's UTF-8 decoder replaces control characters and noncharacters by U+FFFD, which the HTML
// Standard keeps, and produces a different number of U+FFFD for invalid bytes; its tokenizer drops
// a NUL before an attribute's name. So the page is decoded first, and such characters are replaced
// by private-use characters, which are restored in the results.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace trawl {

class GumboText {
 public:
  // Returns the text to give to Gumbo: a view of `html` or of this object, valid until the next
  // call.
  std::string_view hide(std::string_view html);
  // Restores a text of Gumbo's tree: returns `text`, or a view of a string added to `made`.
  std::string_view restore(std::string_view text, std::deque<std::string>& made) const;

 private:
  std::string hidden_;
  bool some_are_hidden_ = false;
};

}  // namespace trawl
