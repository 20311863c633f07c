// The definition of RocksDB's checksum, against its definition bit by bit.
#include "frontier/store/log_checksum.h"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace rocksdb::crc32c {
std::uint32_t Extend(std::uint32_t before, const char* data, std::size_t size);
}

namespace trawl {
namespace {

std::uint32_t bit_by_bit(std::uint32_t before, const std::string& data) {
  std::uint32_t state = ~before;
  for (const char byte : data) {
    state ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      state = state >> 1 ^ (0x82F63B78u & -(state & 1));
  }
  return ~state;
}

TEST(LogChecksum, IsTheOneOfRocksDb) {
  link_log_checksum();
  EXPECT_EQ(rocksdb::crc32c::Extend(0, "123456789", 9), 0xE3069283u);  // RFC 3720
  std::mt19937_64 random(1);
  for (const std::size_t size : {0, 1, 7, 8, 9, 255, 3071, 3072, 3073, 6144, 32'768, 50'001}) {
    std::string data(size + 1, '\0');
    for (char& byte : data)
      byte = static_cast<char>(random());
    const auto before = static_cast<std::uint32_t>(random());
    EXPECT_EQ(rocksdb::crc32c::Extend(before, data.data() + 1, size),
              bit_by_bit(before, data.substr(1)))
        << size;
  }
}

}  // namespace
}  // namespace trawl
