#include "trawl/blocked_bloom_builder.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/mapped_filter.h"

#include "filter/blocked/builder_plan.h"
#include "tests/support/filter_keys.h"
#include "tests/support/sanitized.h"
#include "tests/support/sizes.h"
#include "tests/support/small_disk.h"
#include "tests/support/snapshot_file.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;

using test::kMiB;
using test::nth_key;
using test::some_keys;

std::string contents_of(const std::string& path) {
  return *read_file(path, 64u << 20);
}

class BlockedBloomBuilderTest : public ::testing::Test {
 protected:
  BlockedBloomBuilder::Options options(std::uint64_t capacity, double rate,
                                       std::uint64_t memory = kMiB) const {
    return {.filter = {.capacity = capacity,
                       .false_positive_rate = rate,
                       .hash = KeyedHash::from_seed(7)},
            .path = path_,
            .max_memory_bytes = memory};
  }

  // What a filter in memory with the same keys saves.
  FilterStats save_filter(const FilterOptions& filter_options, std::span<const Fingerprint> keys) {
    auto filter = BlockedBloomFilter::create(filter_options).value();
    const auto admitted = std::make_unique<bool[]>(keys.size());
    filter.insert_batch(keys, {admitted.get(), keys.size()});
    EXPECT_TRUE(filter.save(expected_));
    return filter.stats();
  }

  void expect_only_the_file() const {
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      EXPECT_THAT(entry.path().string(), testing::AnyOf(path_, expected_));
    }
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_ / "built.trawl";
  std::string expected_ = directory_ / "expected.trawl";
  std::string spool_ = path_ + ".spool";
};

TEST_F(BlockedBloomBuilderTest, TheFileIsThatOfAFilterInMemoryByteForByte) {
  struct Case {
    std::uint64_t capacity;
    double rate;
    std::size_t keys;
    std::uint64_t memory;
  };
  for (const Case& c : {Case{500'000, 1e-6, 400'000, kMiB},       // several ranges
                        Case{500'000, 1e-6, 400'000, 3 * kMiB},   // others
                        Case{500'000, 1e-6, 400'000, 64 * kMiB},  // one
                        Case{285'000, 1e-6, 200'000, kMiB},       // two, and nothing resident
                        Case{50'000, 1e-2, 400'000, kMiB},        // far too many keys
                        Case{6'000'000, 1e-6, 40, kMiB},          // most chunks zero, 46 ranges
                        Case{1, 0.5, 3, kMiB}}) {
    SCOPED_TRACE(testing::Message() << c.capacity << " at " << c.rate << " in " << c.memory);
    auto keys = some_keys(c.keys);
    keys.insert(keys.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(c.keys / 5));
    const auto asked = options(c.capacity, c.rate, c.memory);
    auto builder = BlockedBloomBuilder::create(asked);
    ASSERT_TRUE(builder) << builder.error().message;
    EXPECT_EQ(builder->hash().key(), asked.filter.hash->key());
    std::mt19937_64 random(c.keys);
    for (std::size_t done = 0; done < keys.size();) {
      const std::size_t part = std::min<std::size_t>(random() % 5000, keys.size() - done);
      ASSERT_TRUE(builder->add({keys.data() + done, part}));
      done += part;
    }
    const auto stats = builder->finish();
    ASSERT_TRUE(stats) << stats.error().message;

    const auto expected = save_filter(asked.filter, keys);
    EXPECT_TRUE(contents_of(path_) == contents_of(expected_));
    expect_only_the_file();
    EXPECT_EQ(stats->inserted, expected.inserted);
    EXPECT_EQ(stats->capacity, expected.capacity);
    EXPECT_EQ(stats->target_rate, expected.target_rate);
    EXPECT_EQ(stats->memory_bytes, expected.memory_bytes);
    EXPECT_EQ(stats->hashes, expected.hashes);
    // Of an overfull filter, the one in memory asks its bits.
    if (expected.inserted <= expected.capacity) {
      EXPECT_EQ(stats->current_rate, expected.current_rate);
      EXPECT_EQ(stats->expected_false_positives, expected.expected_false_positives);
    }
    EXPECT_NEAR(stats->fill, expected.fill, 0.01);
  }
}

