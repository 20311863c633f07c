#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "trawl/blocked_bloom_filter.h"

#include "filter/file_io.h"
#include "filter/mix.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

Fingerprint nth_key(std::uint64_t n) {
  return {.high = mix64(2 * n), .low = mix64(2 * n + 1)};
}

std::string contents_of(const std::string& path) {
  return *read_file(path, 64u << 20);
}

void write_contents(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

class Snapshot : public ::testing::Test {
 protected:
  // A filter of 8 chunks with keys in all of them, saved.
  void save_filter(std::uint64_t keys) {
    auto filter =
        BlockedBloomFilter::create({.capacity = 200'000, .false_positive_rate = 1e-4}).value();
    for (std::uint64_t i = 0; i < keys; ++i)
      filter.insert(nth_key(i));
    ASSERT_TRUE(filter.save(path_));
  }
  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "filter.ckpt";
};

TEST_F(Snapshot, LoadedFilterEqualsTheSavedOne) {
  save_filter(50'000);
  auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  for (std::uint64_t i = 0; i < 50'000; ++i)
    ASSERT_TRUE(loaded->contains(nth_key(i)));
  const auto stats = loaded->stats();
  EXPECT_EQ(stats.capacity, 200'000u);
  EXPECT_GE(stats.inserted, 49'990u);
  // Saving what was loaded gives the same bytes: nothing was lost or added.
  const std::string again = directory_ / "again.ckpt";
  ASSERT_TRUE(loaded->save(again));
  EXPECT_EQ(contents_of(path_), contents_of(again));
}

TEST_F(Snapshot, ZeroChunksAreLeftOut) {
  save_filter(1);
  EXPECT_LT(std::filesystem::file_size(path_), 2 * 64 * 1024u);
  EXPECT_TRUE(BlockedBloomFilter::load(path_)->contains(nth_key(0)));
  save_filter(0);
  EXPECT_EQ(std::filesystem::file_size(path_), 4096 + 32u);
  EXPECT_FALSE(BlockedBloomFilter::load(path_)->contains(nth_key(0)));
}

TEST_F(Snapshot, WhatWasInsertedBeforeASaveIsInItWhateverGoesOnMeanwhile) {
  auto filter = BlockedBloomFilter::create({.capacity = 200'000}).value();
  std::atomic<std::uint64_t> inserted{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 200'000 && !stop.load(); ++i) {
      filter.insert(nth_key(i));
      inserted.store(i + 1);
    }
  });
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t before = inserted.load();
    ASSERT_TRUE(filter.save(path_));
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    for (std::uint64_t i = 0; i < before; ++i)
      ASSERT_TRUE(loaded->contains(nth_key(i)));
  }
  stop = true;
  writer.join();
}

TEST_F(Snapshot, EveryTruncationIsDetected) {
  save_filter(50'000);
  const std::string whole = contents_of(path_);
  for (std::size_t size = 0; size < whole.size(); size += 4096) {
    write_contents(path_, whole.substr(0, size));
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << size;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(loaded.error().message.find(path_), std::string::npos);
  }
  for (std::size_t cut = 1; cut <= 30; ++cut) {
    write_contents(path_, whole.substr(0, whole.size() - cut));
    EXPECT_FALSE(BlockedBloomFilter::load(path_)) << cut;
  }
  write_contents(path_, whole + "x");
  EXPECT_FALSE(BlockedBloomFilter::load(path_)) << "bytes behind the end";
}

TEST_F(Snapshot, EveryFlippedByteIsDetected) {
  save_filter(50'000);
  const std::string whole = contents_of(path_);
  constexpr std::uint64_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    const std::size_t at = i < 80 ? static_cast<std::size_t>(i) : random() % whole.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    write_contents(path_, damaged);
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << "byte " << at;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt) << "byte " << at;
  }
}

TEST_F(Snapshot, ADamagedChunkIsNamed) {
  save_filter(50'000);
  std::string damaged = contents_of(path_);
  damaged[damaged.size() / 2] ^= 1;
  write_contents(path_, damaged);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("chunk"), std::string::npos) << loaded.error().message;
}

TEST_F(Snapshot, ANewerVersionIsRefusedByNumber) {
  save_filter(10);
  std::string newer = contents_of(path_);
  newer[8] = 9;
  const std::uint64_t sum = XXH3_64bits(newer.data(), 4088);
  std::memcpy(newer.data() + 4088, &sum, sizeof sum);
  write_contents(path_, newer);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_NE(loaded.error().message.find("version 9"), std::string::npos);
}

TEST_F(Snapshot, MissingAndUnwritableFilesAreErrorsOfTheirOwn) {
  EXPECT_EQ(BlockedBloomFilter::load(directory_ / "none").error().code, ErrorCode::kNotFound);
  const auto filter = BlockedBloomFilter::create({.capacity = 10}).value();
  EXPECT_EQ(filter.save(directory_ / "no/such/directory").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace trawl
