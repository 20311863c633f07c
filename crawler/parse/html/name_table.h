// NameTable: finds one of a fixed set of short names, ignoring case, in a few nanoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// A table of `kNames` distinct names of 1 to 16 characters from a-z, 0-9, '-' and ':'. Built at
// compile time by searching for a perfect hash with 2^kBits slots; does not compile if there are
// too few slots (kBits = 2 log2(kNames) - 4 suffices).
template <std::size_t kNames, unsigned kBits>
class NameTable {
 public:
  explicit constexpr NameTable(const std::array<std::string_view, kNames>& names) {
    static_assert(kNames < kNoName);
    for (std::size_t i = 0; i < kNames; ++i)
      keys_[i] = key_of(names[i]);
    do {
      multiplier_ = multiplier_ * 6364136223846793005u + 1442695040888963407u;
    } while (!fill_slots());
  }

  // The index in the array that the table was made from.
  constexpr std::optional<std::size_t> find(std::string_view name) const noexcept {
    if (name.empty() || name.size() > kMaxLength) return std::nullopt;
    const Key key = key_of(name);
    const std::size_t index = slots_[slot(key)];
    if (!(keys_[index] == key)) return std::nullopt;
    return index;
  }

 private:
  static constexpr std::size_t kMaxLength = 16;
  static constexpr std::uint8_t kNoName = 255;

  // The first and the last eight characters, which may overlap, and the length: these determine a
  // name.
  struct Key {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    std::uint64_t length = 0;
    constexpr bool operator==(const Key& other) const noexcept {
      return ((head ^ other.head) | (tail ^ other.tail) | (length ^ other.length)) == 0;
    }
  };

  template <class Word>
  static constexpr Word load(const char* from) noexcept {
    std::array<char, sizeof(Word)> bytes{};
    std::copy_n(from, bytes.size(), bytes.begin());
    return std::bit_cast<Word>(bytes);
  }

  // Converts letters to lower case. The few other bytes that change, such as '@' and "[\]^_", do
  // not become characters of names; digits, '-' and ':' stay, and no other byte becomes one of
  // them.
  static constexpr std::uint64_t lower(std::uint64_t bytes) noexcept {
    return bytes | ((bytes & 0x4040404040404040u) >> 1);
  }

  static constexpr Key key_of(std::string_view name) noexcept {
    const char* begin = name.data();
    const char* end = begin + name.size();
    Key key{.length = name.size()};
    if (name.size() >= 8) {
      key.head = lower(load<std::uint64_t>(begin));
      key.tail = lower(load<std::uint64_t>(end - 8));
    } else if (name.size() >= 4) {
      key.head =
          lower(load<std::uint32_t>(begin) | std::uint64_t{load<std::uint32_t>(end - 4)} << 32);
    } else {
      const std::uint64_t first = static_cast<unsigned char>(begin[0]);
      const std::uint64_t middle = static_cast<unsigned char>(begin[name.size() / 2]);
      const std::uint64_t last = static_cast<unsigned char>(end[-1]);
      key.head = lower(first | middle << 8 | last << 16);
    }
    return key;
  }

  constexpr std::size_t slot(const Key& key) const noexcept {
    const std::uint64_t mixed = key.head ^ std::rotl(key.tail, 29) ^ key.length << 56;
    return static_cast<std::size_t>((mixed * multiplier_) >> (64 - kBits));
  }

  // Returns false if two names collide.
  constexpr bool fill_slots() {
    slots_.fill(kNoName);
    for (std::size_t i = 0; i < kNames; ++i) {
      std::uint8_t& place = slots_[slot(keys_[i])];
      if (place != kNoName) return false;
      place = static_cast<std::uint8_t>(i);
    }
    return true;
  }

  std::uint64_t multiplier_ = 0;
  std::array<std::uint8_t, std::size_t{1} << kBits> slots_{};
  // The last key has length 0 and stands for empty slots; no name has that length.
  std::array<Key, std::size_t{kNoName} + 1> keys_{};
};

}  // namespace trawl