TEST_F(BlockedBloomBuilderTest, SweepsInBetweenMakeTheSameFile) {
  struct Case {
    std::uint64_t capacity;
    std::size_t keys;
    std::uint64_t memory;
    int sweeps;  // at least
  };
  for (const Case& c : {Case{1'000'000, 900'000, 2 * kMiB, 4},  // 4.7 MiB, a third of it resident
                        Case{2'000'000, 1'000'000, kMiB, 8},    // nearly nothing resident
                        Case{10'000'000, 300'000, 3 * kMiB, 2}}) {  // most blocks without a key
    SCOPED_TRACE(testing::Message() << c.capacity << " in " << c.memory);
    auto asked = options(c.capacity, 1e-6, c.memory);
    asked.max_spool_bytes = kMiB;
    auto builder = BlockedBloomBuilder::create(asked).value();
    auto keys = some_keys(c.keys);
    keys.insert(keys.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(c.keys / 9));
    std::uint64_t spool = 0;
    int sweeps = 0;
    for (std::size_t done = 0; done < keys.size();) {
      const std::size_t part = std::min<std::size_t>(4000, keys.size() - done);
      ASSERT_TRUE(builder.add({keys.data() + done, part}));
      done += part;
      const std::uint64_t now = builder.work().spool_bytes;
      EXPECT_LE(now, kMiB + 64 * 1024);
      if (now < spool) ++sweeps;
      spool = now;
    }
    EXPECT_GE(sweeps, c.sweeps);
    const auto stats = builder.finish();
    ASSERT_TRUE(stats) << stats.error().message;
    const auto expected = save_filter(asked.filter, keys);
    EXPECT_EQ(stats->inserted, expected.inserted);
    EXPECT_TRUE(contents_of(path_) == contents_of(expected_));
    expect_only_the_file();
  }
}

TEST_F(BlockedBloomBuilderTest, SweptRangesWithoutKeysAreLeftOutOfTheFile) {
  // All keys in the last blocks, so that what was swept lies far behind where it goes.
  auto asked = options(1'000'000, 1e-6);
  asked.max_spool_bytes = kMiB;
  auto keys = some_keys(300'000);
  for (Fingerprint& key : keys)
    key.high |= std::uint64_t{0xf} << 60;
  auto builder = BlockedBloomBuilder::create(asked).value();
  ASSERT_TRUE(builder.add(keys));
  ASSERT_TRUE(builder.finish());
  save_filter(asked.filter, keys);
  EXPECT_LT(fs::file_size(path_), kMiB);
  EXPECT_TRUE(contents_of(path_) == contents_of(expected_));
}

TEST_F(BlockedBloomBuilderTest, ABuilderThatGoesDuringASweepLeavesNothing) {
  auto asked = options(4'000'000, 1e-6);
  asked.max_spool_bytes = kMiB;
  {
    auto builder = BlockedBloomBuilder::create(asked).value();
    ASSERT_TRUE(builder.add(some_keys(400'000)));
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(BlockedBloomBuilderTest, AFileWithoutKeysIsAnEmptyFilters) {
  const auto asked = options(1'000'000, 1e-6);
  auto builder = BlockedBloomBuilder::create(asked).value();
  ASSERT_TRUE(builder.add({}));
  const auto stats = builder.finish();
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(stats->inserted, 0u);
  EXPECT_EQ(stats->fill, 0);
  save_filter(asked.filter, {});
  EXPECT_EQ(contents_of(path_), contents_of(expected_));
}

TEST_F(BlockedBloomBuilderTest, TheFileMayBeLoadedAndMapped) {
  auto builder = BlockedBloomBuilder::create(options(300'000, 1e-4)).value();
  const auto keys = some_keys(300'000);
  ASSERT_TRUE(builder.add(keys));
  ASSERT_TRUE(builder.finish());
  const auto loaded = BlockedBloomFilter::load(path_).value();
  const auto mapped = MappedFilter::open(path_).value();
  ASSERT_TRUE(mapped.verify());
  for (const Fingerprint key : keys) {
    ASSERT_TRUE(loaded.contains(key));
    ASSERT_TRUE(mapped.contains(key));
  }
}

TEST_F(BlockedBloomBuilderTest, ProgressRisesToTheNumberOfKeysAdded) {
  auto asked = options(500'000, 1e-6);
  std::vector<std::uint64_t> applied;
  asked.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, 100'000u);
    applied.push_back(done);
  };
  auto builder = BlockedBloomBuilder::create(asked).value();
  ASSERT_TRUE(builder.add(some_keys(100'000)));
  EXPECT_TRUE(applied.empty());
  ASSERT_TRUE(builder.finish());
  ASSERT_GT(applied.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(applied));
  EXPECT_EQ(applied.back(), 100'000u);
}

TEST_F(BlockedBloomBuilderTest, MemoryStaysWithinTheLimit) {
#ifdef TRAWL_SANITIZED
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  const auto peak = [] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    return 0ull;
  };
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is what there is now
  const auto before = peak();
  if (before == 0) GTEST_SKIP() << "the system does not report the peak of memory";
  constexpr std::uint64_t kLimit = 6 * kMiB;
  auto builder = BlockedBloomBuilder::create(options(14'000'000, 1e-6, kLimit)).value();
  for (std::uint64_t part = 0; part < 1000; ++part)
    ASSERT_TRUE(builder.add(some_keys(1000, part)));
  const auto stats = builder.finish();
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_GT(stats->memory_bytes, 64 * kMiB);
  EXPECT_GT(fs::file_size(path_), 64 * kMiB);
  EXPECT_LT(peak(), before + kLimit + kMiB / 2);
}

TEST_F(BlockedBloomBuilderTest, ImpossibleOptionsAreErrorsThatSayWhy) {
  const auto refusal = [&](const BlockedBloomBuilder::Options& bad) {
    const auto builder = BlockedBloomBuilder::create(bad);
    EXPECT_FALSE(builder);
    return builder ? Error{} : builder.error();
  };
  EXPECT_EQ(refusal(options(0, 1e-6)).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(options(1000, 0)).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(options(1000, 1e-6, kMiB - 1)).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(options(1'000'000'000'000'000'000, 0.01, kMiB)).code,
            ErrorCode::kInvalidArgument);
  auto elsewhere = options(1000, 1e-6);
  elsewhere.path = directory_.path().string();
  EXPECT_EQ(refusal(elsewhere).code, ErrorCode::kInvalidArgument);
  auto tiny_spool = options(1000, 1e-6);
  tiny_spool.max_spool_bytes = kMiB - 1;
  EXPECT_EQ(refusal(tiny_spool).code, ErrorCode::kInvalidArgument);
  elsewhere.path = directory_ / "no/such/folder/file";
  EXPECT_EQ(refusal(elsewhere).code, ErrorCode::kNotFound);
  // All the memory in the world, in ranges of 256 GiB.
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  if (pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) < 256 * 1024 * kMiB) {
    EXPECT_EQ(refusal(options(10'000'000'000'000, 1e-6, ~std::uint64_t{0})).code,
              ErrorCode::kNoSpace);
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(BlockedBloomBuilderTest, TooLittleMemoryIsRefusedWithTheLeastThatWorks) {
  const auto few = BlockedBloomBuilder::create(options(100'000'000, 1e-4, kMiB));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kInvalidArgument);
  const auto at = few.error().message.find("at least ");
  ASSERT_NE(at, std::string::npos) << few.error().message;
  const std::uint64_t least = std::stoull(few.error().message.substr(at + 9));
  EXPECT_TRUE(BlockedBloomBuilder::create(options(100'000'000, 1e-4, least * kMiB)));
  EXPECT_FALSE(BlockedBloomBuilder::create(options(100'000'000, 1e-4, (least - 1) * kMiB)));
}

TEST(BuilderPlan, RangesCoverTheFilterWithinTheMemory) {
  constexpr std::uint64_t kSeed = 31;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  int made = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t blocks = 1 + (random() >> (10 + random() % 54));
    const std::uint64_t memory = kMiB + (random() >> (random() % 64));
    const auto plan = plan_build(blocks, memory);
    if (!plan) continue;
    ++made;
    const std::uint64_t chunks = (blocks + kBlocksPerChunk - 1) / kBlocksPerChunk;
    ASSERT_LE(plan->ranges, kMaxRanges);
    ASSERT_LE(plan->resident_chunks, chunks);
    const std::uint64_t others = chunks - plan->resident_chunks;
    ASSERT_GE(plan->ranges * plan->chunks_per_range, others);
    const auto in_memory = [&](std::uint64_t more_chunks, std::uint64_t bytes) {
      return (plan->resident_chunks + more_chunks) * kSnapshotChunkBytes + bytes;
    };
    ASSERT_LE(in_memory(0, plan->queue_bytes + plan->ranges * plan->spool_buffer_bytes), memory);
    if (plan->ranges == 0) continue;
    ASSERT_LE(in_memory(plan->chunks_per_range, plan->queue_bytes + plan->read_buffer_bytes),
              memory);
    ASSERT_LT((plan->ranges - 1) * plan->chunks_per_range, others);
    ASSERT_GE(plan->spool_buffer_bytes, kMinSpoolBuffer);
    ASSERT_LE(plan->chunks_per_range * kBlocksPerChunk, std::uint64_t{1} << 32);
  }
  EXPECT_GT(made, 500);
}

// The sizes that the header promises.
TEST(BuilderPlan, LittleMemoryIsEnoughForLargeFilters) {
  constexpr std::uint64_t kBlocksPerMiB = kMiB / 64;
  EXPECT_TRUE(plan_build(30 * kBlocksPerMiB, kMiB));
  EXPECT_TRUE(plan_build(2 * 1024 * kBlocksPerMiB, 8 * kMiB));
  EXPECT_TRUE(plan_build(27 * 1024 * kBlocksPerMiB, 100 * kMiB));
  EXPECT_TRUE(plan_build(400 * 1024 * kBlocksPerMiB, 1536 * kMiB));
}

TEST_F(BlockedBloomBuilderTest, TheSpoolGoesWithTheBuilder) {
  {
    auto builder = BlockedBloomBuilder::create(options(500'000, 1e-6)).value();
    ASSERT_TRUE(builder.add(some_keys(300'000)));
    EXPECT_FALSE(fs::is_empty(spool_));
    BlockedBloomBuilder moved = std::move(builder);
    ASSERT_TRUE(moved.add(some_keys(10)));
  }
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(BlockedBloomBuilderTest, ASpoolThatWasLeftIsReplacedAndOthersFilesAreNot) {
  fs::create_directory(spool_);
  test::write_contents(spool_ + "/range-000.keys", "keys of a process that was killed");
  test::write_contents(spool_ + "/range-499.keys", "and more");
  const std::vector<std::string> foreign{"notes.txt", "range-.keys", "range-00x.keys",
                                         "range-000.keys.bak"};
  for (const auto& name : foreign)
    test::write_contents(spool_ + "/" + name, "mine");
  fs::create_directory(spool_ + "/range-001.keys.d");
  const auto asked = options(500'000, 1e-6);
  auto builder = BlockedBloomBuilder::create(asked).value();
  EXPECT_FALSE(fs::exists(spool_ + "/range-499.keys"));
  const auto keys = some_keys(50'000);
  ASSERT_TRUE(builder.add(keys));
  ASSERT_TRUE(builder.finish());
  save_filter(asked.filter, keys);
  EXPECT_TRUE(contents_of(path_) == contents_of(expected_));
  for (const auto& name : foreign)
    EXPECT_EQ(contents_of(spool_ + "/" + name), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(spool_), {}),
            static_cast<std::ptrdiff_t>(foreign.size() + 1));
}

TEST_F(BlockedBloomBuilderTest, AFileOfATemporarysNameIsLeftAlone) {
  test::write_contents(path_ + ".tmp", "mine");
  auto builder = BlockedBloomBuilder::create(options(500'000, 1e-6)).value();
  ASSERT_TRUE(builder.add(some_keys(1000)));
  ASSERT_TRUE(builder.finish());
  EXPECT_EQ(contents_of(path_ + ".tmp"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), {}), 2);
}

TEST_F(BlockedBloomBuilderTest, ALinkLeadsTheSpoolElsewhereAndStays) {
  const std::string elsewhere = directory_ / "elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, spool_);
  auto builder = BlockedBloomBuilder::create(options(500'000, 1e-6)).value();
  ASSERT_TRUE(builder.add(some_keys(300'000)));
  EXPECT_FALSE(fs::is_empty(elsewhere));
  ASSERT_TRUE(builder.finish());
  EXPECT_TRUE(fs::is_empty(elsewhere));
  EXPECT_TRUE(fs::is_symlink(spool_));
}

TEST_F(BlockedBloomBuilderTest, ASpoolFolderThatIsTakenIsAnError) {
  auto first = std::make_optional(BlockedBloomBuilder::create(options(1000, 1e-6)).value());
  EXPECT_EQ(BlockedBloomBuilder::create(options(1000, 1e-6)).error().code, ErrorCode::kInUse);
  ASSERT_TRUE(first->add(some_keys(10)));
  ASSERT_TRUE(first->finish());
  first.reset();
  test::write_contents(spool_, "a file");
  EXPECT_EQ(BlockedBloomBuilder::create(options(1000, 1e-6)).error().code,
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(contents_of(spool_), "a file");
}

TEST_F(BlockedBloomBuilderTest, NothingCanBeAddedToAFileThatIsBuilt) {
  auto builder = BlockedBloomBuilder::create(options(1000, 1e-6)).value();
  ASSERT_TRUE(builder.finish());
  const auto key = some_keys(1);
  EXPECT_EQ(builder.add(key).error().code, ErrorCode::kClosed);
  EXPECT_EQ(builder.finish().error().code, ErrorCode::kClosed);
  EXPECT_TRUE(BlockedBloomFilter::load(path_));
}

TEST_F(BlockedBloomBuilderTest, ASpoolThatChangedIsAnError) {
  for (const bool shorter : {true, false}) {
    test::write_contents(path_, "old");
    auto builder = BlockedBloomBuilder::create(options(500'000, 1e-6)).value();
    ASSERT_TRUE(builder.add(some_keys(400'000)));
    ASSERT_TRUE(fs::exists(spool_ + "/range-001.keys"));
    if (shorter)
      fs::resize_file(spool_ + "/range-001.keys", 1000);
    else
      test::flip_byte(spool_ + "/range-001.keys", 2003, 64);
    const auto stats = builder.finish();
    ASSERT_FALSE(stats);
    EXPECT_EQ(stats.error().code, ErrorCode::kIo);
    EXPECT_NE(stats.error().message.find("range-001.keys"), std::string::npos);
    EXPECT_EQ(contents_of(path_), "old");
    expect_only_the_file();
  }
}

TEST_F(BlockedBloomBuilderTest, AFullDiskWhileSpoolingLeavesTheOldFileAndNothingElse) {
  test::SmallDisk disk(2 * kMiB);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a file system";
  auto asked = options(500'000, 1e-6);
  asked.path = disk / "built.trawl";
  test::write_contents(asked.path, "old");
  auto builder = BlockedBloomBuilder::create(asked).value();
  const auto keys = some_keys(10'000);
  Result<void> added;
  for (int i = 0; added && i < 100; ++i)
    added = builder.add(keys);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(added.error().message.find(".spool"), std::string::npos) << added.error().message;
  EXPECT_EQ(disk.files(), 1u);  // at once, not only when the builder goes
  EXPECT_EQ(builder.add(keys).error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(builder.finish().error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(contents_of(asked.path), "old");
}

TEST_F(BlockedBloomBuilderTest, AFullDiskAtTheEndLeavesTheOldFileAndNothingElse) {
  test::SmallDisk disk(2 * kMiB);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a file system";
  auto asked = options(500'000, 1e-6);  // 2.3 MiB
  asked.path = disk / "built.trawl";
  test::write_contents(asked.path, "old");
  auto builder = BlockedBloomBuilder::create(asked).value();
  ASSERT_TRUE(builder.add(some_keys(50'000)));  // 0.8 MiB
  const auto stats = builder.finish();
  ASSERT_FALSE(stats);
  EXPECT_EQ(stats.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(stats.error().message.find("built.trawl.tmp"), std::string::npos)
      << stats.error().message;
  EXPECT_EQ(disk.files(), 1u);
  EXPECT_EQ(contents_of(asked.path), "old");
}

}  // namespace
}  // namespace trawl
