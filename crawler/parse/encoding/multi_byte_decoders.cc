// Decoders of encodings whose multi-byte sequences begin with a byte of 0x80 or above.
#include <cassert>
#include <cstddef>

#include "crawler/parse/encoding/decoders.h"

namespace trawl {

namespace {

// The input of a decoder, with look-ahead.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool empty() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  unsigned peek(std::size_t i) const {
    assert(i < left());
    return static_cast<unsigned char>(at_[i]);
  }
  void skip(std::size_t count) {
    assert(count <= left());
    at_ += count;
  }
  void copy_ascii(Utf8Output& out) { at_ = out.put_ascii(at_, end_); }

 private:
  const char* at_;
  const char* end_;
};

// Outputs the character of a sequence of `length` bytes and skips the sequence. If the sequence is
// invalid (`character` is 0), its last byte is kept if it is ASCII.
void finish(Bytes& bytes, std::size_t length, PackedUtf8 character, Utf8Output& out) {
  if (character != 0) {
    bytes.skip(length);
    out.put(character);
  } else {
    bytes.skip(bytes.peek(length - 1) < 0x80 ? length - 1 : length);
    out.put(kPackedReplacement);
  }
}

void put_error(Bytes& bytes, std::size_t length, Utf8Output& out) {
  bytes.skip(length);
  out.put(kPackedReplacement);
}

PackedUtf8 look_up(const PointerIndex& index, std::size_t pointer) {
  assert(pointer == kNoPointer || pointer < index.size());
  return pointer == kNoPointer ? 0 : index[pointer];
}

// Calls `step` for each byte that is not ASCII.
template <class Step>
void decode(std::string_view text, Utf8Output& out, Step step) {
  Bytes bytes(text);
  while (!bytes.empty()) {
    out.make_room();
    if (bytes.peek(0) < 0x80) {
      bytes.copy_ascii(out);
    } else {
      step(bytes);
    }
  }
}

// decode() for encodings whose non-ASCII bytes are lead bytes of two-byte sequences or single
// bytes.
template <class IsLead, class Character, class Single>
void decode_pairs(std::string_view text, Utf8Output& out, IsLead is_lead_byte, Character character,
                  Single single) {
  decode(text, out, [&](Bytes& bytes) {
    const unsigned lead = bytes.peek(0);
    if (!is_lead_byte(lead)) {
      bytes.skip(1);
      out.put(single(lead));
    } else if (bytes.left() < 2) {
      put_error(bytes, 1, out);
    } else {
      finish(bytes, 2, character(lead, bytes.peek(1)), out);
    }
  });
}

constexpr auto kNoSingle = [](unsigned) { return kPackedReplacement; };

PackedUtf8 half_width_katakana(unsigned byte) {
  return pack_utf8(0xFF61 - 0xA1 + byte);
}

// A letter and a combining accent, for which there is no single character.
struct Big5Pair {
  unsigned trail;
  unsigned lead;
  char32_t letter, accent;
};
constexpr Big5Pair kBig5Pairs[] = {{0x62, 0x88, 0xCA, 0x304},
                                   {0x64, 0x88, 0xCA, 0x30C},
                                   {0xA3, 0x88, 0xEA, 0x304},
                                   {0xA5, 0x88, 0xEA, 0x30C}};

// The character of a four-byte sequence, which may be incomplete.
PackedUtf8 four_byte_character(const Bytes& bytes) {
  const std::size_t pointer = (bytes.peek(0) - 0x81) * std::size_t{12600} +
                              (bytes.peek(1) - 0x30) * 1260 + (bytes.peek(2) - 0x81) * 10 +
                              (bytes.peek(3) - 0x30);
  const PointerIndex& index = gb18030_four_byte_index();
  if (pointer < index.size()) return index[pointer];
  if (pointer < kGb18030SupplementaryPointer) return 0;
  const std::size_t code_point = pointer - kGb18030SupplementaryPointer + 0x10000;
  return code_point <= 0x10FFFF ? pack_utf8(static_cast<char32_t>(code_point)) : 0;
}

