// CharacterIndex: the indexes of the Encoding Standard reversed, from characters to pointers or
// bytes.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Built from (character, value) pairs; the first pair added for a character is used.
class CharacterIndex {
 public:
  void add(char32_t character, std::uint32_t value) {
    assert(!sorted_);
    entries_.push_back({character, value});
  }
  // Call after the last add().
  void sort();

  std::optional<std::uint32_t> find(char32_t character) const;

 private:
  struct Entry {
    char32_t character;
    std::uint32_t value;
  };
  std::vector<Entry> entries_;
  bool sorted_ = false;
};

// Built when first used. The values are pointers, except where noted.
const CharacterIndex& single_byte_characters(PageEncoding encoding);  // bytes
const CharacterIndex& big5_characters();
const CharacterIndex& euc_kr_characters();
const CharacterIndex& gb18030_characters();
const CharacterIndex& gb18030_four_byte_characters();
const CharacterIndex& jis0208_characters();
const CharacterIndex& shift_jis_characters();

}  // namespace trawl
