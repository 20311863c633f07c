#include "frontier/recovery/manifest.h"

#include <cstring>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "base/coding.h"
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
    manifest.expected_urls = 5'000'000;
    manifest.false_positive_rate = 1e-4;
    manifest.replayed_per_second = 2.5e6;
    manifest.checkpoints = {{.number = 7, .sequence = 17, .end = 20},
                            {.number = 8, .sequence = 1000, .end = 1003, .layers = {3, 5}}};
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
  EXPECT_TRUE(back.checkpoints[0].layers.empty());
  EXPECT_EQ(back.checkpoints[1].layers, (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ(back.expected_urls, 5'000'000u);
  EXPECT_EQ(back.false_positive_rate, 1e-4);
  EXPECT_EQ(back.replayed_per_second, 2.5e6);
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
  for (const auto& [at, value] : {std::pair{8, 1}, {8, 2}, {8, 5}, {12, 2}}) {
    SCOPED_TRACE(testing::Message() << "byte " << at << ": " << value);
    overwrite_sealed(ours, static_cast<std::size_t>(at), static_cast<char>(value));
    const auto read = Manifest::read(directory_.path());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kUnsupportedVersion);
    EXPECT_NE(read.error().message.find(fmt::format(" {};", value)), std::string::npos)
        << read.error().message;
    EXPECT_NE(read.error().message.find(value > 4 ? "use a newer one" : "finish this crawl with"),
              std::string::npos)
        << read.error().message;
    EXPECT_EQ(read.error().message.find("trawl frontier dump") != std::string::npos, at == 12)
        << read.error().message;
  }
}

// Version 3 had neither the filter's options, nor a rate, nor layers.
TEST_F(ManifestTest, VersionThreeIsRead) {
  std::string bytes = "TRAWLMAN";
  put_fixed(bytes, std::uint32_t{3});
  put_fixed(bytes, KeyedHash::kAlgorithm);
  for (const auto byte : KeyedHash::from_seed(3).key())
    put_fixed(bytes, byte);
  put_fixed(bytes, std::uint8_t{1});
  put_string(bytes, "lossless-2");
  put_fixed(bytes, std::uint64_t{17});
  put_fixed(bytes, std::uint64_t{9});
  put_varint(bytes, 1);
  for (const std::uint64_t number : {7, 17, 20})
    put_fixed(bytes, number);
  put_fixed(bytes, std::uint64_t{XXH3_64bits(bytes.data(), bytes.size())});
  overwrite(bytes);
  const auto read = Manifest::read(directory_.path());
  ASSERT_TRUE(read) << read.error().message;
  const Manifest& manifest = **read;
  EXPECT_EQ(manifest.log_start, 17u);
  EXPECT_EQ(manifest.next_checkpoint, 9u);
  ASSERT_EQ(manifest.checkpoints.size(), 1u);
  EXPECT_EQ(manifest.checkpoints[0].end, 20u);
  EXPECT_TRUE(manifest.checkpoints[0].layers.empty());
  EXPECT_EQ(manifest.expected_urls, 0u);
  EXPECT_EQ(manifest.replayed_per_second, 3.5e6);
}

// Behind magic, version, algorithm and key.
TEST_F(ManifestTest, AnImpossibleLedgerIsDamage) {
  published();
  overwrite_sealed(contents(), 32, 2);
  EXPECT_EQ(Manifest::read(directory_.path()).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace trawl
