// RocksDB that is built for every x86-64 processor, such as Debian's, computes the CRC-32C of its
// log by tables: 0.65 ns a byte, which was half of what the committer does for a new URL. The
// function below is found before the library's own, with the same results: it is the library's, by
// its name, whose calls of it go through the dynamic linker. Where they do not, or where RocksDB is
// linked statically (hence weak), RocksDB uses its own as before.
#include "frontier/store/log_checksum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rocksdb::crc32c {

[[gnu::visibility("default"), gnu::weak, gnu::used]] std::uint32_t Extend(std::uint32_t before,
                                                                          const char* data,
                                                                          std::size_t size);

namespace {

// By a table, for other processors.
std::uint32_t extend_by_table(std::uint32_t state, const char* data, std::size_t size) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
      std::uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit)
        value = value >> 1 ^ (0x82F63B78u & -(value & 1));
      table[byte] = value;
    }
    return table;
  }();
  for (; size > 0; --size, ++data)
    state = state >> 8 ^ kTable[(state ^ static_cast<unsigned char>(*data)) & 0xFF];
  return state;
}

#if defined(__x86_64__)
// The instruction takes three cycles, and another one may begin in each: three streams of a block
// are computed at once. What comes before a stream is moved behind it by tables: a CRC is linear,
// and moving it over kStream zero bytes is the sum of what moving each of its bytes gives.
constexpr std::size_t kStream = 1024;

[[gnu::target("sse4.2")]] std::uint32_t extend_one(std::uint32_t state, const char* data,
                                                   std::size_t size) {
  std::uint64_t crc = state;
  for (; size >= 8; size -= 8, data += 8) {
    std::uint64_t word;
    std::memcpy(&word, data, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  for (; size > 0; --size, ++data)
    crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), static_cast<unsigned char>(*data));
  return static_cast<std::uint32_t>(crc);
}

class Mover {
 public:
  Mover() {
    static constexpr char kZeros[kStream] = {};
    for (std::uint32_t place = 0; place < 4; ++place) {
      for (std::uint32_t byte = 0; byte < 256; ++byte)
        moved_[place][byte] = extend_one(byte << (8 * place), kZeros, kStream);
    }
  }
  std::uint32_t operator()(std::uint32_t crc) const {
    return moved_[0][crc & 0xFF] ^ moved_[1][crc >> 8 & 0xFF] ^ moved_[2][crc >> 16 & 0xFF] ^
           moved_[3][crc >> 24];
  }

 private:
  std::uint32_t moved_[4][256];
};

[[gnu::target("sse4.2")]] std::uint32_t extend_by_instruction(std::uint32_t state, const char* data,
                                                              std::size_t size) {
  static const Mover moved;
  for (; size >= 3 * kStream; size -= 3 * kStream, data += 3 * kStream) {
    std::uint64_t a = state, b = 0, c = 0;
    for (std::size_t at = 0; at < kStream; at += 8) {
      std::uint64_t words[3];
      std::memcpy(&words[0], data + at, 8);
      std::memcpy(&words[1], data + kStream + at, 8);
      std::memcpy(&words[2], data + 2 * kStream + at, 8);
      a = _mm_crc32_u64(a, words[0]);
      b = _mm_crc32_u64(b, words[1]);
      c = _mm_crc32_u64(c, words[2]);
    }
    state = moved(moved(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b)) ^
            static_cast<std::uint32_t>(c);
  }
  return extend_one(state, data, size);
}
#endif

}  // namespace

std::uint32_t Extend(std::uint32_t before, const char* data, std::size_t size) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~extend_by_instruction(~before, data, size);
#endif
  return ~extend_by_table(~before, data, size);
}

}  // namespace rocksdb::crc32c

namespace trawl {

void link_log_checksum() noexcept {}

}  // namespace trawl
