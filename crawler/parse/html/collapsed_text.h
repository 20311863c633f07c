// CollapsedText: collects text with collapsed white space, up to a length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trawl {

class CollapsedText {
 public:
  // Appends at most `limit` bytes to `out`, which must be empty.
  CollapsedText(std::string& out, std::size_t limit) : out_(out), limit_(limit) {}

  // Adds UTF-8. A word may continue in the next piece.
  void add(std::string_view text);
  void add_space() noexcept { space_ = true; }
  // True once the text was cut, between two characters; further text is ignored.
  bool full() const noexcept { return full_; }

 private:
  void add_word(std::string_view word);

  std::string& out_;
  const std::size_t limit_;
  bool space_ = false;  // white space since the last word
  bool full_ = false;
};

}  // namespace trawl
