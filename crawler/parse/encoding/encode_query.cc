// encode_query: the query of a link as bytes of its page's encoding, by the URL Standard's
// percent-encoding after encoding (https://url.spec.whatwg.org/#query-state).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii_prefix.h"
#include "base/utf8.h"
#include "crawler/parse/encoding/character_index.h"
#include "crawler/parse/encoding/encoding_index.h"
#include "crawler/parse/encoding/encoding_info.h"
#include "crawler/parse/encoding/page_encoding.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

// One to four bytes.
class EncodedCharacter {
 public:
  template <class... Bytes>
  constexpr EncodedCharacter(Bytes... bytes)
      : bytes_{static_cast<char>(bytes)...}, size_(sizeof...(bytes)) {}
  constexpr std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 4> bytes_;
  std::size_t size_;
};

// The special-query percent-encode set. ASCII bytes that the encoding made are in it too: those of
// ISO-2022-JP may be a '#'.
constexpr bool is_escaped_in_query(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte > '~' || std::string_view("\"#<>'").find(c) != std::string_view::npos;
}

void append_query_byte(char byte, std::string& out) {
  if (is_escaped_in_query(byte)) {
    append_escape(byte, out);
  } else {
    out += byte;
  }
}

void append_query_bytes(const EncodedCharacter& character, std::string& out) {
  for (const char byte : character.bytes())
    append_query_byte(byte, out);
}

// A character that the encoding lacks, as the reference that forms send: "&#NNN;", escaped.
void append_unencodable(char32_t character, std::string& out) {
  out += "%26%23";
  out += std::to_string(static_cast<unsigned long>(character));
  out += "%3B";
}

// --- ISO-2022-JP, whose bytes mean one thing or another by the escape sequence before them ---

// https://encoding.spec.whatwg.org/index-iso-2022-jp-katakana.txt, of U+FF61 and those after it
constexpr char16_t kFullWidthKatakana[] = {
    0x3002, 0x300C, 0x300D, 0x3001, 0x30FB, 0x30F2, 0x30A1, 0x30A3, 0x30A5, 0x30A7, 0x30A9,
    0x30E3, 0x30E5, 0x30E7, 0x30C3, 0x30FC, 0x30A2, 0x30A4, 0x30A6, 0x30A8, 0x30AA, 0x30AB,
    0x30AD, 0x30AF, 0x30B1, 0x30B3, 0x30B5, 0x30B7, 0x30B9, 0x30BB, 0x30BD, 0x30BF, 0x30C1,
    0x30C4, 0x30C6, 0x30C8, 0x30CA, 0x30CB, 0x30CC, 0x30CD, 0x30CE, 0x30CF, 0x30D2, 0x30D5,
    0x30D8, 0x30DB, 0x30DE, 0x30DF, 0x30E0, 0x30E1, 0x30E2, 0x30E4, 0x30E6, 0x30E8, 0x30E9,
    0x30EA, 0x30EB, 0x30EC, 0x30ED, 0x30EF, 0x30F3, 0x309B, 0x309C};

class Iso2022JpEncoder {
 public:
  explicit Iso2022JpEncoder(std::string& out) : out_(out) {}

  void append(char32_t character) {
    if (character == 0x0E || character == 0x0F || character == 0x1B) {
      if (state_ == State::kJis0208) enter(State::kAscii);
      append_unencodable(kReplacementCharacter, out_);
    } else if (character < 0x80) {
      append_ascii(static_cast<char>(character));
    } else if (character == 0xA5 || character == 0x203E) {
      enter(State::kRoman);
      out_ += character == 0xA5 ? '\\' : '~';
    } else {
      append_japanese(character);
    }
  }

  void finish() { enter(State::kAscii); }

 private:
  enum class State { kAscii, kRoman, kJis0208 };

  void append_ascii(char character) {
    // The set called Roman has a yen sign and an overline in their places.
    if (state_ != State::kRoman || character == '\\' || character == '~') enter(State::kAscii);
    out_ += character;
  }

  void append_japanese(char32_t character) {
    const auto pointer = jis0208_characters().find(in_jis0208(character));
    if (!pointer) {
      if (state_ == State::kJis0208) enter(State::kAscii);
      return append_unencodable(character, out_);
    }
    enter(State::kJis0208);
    append_query_byte(static_cast<char>(0x21 + *pointer / 94), out_);
    append_query_byte(static_cast<char>(0x21 + *pointer % 94), out_);
  }

  static char32_t in_jis0208(char32_t character) {
    if (character == 0x2212) return 0xFF0D;
    const bool half_width = character >= 0xFF61 && character <= 0xFF9F;
    return half_width ? kFullWidthKatakana[character - 0xFF61] : character;
  }

  void enter(State state) {
    if (state_ == state) return;
    state_ = state;
    out_ += state == State::kAscii ? "%1B(B" : state == State::kRoman ? "%1B(J" : "%1B$B";
  }

  std::string& out_;
  State state_ = State::kAscii;
};

// As append_encoded_query(). Tabs and line ends, which the URL parser drops, are dropped here so
// that they do not cost an escape sequence.
void append_iso_2022_jp_query(std::string_view query, std::string& out) {
  Iso2022JpEncoder encoder(out);
  std::size_t at = 0;
  while (at < query.size()) {
    const char32_t character = decode_utf8(query, at);
    if (character != '\t' && character != '\n' && character != '\r') encoder.append(character);
  }
  encoder.finish();
}

// --- The others ---

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

// Private characters that the decoder reads as others, but that keep their bytes of 2005.
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

// Appends `query` with each character that is not ASCII as `encode` has it.
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

// Appends `query`, UTF-8, to `out`; ASCII is left to the URL parser. `encoding` is not UTF-8 and
// its own output().
void append_encoded_query(std::string_view query, PageEncoding encoding, std::string& out) {
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
      break;  // the caller keeps these away
  }
  out += query;
}

// Of ASCII, ISO-2022-JP lacks what would change its state.
bool is_as_encoded(std::string_view query, EncodingFamily family) {
  if (ascii_prefix_length(query) < query.size()) return false;
  return family != EncodingFamily::kIso2022Jp ||
         query.find_first_of("\x0E\x0F\x1B") == std::string_view::npos;
}

}  // namespace

std::string_view encode_query(std::string_view reference, PageEncoding encoding,
                              std::string& buffer) {
  encoding = encoding.output();
  if (encoding.is_utf8()) return reference;
  const std::size_t question = reference.find_first_of("?#");
  if (question == std::string_view::npos || reference[question] == '#') return reference;
  const std::size_t start = question + 1;
  const std::string_view query = reference.substr(start, reference.find('#', start) - start);
  if (is_as_encoded(query, encoding_info(encoding).family)) return reference;

  buffer.assign(reference, 0, start);
  append_encoded_query(query, encoding, buffer);
  buffer.append(reference, start + query.size());
  return buffer;
}

}  // namespace trawl