bool is_digit(unsigned byte) {
  return byte >= 0x30 && byte <= 0x39;
}

// Decodes a sequence whose second byte is a digit.
void decode_four_bytes(Bytes& bytes, Utf8Output& out) {
  const bool third = bytes.left() > 2;
  if (third && !is_lead(bytes.peek(2))) return put_error(bytes, 1, out);
  if (bytes.left() < 4) return put_error(bytes, bytes.left(), out);
  if (!is_digit(bytes.peek(3))) return put_error(bytes, 1, out);
  const PackedUtf8 character = four_byte_character(bytes);
  bytes.skip(4);
  out.put(character != 0 ? character : kPackedReplacement);
}

}  // namespace

void decode_big5(std::string_view bytes, Utf8Output& out) {
  const PointerIndex& index = big5_index();
  const auto character = [&](unsigned lead, unsigned trail) {
    const PackedUtf8 one = look_up(index, big5_pointer(lead, trail));
    if (one != 0) return one;
    for (const Big5Pair& pair : kBig5Pairs) {
      if (pair.lead != lead || pair.trail != trail) continue;
      out.put(pack_utf8(pair.letter));
      return pack_utf8(pair.accent);
    }
    return PackedUtf8{0};
  };
  decode_pairs(bytes, out, is_lead, character, kNoSingle);
}

void decode_euc_kr(std::string_view bytes, Utf8Output& out) {
  const PointerIndex& index = euc_kr_index();
  const auto character = [&index](unsigned lead, unsigned trail) {
    return look_up(index, euc_kr_pointer(lead, trail));
  };
  decode_pairs(bytes, out, is_lead, character, kNoSingle);
}

void decode_shift_jis(std::string_view bytes, Utf8Output& out) {
  const PointerIndex& index = jis0208_index();
  const auto character = [&index](unsigned lead, unsigned trail) {
    return look_up(index, shift_jis_pointer(lead, trail));
  };
  decode_pairs(bytes, out, is_shift_jis_lead, character, [](unsigned byte) {
    if (byte == 0x80) return pack_utf8(0x80);
    return byte >= 0xA1 && byte <= 0xDF ? half_width_katakana(byte) : kPackedReplacement;
  });
}

void decode_euc_jp(std::string_view text, Utf8Output& out) {
  const PointerIndex& jis0208 = jis0208_index();
  const PointerIndex& jis0212 = jis0212_index();
  decode(text, out, [&](Bytes& bytes) {
    const unsigned lead = bytes.peek(0);
    if (lead != 0x8E && lead != 0x8F && !is_euc(lead)) return put_error(bytes, 1, out);
    if (bytes.left() < 2) return put_error(bytes, 1, out);
    const unsigned second = bytes.peek(1);
    if (lead == 0x8E)
      return finish(bytes, 2, second >= 0xA1 && second <= 0xDF ? half_width_katakana(second) : 0,
                    out);
    if (lead != 0x8F) return finish(bytes, 2, look_up(jis0208, euc_jp_pointer(lead, second)), out);
    if (!is_euc(second)) return finish(bytes, 2, 0, out);
    if (bytes.left() < 3) return put_error(bytes, 2, out);
    finish(bytes, 3, look_up(jis0212, euc_jp_pointer(second, bytes.peek(2))), out);
  });
}

void decode_gb18030(std::string_view text, Utf8Output& out) {
  const PointerIndex& index = gb18030_index();
  decode(text, out, [&](Bytes& bytes) {
    const unsigned lead = bytes.peek(0);
    if (lead == 0x80) {
      bytes.skip(1);
      return out.put(pack_utf8(0x20AC));
    }
    if (lead == 0xFF || bytes.left() < 2) return put_error(bytes, 1, out);
    if (is_digit(bytes.peek(1))) return decode_four_bytes(bytes, out);
    finish(bytes, 2, look_up(index, gb18030_pointer(lead, bytes.peek(1))), out);
  });
}

}  // namespace trawl
