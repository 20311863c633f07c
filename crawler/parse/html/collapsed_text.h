// CollapsedText: text with its white space collapsed, up to a length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trawl {

class CollapsedText {
 public:
  // Appends to `out`, which is empty, at most `limit` bytes.
  CollapsedText(std::string& out, std::size_t limit) : out_(out), limit_(limit) {}

  // UTF-8. Words go on from one piece to the next if there is no white space between them.
  void add(std::string_view text);
  void add_space() noexcept { space_ = true; }
  // Nothing more is taken: the text was cut, between two characters.
  bool full() const noexcept { return full_; }

 private:
  void add_word(std::string_view word);

  std::string& out_;
  const std::size_t limit_;
  bool space_ = false;  // since the last word
  bool full_ = false;
};

}  // namespace trawl
