#include <cstddef>

#include "crawler/parse/encoding/decoders.h"

namespace trawl {

namespace {

constexpr char kEscape = 0x1B;

// The current character set, which escape sequences change.
enum class CharacterSet { kAscii, kRoman, kKatakana, kJis0208 };

class Iso2022JpDecoder {
 public:
  Iso2022JpDecoder(std::string_view bytes, Utf8Output& out)
      : bytes_(bytes), out_(out), index_(jis0208_index()) {}

  void run() {
    while (at_ < bytes_.size()) {
      out_.make_room();
      if (bytes_[at_] == kEscape) {
        read_escape();
      } else if (set_ == CharacterSet::kJis0208) {
        read_pair();
      } else {
        read_byte();
      }
    }
  }

 private:
  unsigned byte(std::size_t i) const { return static_cast<unsigned char>(bytes_[i]); }

  void put_error() { out_.put(kPackedReplacement); }

  // Two consecutive escape sequences are an error, since they could hide text.
  void read_escape() {
    ++at_;
    const std::string_view sequence = bytes_.substr(at_, 2);
    if (sequence == "(B") {
      set_ = CharacterSet::kAscii;
    } else if (sequence == "(J") {
      set_ = CharacterSet::kRoman;
    } else if (sequence == "(I") {
      set_ = CharacterSet::kKatakana;
    } else if (sequence == "$@" || sequence == "$B") {
      set_ = CharacterSet::kJis0208;
    } else {
      // Not an escape sequence: the bytes after ESC are text.
      put_error();
      just_escaped_ = false;
      return;
    }
    at_ += 2;
    if (just_escaped_) put_error();
    just_escaped_ = true;
  }

  void read_pair() {
    just_escaped_ = false;
    const unsigned lead = byte(at_++);
    if (lead < 0x21 || lead > 0x7E || at_ == bytes_.size()) return put_error();
    // The ESC begins an escape sequence.
    if (bytes_[at_] == kEscape) return put_error();
    const unsigned trail = byte(at_++);
    if (trail < 0x21 || trail > 0x7E) return put_error();
    const PackedUtf8 character = index_[euc_jp_pointer(lead + 0x80, trail + 0x80)];
    out_.put(character != 0 ? character : kPackedReplacement);
  }

  void read_byte() {
    just_escaped_ = false;
    const unsigned value = byte(at_++);
    if (set_ == CharacterSet::kKatakana) {
      return value >= 0x21 && value <= 0x5F ? out_.put(pack_utf8(0xFF61 - 0x21 + value))
                                            : put_error();
    }
    if (value >= 0x80 || value == 0x0E || value == 0x0F) return put_error();
    if (set_ == CharacterSet::kRoman && value == 0x5C) return out_.put(pack_utf8(0xA5));
    if (set_ == CharacterSet::kRoman && value == 0x7E) return out_.put(pack_utf8(0x203E));
    out_.put_byte(static_cast<char>(value));
  }

  std::string_view bytes_;
  Utf8Output& out_;
  const PointerIndex& index_;
  std::size_t at_ = 0;
  CharacterSet set_ = CharacterSet::kAscii;
  bool just_escaped_ = false;
};

}  // namespace

void decode_iso_2022_jp(std::string_view bytes, Utf8Output& out) {
  Iso2022JpDecoder(bytes, out).run();
}

}  // namespace trawl
