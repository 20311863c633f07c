// TextFinder: finds which of many short texts another text contains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// The automaton of Aho and Corasick ("Efficient string matching", 1975), ignoring ASCII case: one
// step per byte, for any number of texts. Only the last kLongest bytes of long texts are searched
// for, so a match of such a text is only possible, not certain. Immutable, thread-safe.
class TextFinder {
 public:
  static constexpr std::size_t kLongest = 24;

  // Empty texts are never found.
  explicit TextFinder(const std::vector<std::string>& texts);

  // Replaces `found` by the numbers of the texts in `in`, each once, in no particular order.
  void find(std::string_view in, std::vector<int>& found) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Output {
    int text;
    std::uint32_t next;  // of the same state, or kNone
  };

  void number_bytes(const std::vector<std::string>& texts);
  void add(std::string_view text, int number);
  void connect();

  std::array<std::uint8_t, 256> class_of_{};  // class 0: bytes that are in no text
  std::size_t classes_ = 1;
  std::vector<std::uint32_t> next_;  // by state and class
  std::vector<std::uint32_t> first_output_;
  // The nearest state with outputs among the suffixes of this state, itself included.
  std::vector<std::uint32_t> output_state_;
  std::vector<std::uint32_t> shorter_output_state_;  // the same, itself excluded
  std::vector<Output> outputs_;
  std::size_t texts_ = 0;
};

}  // namespace trawl
