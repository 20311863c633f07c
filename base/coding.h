// Little-endian numbers and length-prefixed strings, as all of Trawl's files and records use them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian");

template <class T>
concept FixedNumber = std::integral<T> || std::floating_point<T>;

template <FixedNumber T>
void put_fixed(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

inline void put_string(std::string& out, std::string_view value) {
  put_varint(out, value.size());
  out.append(value);
}

// Reads values from the front of a byte string. After a missing value ok() is false, and all
// further values are empty.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool done() const noexcept { return ok_ && rest_.empty(); }
  std::string_view rest() const noexcept { return rest_; }

  template <FixedNumber T>
  T fixed() {
    T value{};
    if (const auto bytes = take(sizeof(T)); ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take(1);
      if (!ok_) return 0;
      value |= static_cast<std::uint64_t>(byte[0] & 0x7F) << shift;
      if ((byte[0] & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }

  std::string_view string() { return take(varint()); }

 private:
  std::string_view take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace trawl
