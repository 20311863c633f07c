#include "crawler/parse/encoding/query_encoder.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "crawler/parse/encoding/character_index.h"
#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/encoding_list.h"
#include "crawler/parse/encoding/iso_2022_jp_encoder.h"
#include "crawler/parse/encoding/query_bytes.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

using Encoded = std::optional<EncodedCharacter>;

Encoded two_bytes(std::size_t lead, std::size_t trail) {
  return EncodedCharacter{static_cast<unsigned char>(lead), static_cast<unsigned char>(trail)};
}

Encoded one_byte(std::size_t byte) {
  return EncodedCharacter{static_cast<unsigned char>(byte)};
}

bool is_half_width_katakana(char32_t character) {
  return character >= 0xFF61 && character <= 0xFF9F;
}

Encoded encode_single_byte(char32_t character, const CharacterIndex& characters) {
  const auto byte = characters.find(character);
  return byte ? one_byte(*byte) : std::nullopt;
}

Encoded encode_big5(char32_t character) {
  const auto pointer = big5_characters().find(character);
  if (!pointer) return std::nullopt;
  const std::size_t trail = *pointer % 157;
  return two_bytes(0x81 + *pointer / 157, trail + (trail < 0x3F ? 0x40 : 0x62));
}

Encoded encode_euc_kr(char32_t character) {
  const auto pointer = euc_kr_characters().find(character);
  if (!pointer) return std::nullopt;
  return two_bytes(0x81 + *pointer / 190, 0x41 + *pointer % 190);
}

Encoded encode_euc_jp(char32_t character) {
  if (character == 0xA5) return one_byte(0x5C);
  if (character == 0x203E) return one_byte(0x7E);
  if (is_half_width_katakana(character)) return two_bytes(0x8E, character - 0xFF61 + 0xA1);
  const auto pointer = jis0208_characters().find(character == 0x2212 ? 0xFF0D : character);
  if (!pointer) return std::nullopt;
  return two_bytes(0xA1 + *pointer / 94, 0xA1 + *pointer % 94);
}

Encoded encode_shift_jis(char32_t character) {
  if (character == 0x80) return one_byte(0x80);
  if (character == 0xA5) return one_byte(0x5C);
  if (character == 0x203E) return one_byte(0x7E);
  if (is_half_width_katakana(character)) return one_byte(character - 0xFF61 + 0xA1);
  const auto pointer = shift_jis_characters().find(character == 0x2212 ? 0xFF0D : character);
  if (!pointer) return std::nullopt;
  const std::size_t lead = *pointer / 188;
  const std::size_t trail = *pointer % 188;
  return two_bytes(lead + (lead < 0x1F ? 0x81 : 0xC1), trail + (trail < 0x3F ? 0x40 : 0x41));
}

// Private-use characters that the decoder maps to other characters, but that are encoded with their
// bytes of 2005.
struct Gb18030Private {
  char32_t character;
  unsigned char lead, trail;
  unsigned count;
};
constexpr Gb18030Private kGb18030Private[] = {
    {0xE78D, 0xA6, 0xD9, 7}, {0xE794, 0xA6, 0xEC, 2}, {0xE796, 0xA6, 0xF3, 1},
    {0xE81E, 0xFE, 0x59, 1}, {0xE826, 0xFE, 0x61, 1}, {0xE82B, 0xFE, 0x66, 2},
    {0xE832, 0xFE, 0x6D, 1}, {0xE843, 0xFE, 0x7E, 1}, {0xE854, 0xFE, 0x90, 1},
    {0xE864, 0xFE, 0xA0, 1},
};

std::optional<std::size_t> four_byte_pointer(char32_t character) {
  if (character >= 0x10000) return kGb18030SupplementaryPointer + (character - 0x10000);
  return gb18030_four_byte_characters().find(character);
}

Encoded encode_gb18030(char32_t character, bool is_gbk) {
  if (character == 0xE5E5) return std::nullopt;
  if (is_gbk && character == 0x20AC) return one_byte(0x80);
  for (const Gb18030Private& run : kGb18030Private) {
    if (character >= run.character && character - run.character < run.count)
      return two_bytes(run.lead, run.trail + (character - run.character));
  }
  if (const auto pointer = gb18030_characters().find(character)) {
    const std::size_t trail = *pointer % 190;
    return two_bytes(0x81 + *pointer / 190, trail + (trail < 0x3F ? 0x40 : 0x41));
  }
  if (is_gbk) return std::nullopt;
  const auto pointer = four_byte_pointer(character);
  if (!pointer) return std::nullopt;
  return EncodedCharacter{static_cast<unsigned char>(0x81 + *pointer / 12600),
                          static_cast<unsigned char>(0x30 + *pointer / 1260 % 10),
                          static_cast<unsigned char>(0x81 + *pointer / 10 % 126),
                          static_cast<unsigned char>(0x30 + *pointer % 10)};
}

// Appends `query` with each non-ASCII character encoded by `encode`.
template <class Encode>
void append_each(std::string_view query, std::string& out, Encode encode) {
  std::size_t at = 0;
  while (true) {
    const std::size_t ascii = ascii_prefix_length(query.substr(at));
    out.append(query, at, ascii);
    at += ascii;
    if (at == query.size()) return;
    const char32_t character = decode_utf8(query, at);
    if (const Encoded encoded = encode(character)) {
      append_query_bytes(*encoded, out);
    } else {
      append_unencodable(character, out);
    }
  }
}

}  // namespace

void append_encoded_query(std::string_view query, PageEncoding encoding, std::string& out) {
  assert(!encoding.is_utf8() && encoding.output() == encoding);
  switch (encoding_info(encoding).family) {
    case EncodingFamily::kSingleByte:
      return append_each(query, out, [&](char32_t character) {
        return encode_single_byte(character, single_byte_characters(encoding));
      });
    case EncodingFamily::kGbk:
      return append_each(query, out, [](char32_t c) { return encode_gb18030(c, true); });
    case EncodingFamily::kGb18030:
      return append_each(query, out, [](char32_t c) { return encode_gb18030(c, false); });
    case EncodingFamily::kBig5:
      return append_each(query, out, encode_big5);
    case EncodingFamily::kEucJp:
      return append_each(query, out, encode_euc_jp);
    case EncodingFamily::kShiftJis:
      return append_each(query, out, encode_shift_jis);
    case EncodingFamily::kEucKr:
      return append_each(query, out, encode_euc_kr);
    case EncodingFamily::kIso2022Jp:
      return append_iso_2022_jp_query(query, out);
    case EncodingFamily::kUtf8:
    case EncodingFamily::kReplacement:
    case EncodingFamily::kUtf16Be:
    case EncodingFamily::kUtf16Le:
      break;  // not passed by the caller
  }
  out += query;
}

}  // namespace trawl
