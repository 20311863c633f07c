// UrlByteMasks: where in 64 bytes of a URL there is something to look at.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace trawl {

// One bit a byte, the first byte's lowest.
struct UrlByteMasks {
  std::uint64_t outside_host;  // not is_plain_in_host(), and all bits after the last byte
  std::uint64_t special;       // is_special()
  std::uint64_t slash;
  std::uint64_t dot;

  static constexpr std::size_t kBytes = 64;

  friend bool operator==(const UrlByteMasks&, const UrlByteMasks&) = default;
};

// The bytes of ordinary host names.
constexpr bool is_plain_in_host(unsigned char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '.' ||
         byte == '-' || byte == '_';
}

// Bytes, except '/' and '.', that have a special meaning after the host, or are escaped or stripped
// there.
constexpr bool is_special(unsigned char byte) {
  return byte <= ' ' || byte >= 0x7F || byte == '"' || byte == '#' || byte == '%' || byte == '\'' ||
         byte == ':' || byte == '<' || byte == '>' || byte == '?' || byte == '\\' || byte == '^' ||
         byte == '`' || byte == '{' || byte == '}';
}

namespace url_byte_masks_detail {

constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// The top bits of a byte's kinds, since vector comparisons yield those.
inline constexpr std::uint8_t kInHost = 0x80;
inline constexpr std::uint8_t kSpecial = 0x40;
inline constexpr std::uint8_t kSlash = 0x20;
inline constexpr std::uint8_t kDot = 0x10;

alignas(64) inline constexpr std::array<std::uint8_t, 256> kKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (unsigned i = 0; i < kinds.size(); ++i) {
    const auto byte = static_cast<unsigned char>(i);
    if (is_plain_in_host(byte)) kinds[i] |= kInHost;
    if (is_special(byte)) kinds[i] |= kSpecial;
  }
  kinds['/'] |= kSlash;
  kinds['.'] |= kDot;
  return kinds;
}();

}  // namespace url_byte_masks_detail

// The masks of `length` <= 64 bytes at `start`, byte by byte: for processors without their own
// version (url_byte_masks_x86.h), and the reference in tests. Like all versions it reads no other
// byte, and is inline so that the masks stays in registers.
struct PortableProcessor {
  static UrlByteMasks masks(const char* start, std::size_t length) {
    using namespace url_byte_masks_detail;
    assert(length <= UrlByteMasks::kBytes);
    UrlByteMasks masks{.outside_host = ~low_bits(length), .special = 0, .slash = 0, .dot = 0};
    for (std::size_t i = 0; i < length; ++i) {
      const unsigned kinds = kKinds[static_cast<unsigned char>(start[i])];
      const auto bit = [&](unsigned kind) { return std::uint64_t{(kinds & kind) != 0} << i; };
      masks.outside_host |= bit(kInHost) ^ (std::uint64_t{1} << i);
      masks.special |= bit(kSpecial);
      masks.slash |= bit(kSlash);
      masks.dot |= bit(kDot);
    }
    return masks;
  }
};

}  // namespace trawl
