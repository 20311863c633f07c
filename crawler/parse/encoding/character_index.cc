#include "crawler/parse/encoding/character_index.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string_view>

#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/per_encoding.h"

namespace trawl {

namespace {

template <class Wanted>
CharacterIndex make_index(const PointerIndex& index, Wanted wanted) {
  CharacterIndex characters;
  for (std::size_t pointer = 0; pointer < index.size(); ++pointer) {
    if (index[pointer] != 0 && wanted(pointer))
      characters.add(unpack_utf8(index[pointer]), static_cast<std::uint32_t>(pointer));
  }
  characters.sort();
  return characters;
}

constexpr auto kAll = [](std::size_t) { return true; };

// For these characters the last pointer is used, for others the first.
constexpr std::u32string_view kBig5Last = U"\u2550\u255E\u2561\u256A\u5341\u5345";

CharacterIndex make_big5_characters() {
  // The pointers before it are characters of HKSCS, which are decoded but never encoded.
  constexpr std::size_t kFirst = (0xA1 - 0x81) * 157;
  const PointerIndex& index = big5_index();
  CharacterIndex characters;
  for (std::size_t pointer = index.size(); pointer-- > kFirst;) {
    const char32_t character = unpack_utf8(index[pointer]);
    if (kBig5Last.find(character) != std::u32string_view::npos)
      characters.add(character, static_cast<std::uint32_t>(pointer));
  }
  for (std::size_t pointer = kFirst; pointer < index.size(); ++pointer) {
    if (index[pointer] != 0)
      characters.add(unpack_utf8(index[pointer]), static_cast<std::uint32_t>(pointer));
  }
  characters.sort();
  return characters;
}

CharacterIndex make_single_byte_characters(PageEncoding encoding) {
  const SingleByteIndex& index = single_byte_index(encoding);
  CharacterIndex characters;
  for (std::uint32_t byte = 0x80; byte < index.size(); ++byte) {
    if (index[byte] != kPackedReplacement) characters.add(unpack_utf8(index[byte]), byte);
  }
  characters.sort();
  return characters;
}

}  // namespace

void CharacterIndex::sort() {
  std::ranges::stable_sort(entries_, {}, &Entry::character);
  sorted_ = true;
}

std::optional<std::uint32_t> CharacterIndex::find(char32_t character) const {
  assert(sorted_);
  const auto at = std::ranges::lower_bound(entries_, character, {}, &Entry::character);
  if (at == entries_.end() || at->character != character) return std::nullopt;
  return at->value;
}

const CharacterIndex& single_byte_characters(PageEncoding encoding) {
  static PerEncoding<CharacterIndex> characters;
  return characters.get(encoding, make_single_byte_characters);
}

const CharacterIndex& big5_characters() {
  static const CharacterIndex characters = make_big5_characters();
  return characters;
}

const CharacterIndex& euc_kr_characters() {
  static const CharacterIndex characters = make_index(euc_kr_index(), kAll);
  return characters;
}

const CharacterIndex& gb18030_characters() {
  static const CharacterIndex characters = make_index(gb18030_index(), kAll);
  return characters;
}

const CharacterIndex& gb18030_four_byte_characters() {
  static const CharacterIndex characters = make_index(gb18030_four_byte_index(), kAll);
  return characters;
}

const CharacterIndex& jis0208_characters() {
  // The rows that two 7-bit bytes can address.
  static const CharacterIndex characters =
      make_index(jis0208_index(), [](std::size_t pointer) { return pointer < 94 * 94; });
  return characters;
}

const CharacterIndex& shift_jis_characters() {
  // Excludes the rows in which NEC repeats IBM's characters, and user-defined characters: these are
  // decoded but never encoded.
  static const CharacterIndex characters = make_index(jis0208_index(), [](std::size_t pointer) {
    return pointer < 8272 || pointer > kLastUserDefinedPointer;
  });
  return characters;
}

}  // namespace trawl
