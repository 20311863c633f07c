// PackedUtf8: a code point's UTF-8 in one word. Utf8Output: a text built from such words.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/ascii_prefix.h"

namespace trawl {

// The bytes of a code point's UTF-8, the first in the lowest bits, padded with zeros.
using PackedUtf8 = std::uint32_t;

constexpr PackedUtf8 pack_utf8(char32_t code_point) {
  const auto goes_on = [code_point](int shift) {
    return 0x80u | (static_cast<std::uint32_t>(code_point >> shift) & 0x3F);
  };
  const auto c = static_cast<std::uint32_t>(code_point);
  if (c < 0x80) return c;
  if (c < 0x800) return (0xC0 | c >> 6) | goes_on(0) << 8;
  if (c < 0x10000) return (0xE0 | c >> 12) | goes_on(6) << 8 | goes_on(0) << 16;
  return (0xF0 | c >> 18) | goes_on(12) << 8 | goes_on(6) << 16 | goes_on(0) << 24;
}

constexpr char32_t unpack_utf8(PackedUtf8 packed) {
  const auto bits = [packed](int byte) { return packed >> (8 * byte) & 0x3F; };
  const std::uint32_t lead = packed & 0xFF;
  if (lead < 0x80) return lead;
  if (lead < 0xE0) return (lead & 0x1F) << 6 | bits(1);
  if (lead < 0xF0) return (lead & 0x0F) << 12 | bits(1) << 6 | bits(2);
  return (lead & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
}

inline constexpr PackedUtf8 kPackedReplacement = pack_utf8(0xFFFD);

// UTF-8 output to a buffer. The buffer never shrinks, so that a buffer reused for many pages is not
// cleared for each.
class Utf8Output {
 public:
  // `expected`: the estimated size of the output.
  Utf8Output(std::string& buffer, std::size_t expected) : buffer_(buffer) {
    if (buffer_.size() < expected + kRoom) buffer_.resize(expected + kRoom);
    set_pointers(0);
  }
  Utf8Output(const Utf8Output&) = delete;
  Utf8Output& operator=(const Utf8Output&) = delete;

  // Call before each kRoom bytes of output.
  void make_room() {
    if (at_ > last_with_room_) grow();
  }

  void put(PackedUtf8 packed) {
    assert(room_left() >= sizeof(packed));  // make_room()
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(at_, &packed, sizeof(packed));
    } else {
      for (int i = 0; i < 4; ++i)
        at_[i] = static_cast<char>(packed >> (8 * i));
    }
    at_ += 4 - std::countl_zero(packed | 1) / 8;  // NUL takes a byte too
  }
  void put_byte(char byte) {
    assert(room_left() > 0);
    *at_++ = byte;
  }

  // Copies the ASCII bytes at `from` and returns where they end.
  const char* put_ascii(const char* from, const char* end) {
    while (end - from >= 8) {
      make_room();
      const std::uint64_t word = load_8_bytes(from);
      std::memcpy(at_, &word, sizeof(word));
      if ((word & kNonAsciiBits) != 0) {
        const std::size_t length = ascii_bytes_before(word);
        at_ += length;
        return from + length;
      }
      at_ += 8;
      from += 8;
    }
    make_room();
    assert(end - from < 8);
    while (from < end && static_cast<unsigned char>(*from) < 0x80)
      *at_++ = *from++;
    return from;
  }

  std::string_view text() const {
    return {buffer_.data(), static_cast<std::size_t>(at_ - start())};
  }

 private:
  static constexpr std::size_t kRoom = 32;

  const char* start() const { return buffer_.data(); }
  std::size_t room_left() const {
    return static_cast<std::size_t>(buffer_.data() + buffer_.size() - at_);
  }

  void set_pointers(std::size_t length) {
    at_ = buffer_.data() + length;
    last_with_room_ = buffer_.data() + (buffer_.size() - kRoom);
  }

  void grow() {
    const auto length = static_cast<std::size_t>(at_ - start());
    buffer_.resize(buffer_.size() + buffer_.size() / 2 + kRoom);
    set_pointers(length);
  }

  std::string& buffer_;
  char* at_;
  char* last_with_room_;
};

}  // namespace trawl
