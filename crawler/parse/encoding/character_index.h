// The indexes of the Encoding Standard read backwards: characters to pointers or bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Made of (character, value) pairs that are added in the order in which the first of each
// character counts.
class CharacterIndex {
 public:
  void add(char32_t character, std::uint32_t value) { entries_.push_back({character, value}); }
  // Must be called after the last add().
  void sort();

  std::optional<std::uint32_t> find(char32_t character) const;

 private:
  struct Entry {
    char32_t character;
    std::uint32_t value;
  };
  std::vector<Entry> entries_;
};

// Made when first used. The values are pointers, or bytes where that is said.
const CharacterIndex& single_byte_characters(PageEncoding encoding);  // bytes
const CharacterIndex& big5_characters();
const CharacterIndex& euc_kr_characters();
const CharacterIndex& gb18030_characters();
const CharacterIndex& gb18030_four_byte_characters();
const CharacterIndex& jis0208_characters();
const CharacterIndex& shift_jis_characters();

}  // namespace trawl
