#include "frontier/recovery/manifest.h"

#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "base/file_io.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

class ManifestTest : public ::testing::Test {
 protected:
  Manifest published() {
    Manifest manifest;
    manifest.hash_key = KeyedHash::from_seed(3).key();
    manifest.ledger = true;
    manifest.profile = "lossless-2";
    manifest.log_start = 17;
    manifest.next_checkpoint = 9;
    manifest.checkpoints = {{.number = 7, .sequence = 17, .end = 20},
                            {.number = 8, .sequence = 1000, .end = 1003}};
    EXPECT_TRUE(manifest.publish(directory_.path()));
    return manifest;
  }
  std::string contents() { return *read_file(directory_ / "MANIFEST", 1 << 20); }
  void overwrite(const std::string& bytes) {
    std::ofstream(directory_ / "MANIFEST", std::ios::binary | std::ios::trunc) << bytes;
  }
  // With one byte changed, and a checksum to match.
  void overwrite_sealed(std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    const std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size() - 8);
    std::memcpy(bytes.data() + bytes.size() - 8, &sum, sizeof sum);
    overwrite(bytes);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(ManifestTest, RoundTrips) {
  EXPECT_FALSE(Manifest::read(directory_.path())->has_value());
  const Manifest manifest = published();
  const Manifest back = Manifest::read(directory_.path())->value();
  EXPECT_EQ(back.hash_key, manifest.hash_key);
  EXPECT_TRUE(back.ledger);
  EXPECT_EQ(back.profile, manifest.profile);
  EXPECT_EQ(back.log_start, manifest.log_start);
  EXPECT_EQ(back.next_checkpoint, manifest.next_checkpoint);
  ASSERT_EQ(back.checkpoints.size(), 2u);
  EXPECT_EQ(back.checkpoints[1].number, 8u);
  EXPECT_EQ(back.checkpoints[1].sequence, 1000u);
  EXPECT_EQ(back.checkpoints[1].end, 1003u);
  Manifest without = manifest;
  without.ledger = false;
  without.checkpoints.clear();
  ASSERT_TRUE(without.publish(directory_.path()));
  const Manifest again = Manifest::read(directory_.path())->value();
  EXPECT_FALSE(again.ledger);
  EXPECT_TRUE(again.checkpoints.empty());
}

TEST_F(ManifestTest, EveryDamageIsDetected) {
  published();
  const std::string whole = contents();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    overwrite(whole.substr(0, n));
    ASSERT_FALSE(Manifest::read(directory_.path())) << "cut at " << n;
    std::string flipped = whole;
    flipped[n] = static_cast<char>(flipped[n] ^ 0x10);
    overwrite(flipped);
    ASSERT_EQ(Manifest::read(directory_.path()).error().code, ErrorCode::kCorrupt)
        << "flipped at " << n;
  }
}

TEST_F(ManifestTest, AnotherVersionOrHashAlgorithmIsNamed) {
  published();
  const std::string ours = contents();
  // The version is at byte 8, the algorithm of the hash at byte 12.
  for (const auto& [at, value] : {std::pair{8, 1}, {8, 2}, {8, 4}, {12, 2}}) {
    SCOPED_TRACE(testing::Message() << "byte " << at << ": " << value);
    overwrite_sealed(ours, static_cast<std::size_t>(at), static_cast<char>(value));
    const auto read = Manifest::read(directory_.path());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kUnsupportedVersion);
    EXPECT_NE(read.error().message.find(fmt::format(" {};", value)), std::string::npos)
        << read.error().message;
    EXPECT_NE(read.error().message.find(value > 3 ? "use a newer one" : "finish this crawl with"),
              std::string::npos)
        << read.error().message;
    EXPECT_EQ(read.error().message.find("trawl frontier dump") != std::string::npos, at == 12)
        << read.error().message;
  }
}

// Behind magic, version, algorithm and key.
TEST_F(ManifestTest, AnImpossibleLedgerIsDamage) {
  published();
  overwrite_sealed(contents(), 32, 2);
  EXPECT_EQ(Manifest::read(directory_.path()).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace trawl
