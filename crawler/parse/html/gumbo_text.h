// GumboText: a page in characters that Gumbo leaves as they are.
//
// Gumbo's reader of UTF-8 replaces control characters and noncharacters by U+FFFD, where the HTML
// Standard keeps them, and takes another count of U+FFFD for invalid bytes than decoders do; its
// tokenizer drops a NUL in front of an attribute's name. So the page is decoded before, and such
// characters cross over as ones of a private plane.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace trawl {

class GumboText {
 public:
  // What to give to Gumbo for `html`: a view of it, or of this, valid until the next call.
  std::string_view hide(std::string_view html);
  // A text of Gumbo's tree as the page has it: `text`, or a view of what is added to `made`.
  std::string_view restore(std::string_view text, std::deque<std::string>& made) const;

 private:
  std::string hidden_;
  bool some_are_hidden_ = false;
};

}  // namespace trawl
