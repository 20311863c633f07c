// Big-endian numbers, so that keys sort like the numbers in them.
#pragma once

#include <bit>
#include <cassert>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

namespace trawl {

static_assert(std::endian::native == std::endian::little);

template <std::unsigned_integral T>
constexpr T byte_swapped(T value) noexcept {
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
}

// Writes sizeof(T) bytes; returns the position after them.
template <std::unsigned_integral T>
char* store_big_endian(char* out, T value) noexcept {
  value = byte_swapped(value);
  std::memcpy(out, &value, sizeof(T));
  return out + sizeof(T);
}

// Reads the first sizeof(T) bytes of `bytes`, which must have at least so many.
template <std::unsigned_integral T>
T load_big_endian(std::string_view bytes) noexcept {
  assert(bytes.size() >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return byte_swapped(value);
}

// Maps signed numbers to unsigned ones in the same order, and back.
constexpr std::uint64_t sortable(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}
constexpr std::int64_t from_sortable(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(value ^ (std::uint64_t{1} << 63));
}

}  // namespace trawl
