// TextFinder: which of many short texts another one contains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trawl {

// The automaton of Aho and Corasick ("Efficient string matching", 1975) over bytes in any ASCII
// case: one step for each byte, however many texts there are. Of long texts only the last kLongest
// bytes are looked for, so that what is found may lack the bytes before them. Immutable,
// thread-safe.
class TextFinder {
 public:
  static constexpr std::size_t kLongest = 24;

  // Empty texts are never found.
  explicit TextFinder(const std::vector<std::string>& texts);

  // Replaces `found` by the numbers of the texts that `in` has, each once, in no order.
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

  std::array<std::uint8_t, 256> class_of_{};  // bytes that no text has are of class 0
  std::size_t classes_ = 1;
  std::vector<std::uint32_t> next_;  // by state and class
  std::vector<std::uint32_t> first_output_;
  // The nearest state with outputs for an ending of what led to this state, itself first.
  std::vector<std::uint32_t> output_state_;
  std::vector<std::uint32_t> shorter_output_state_;  // the same without itself
  std::vector<Output> outputs_;
  std::size_t texts_ = 0;
};

}  // namespace trawl
