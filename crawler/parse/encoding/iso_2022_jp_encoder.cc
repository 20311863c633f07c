#include "crawler/parse/encoding/iso_2022_jp_encoder.h"

#include <cstddef>
#include <cstdint>

#include "base/utf8.h"
#include "crawler/parse/encoding/character_index.h"
#include "crawler/parse/encoding/query_bytes.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

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
    // Roman has a yen sign and an overline in place of these two.
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

}  // namespace

void append_iso_2022_jp_query(std::string_view query, std::string& out) {
  Iso2022JpEncoder encoder(out);
  std::size_t at = 0;
  while (at < query.size()) {
    const char32_t character = decode_utf8(query, at);
    if (character != '\t' && character != '\n' && character != '\r') encoder.append(character);
  }
  encoder.finish();
}

}  // namespace trawl
