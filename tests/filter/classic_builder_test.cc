#include "filter/classic/classic_builder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/snapshot/snapshot_format.h"
#include "tests/support/filter_keys.h"
#include "tests/support/sizes.h"
#include "tests/support/small_disk.h"
#include "tests/support/snapshot_file.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::kMiB;
using test::some_keys;

// All but the header, which counts the keys.
std::string bits_of(const std::string& path) {
  return read_file(path, 64u << 20)->substr(kSnapshotHeaderBytes);
}

class ClassicBuilderTest : public ::testing::Test {
 protected:
  ClassicBuilder::Options options(std::uint64_t capacity, double rate,
                                  std::uint64_t memory = kMiB) const {
    ClassicBuilder::Options options;
    options.filter = {
        .capacity = capacity, .false_positive_rate = rate, .hash = KeyedHash::from_seed(7)};
    options.path = path_;
    options.max_memory_bytes = memory;
    return options;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "built.trawl";
};

TEST_F(ClassicBuilderTest, TheBitsAreThoseOfAFilterInMemory) {
  struct Case {
    std::uint64_t capacity;
    double rate;
    std::size_t keys;
    std::uint64_t memory;
    std::uint64_t spool;
    int sweeps;  // before the end
  };
  for (const Case& c : {Case{1'000'000, 1e-6, 900'000, kMiB, 1 << 30, 0},  // 5 parts
                        Case{1'000'000, 1e-6, 900'000, kMiB, 4 * kMiB, 3},
                        Case{1'000'000, 1e-6, 300'000, 3 * kMiB, kMiB, 4},
                        Case{300'000, 1e-6, 200'000, 64 * kMiB, kMiB, 3},    // one part
                        Case{20'000'000, 1e-4, 40, kMiB, 1 << 30, 0},        // mostly zero
                        Case{100'000, 1e-2, 600'000, kMiB, 2 * kMiB, 4}}) {  // far too many keys
    SCOPED_TRACE(testing::Message() << c.capacity << " at " << c.rate << " in " << c.memory);
    auto asked = options(c.capacity, c.rate, c.memory);
    asked.max_spool_bytes = c.spool;
    double shown = 1;
    int sweeps = 0;
    asked.on_sweep = [&](double share) {
      sweeps += share < shown ? 1 : 0;
      shown = share;
    };
    auto builder = ClassicBuilder::create(asked);
    ASSERT_TRUE(builder) << builder.error().message;
    auto keys = some_keys(c.keys);
    keys.insert(keys.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(c.keys / 5));
    for (std::size_t done = 0; done < keys.size();) {
      const std::size_t part = std::min<std::size_t>(done % 7'001 + 1, keys.size() - done);
      ASSERT_TRUE(builder->add({keys.data() + done, part}));
      done += part;
      ASSERT_LE(builder->spool_bytes(), c.spool + 256 * 1024);
    }
    const auto stats = builder->finish();
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_GE(sweeps, c.sweeps);

    auto filter = ClassicBloomFilter::create(asked.filter).value();
    const auto admitted = std::make_unique<bool[]>(keys.size());
    filter.insert_batch(keys, {admitted.get(), keys.size()});
    const std::string expected = directory_ / "expected.trawl";
    ASSERT_TRUE(filter.save(expected));
    EXPECT_TRUE(bits_of(path_) == bits_of(expected));
    EXPECT_EQ(files(), 2u);
    const FilterStats same = filter.stats();
    const auto inserted = static_cast<double>(same.inserted);
    EXPECT_NEAR(static_cast<double>(stats->inserted), inserted, 0.01 * inserted + 1);
    EXPECT_EQ(stats->memory_bytes, same.memory_bytes);
    EXPECT_EQ(stats->hashes, same.hashes);
    EXPECT_EQ(stats->target_rate, same.target_rate);
    EXPECT_NEAR(stats->fill, same.fill, 0.01);
    const auto loaded = ClassicBloomFilter::load(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->contains_batch(keys, {admitted.get(), keys.size()}), keys.size());
    EXPECT_EQ(loaded->stats().inserted, stats->inserted);
  }
}

TEST_F(ClassicBuilderTest, ItIsSizedAsAsked) {
  auto asked = options(100'000, 1e-6);
  asked.filter.bits_per_key = 20;
  asked.filter.hashes = 14;
  auto builder = ClassicBuilder::create(asked).value();
  ASSERT_TRUE(builder.add(some_keys(1'000)));
  const auto stats = builder.finish();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->hashes, 14u);
  EXPECT_EQ(stats->memory_bytes, 250'048u);  // whole cache lines
}

TEST_F(ClassicBuilderTest, OneThatIsGivenUpLeavesNothing) {
  test::write_contents(path_, "old");
  {
    auto asked = options(1'000'000, 1e-6);
    asked.max_spool_bytes = kMiB;
    auto builder = ClassicBuilder::create(asked).value();
    ASSERT_TRUE(builder.add(some_keys(200'000)));
    EXPECT_EQ(files(), 2u);  // the spool has no name
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(*read_file(path_, 100), "old");
}

TEST_F(ClassicBuilderTest, WhatCannotBeBuiltIsRefused) {
  EXPECT_EQ(ClassicBuilder::create(options(1'000, 1e-6, kMiB - 1)).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(ClassicBuilder::create(options(0, 1e-6)).error().code, ErrorCode::kInvalidArgument);
  auto nowhere = options(1'000, 1e-6);
  nowhere.path = directory_ / "no-such-folder/built.trawl";
  EXPECT_EQ(ClassicBuilder::create(nowhere).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(files(), 0u);
}

TEST_F(ClassicBuilderTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  test::SmallDisk disk(2 * kMiB);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a file system";
  for (const std::size_t keys : {200'000u, 50'000u}) {  // while spooling, and at the end
    auto asked = options(500'000, 1e-6);
    asked.path = disk / "built.trawl";
    test::write_contents(asked.path, "old");
    auto builder = std::make_unique<ClassicBuilder>(ClassicBuilder::create(asked).value());
    auto added = builder->add(some_keys(keys));
    const auto error = added ? builder->finish().error() : added.error();
    EXPECT_EQ(added.has_value(), keys == 50'000u);
    EXPECT_EQ(error.code, ErrorCode::kNoSpace) << error.message;
    builder.reset();
    EXPECT_EQ(disk.files(), 1u);
    EXPECT_EQ(*read_file(asked.path, 100), "old");
  }
}

}  // namespace
}  // namespace trawl
