#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/mapped_filter.h"

#include "base/file_io.h"
#include "filter/snapshot/snapshot_format.h"
#include "tests/support/address_space.h"
#include "tests/support/filter_keys.h"
#include "tests/support/sanitized.h"
#include "tests/support/small_disk.h"
#include "tests/support/snapshot_file.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::nth_key;
using test::SnapshotFile;
using test::write_contents;

std::string bytes_of_file(const std::string& path) {
  return *read_file(path, 64u << 20);
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
  // One chunk, with a single block in it.
  void save_small_filter() {
    auto filter = BlockedBloomFilter::create({.capacity = 10}).value();
    filter.insert(nth_key(0));
    ASSERT_TRUE(filter.save(path_));
  }
  // Why `path_` is not loaded.
  Error refusal() {
    const auto loaded = BlockedBloomFilter::load(path_);
    if (loaded) ADD_FAILURE() << "was loaded";
    return loaded ? Error{} : loaded.error();
  }
  void expect_refusal(const SnapshotFile& parts, ErrorCode code, const std::string& words) {
    parts.write(path_);
    const Error error = refusal();
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(path_), std::string::npos) << error.message;
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
  EXPECT_EQ(bytes_of_file(path_), bytes_of_file(again));
}

TEST_F(Snapshot, AFilterOfAFewKeysTakesAFewKibibytes) {
  auto few = BlockedBloomFilter::create({.capacity = 21, .false_positive_rate = 1e-6}).value();
  for (std::uint64_t i = 0; i < 21; ++i)
    few.insert(nth_key(i));
  ASSERT_TRUE(few.save(path_));
  const std::uint64_t size = std::filesystem::file_size(path_);
  EXPECT_LT(size, 4500u);
  EXPECT_EQ(size, 4096 + few.stats().memory_bytes + 16 + 32);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto mapped = MappedFilter::open(path_);
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_TRUE(mapped->verify());
  for (std::uint64_t i = 0; i < 21; ++i) {
    EXPECT_TRUE(loaded->contains(nth_key(i)));
    EXPECT_TRUE(mapped->contains(nth_key(i)));
  }
}

TEST_F(Snapshot, AFileOfVersionTwoWhoseLastChunkIsWholeIsRead) {
  save_small_filter();
  const SnapshotFile parts = SnapshotFile::read(path_);
  std::string header = encode_snapshot_header(parts.header);
  header[8] = 2;
  const std::uint64_t sum = XXH3_64bits(header.data(), header.size() - 8);
  std::memcpy(header.data() + header.size() - 8, &sum, sizeof sum);
  const auto& chunk = parts.chunks.front();
  const std::string end =
      encode_snapshot_directory({{chunk.index, snapshot_chunk_checksum(chunk.index, chunk.bytes)}});
  write_contents(path_, header + chunk.bytes + end);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_GT(loaded->stats().inserted, 0u);
  EXPECT_TRUE(MappedFilter::open(path_)->verify());
  // Cut, it is of no version.
  const std::size_t words = snapshot_words_of(parts.header, chunk.index);
  ASSERT_LT(words, kSnapshotChunkWords);
  write_contents(path_, header + chunk.bytes.substr(0, words * 8) + end);
  EXPECT_EQ(refusal().code, ErrorCode::kCorrupt);
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
    // More keys than it is made for do no harm.
    for (std::uint64_t i = 0; !stop.load(); ++i) {
      filter.insert(nth_key(i));
      inserted.store(i + 1);
    }
  });
  while (inserted.load() == 0)
    std::this_thread::yield();
  int overlapped = 0;  // saves during which keys came
  for (int round = 0; round < 5 || (overlapped == 0 && round < 1000); ++round) {
    const std::uint64_t before = inserted.load();
    EXPECT_TRUE(filter.save(path_));
    if (inserted.load() > before) ++overlapped;
    const auto loaded = BlockedBloomFilter::load(path_);
    EXPECT_TRUE(loaded) << loaded.error().message;
    for (std::uint64_t i = 0; loaded && i < before; ++i) {
      if (loaded->contains(nth_key(i))) continue;
      ADD_FAILURE() << "key " << i << " of " << before << " is not in";
      break;
    }
  }
  stop = true;
  writer.join();
  EXPECT_GT(overlapped, 0);
}

TEST_F(Snapshot, SavesToOnePathDoNotDisturbEachOther) {
  constexpr int kThreads = 4, kRounds = 25;
  auto filter = BlockedBloomFilter::create({.capacity = 50'000}).value();
  for (std::uint64_t i = 0; i < 20'000; ++i)
    filter.insert(nth_key(i));
  write_contents(path_ + ".tmp", "mine");
  ASSERT_TRUE(filter.save(path_));
  const std::string expected = bytes_of_file(path_);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const auto saved = filter.save(path_);
        EXPECT_TRUE(saved) << saved.error().message;
        const auto loaded = BlockedBloomFilter::load(path_);
        EXPECT_TRUE(loaded) << loaded.error().message;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_TRUE(bytes_of_file(path_) == expected);
  EXPECT_EQ(bytes_of_file(path_ + ".tmp"), "mine");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 2);
}

TEST_F(Snapshot, TheFileIsMadeWithTheUsersMask) {
  const mode_t mask = ::umask(0027);
  save_small_filter();
  ::umask(mask);
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(Snapshot, EveryTruncationIsDetected) {
  save_filter(50'000);
  const std::string whole = bytes_of_file(path_);
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
  const std::size_t size = std::filesystem::file_size(path_);
  constexpr std::uint64_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    const std::size_t at = i < 80 ? static_cast<std::size_t>(i) : random() % size;
    const auto bits = static_cast<char>(1 << (random() % 8));
    test::flip_byte(path_, at, bits);
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << "byte " << at;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt) << "byte " << at;
    test::flip_byte(path_, at, bits);
  }
}

TEST_F(Snapshot, ADamagedChunkIsNamed) {
  save_filter(50'000);
  std::string damaged = bytes_of_file(path_);
  damaged[damaged.size() / 2] ^= 1;
  write_contents(path_, damaged);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("chunk"), std::string::npos) << loaded.error().message;
}

TEST_F(Snapshot, ANewerVersionIsRefusedByNumber) {
  save_filter(10);
  std::string newer = bytes_of_file(path_);
  newer[8] = 9;
  const std::uint64_t sum = XXH3_64bits(newer.data(), 4088);
  std::memcpy(newer.data() + 4088, &sum, sizeof sum);
  write_contents(path_, newer);
  const auto loaded = BlockedBloomFilter::load(path_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_NE(loaded.error().message.find("version 9"), std::string::npos);
}

TEST_F(Snapshot, AVersionThatNeverWasIsDamage) {
  save_small_filter();
  const std::string good = bytes_of_file(path_);
  for (const char version : {0, 1}) {
    std::string old = good;
    old[8] = version;
    const std::uint64_t sum = XXH3_64bits(old.data(), 4088);
    std::memcpy(old.data() + 4088, &sum, sizeof sum);
    write_contents(path_, old);
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << error.message;
    EXPECT_EQ(error.message.find("newer"), std::string::npos) << error.message;
  }
}

TEST_F(Snapshot, VersionOneIsRefusedByNumber) {
  write_contents(path_, "TRAWLBBF" + std::string("\1\0\0\0", 4) + std::string(80, 'x'));
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedVersion);
  EXPECT_NE(error.message.find("version 1;"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("version 4:"), std::string::npos) << error.message;
}

TEST_F(Snapshot, WhatIsNoSnapshotIsCalledSo) {
  save_small_filter();
  std::string other = bytes_of_file(path_);
  other.replace(0, 8,
                "\x7f"
                "ELF\2\1\1\0");
  for (const std::string& contents : {std::string(), std::string("<html>"), other}) {
    write_contents(path_, contents);
    const Error error = refusal();
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_NE(error.message.find("not a filter file"), std::string::npos) << error.message;
  }
}

TEST_F(Snapshot, EveryByteOfASmallFileIsGuarded) {
  save_small_filter();
  const std::size_t size = std::filesystem::file_size(path_);
  const std::size_t chunk_end = kSnapshotHeaderBytes + kSnapshotChunkBytes;
  for (std::size_t at = 0; at < size;) {
    const auto flipped = static_cast<char>(1 << at % 8);
    test::flip_byte(path_, at, flipped);
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << "byte " << at;
    ASSERT_EQ(loaded.error().code, ErrorCode::kCorrupt) << "byte " << at;
    test::flip_byte(path_, at, flipped);
    at += at >= kSnapshotHeaderBytes && at + 61 < chunk_end ? 61 : 1;
  }
  // All of the chunk's bytes by what the reader compares: loading for each would take long.
  const SnapshotFile parts = SnapshotFile::read(path_);
  const auto index = parts.chunks.front().index;
  std::string bytes = parts.chunks.front().bytes;
  const std::uint64_t right = snapshot_chunk_checksum(index, bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    ASSERT_NE(snapshot_chunk_checksum(index, bytes), right) << "byte " << at << " of the chunk";
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
  }
  EXPECT_TRUE(BlockedBloomFilter::load(path_)) << "each byte was put right again";
}

TEST_F(Snapshot, NoOtherLengthOfASmallFileIsAccepted) {
  save_small_filter();
  const std::size_t size = std::filesystem::file_size(path_);
  for (std::size_t shorter = size; shorter-- > 0;) {
    // Within the chunk not each, to be quick.
    if (shorter > 5000 && shorter < 69'000 && shorter % 7 != 0) continue;
    std::filesystem::resize_file(path_, shorter);
    const auto loaded = BlockedBloomFilter::load(path_);
    ASSERT_FALSE(loaded) << shorter;
    ASSERT_EQ(loaded.error().code, ErrorCode::kCorrupt) << shorter;
  }
}

TEST_F(Snapshot, ImpossibleDirectoriesAreRefusedWhateverTheirChecksums) {
  save_filter(50'000);
  const SnapshotFile good = SnapshotFile::read(path_);
  const std::size_t last = good.chunks.size() - 1;
  ASSERT_GE(last, 3u);
  const auto with = [&](auto change) {
    SnapshotFile bad = good;
    change(bad.chunks);
    return bad;
  };
  const auto refused = [&](std::uint64_t chunk, auto change) {
    expect_refusal(with(change), ErrorCode::kCorrupt,
                   "an impossible chunk " + std::to_string(chunk));
  };
  refused(1, [](auto& chunks) { chunks[2].index = 1; });                    // twice
  refused(1, [](auto& chunks) { std::swap(chunks[1], chunks[2]); });        // descending
  refused(last + 1, [&](auto& chunks) { chunks[last].index = last + 1; });  // beyond the end
  refused(~std::uint64_t{0}, [&](auto& chunks) { chunks[last].index = ~std::uint64_t{0}; });
  expect_refusal(with([&](auto& chunks) { chunks.push_back(chunks[last]); }), ErrorCode::kCorrupt,
                 "its header room for " + std::to_string(last + 1));
  // What these tests are made with makes a good file, too.
  good.write(path_);
  EXPECT_TRUE(BlockedBloomFilter::load(path_));
}

TEST_F(Snapshot, AChunkInAnothersPlaceIsRefused) {
  save_filter(50'000);
  SnapshotFile parts = SnapshotFile::read(path_);
  std::string bytes = parts.bytes();
  bytes.replace(kSnapshotHeaderBytes, kSnapshotChunkBytes, parts.chunks[1].bytes);
  write_contents(path_, bytes);
  EXPECT_NE(refusal().message.find("chunk 0"), std::string::npos);
  // Even where all bytes are the same: the checksum is of the place as well.
  EXPECT_NE(snapshot_chunk_checksum(0, parts.chunks[0].bytes),
            snapshot_chunk_checksum(1, parts.chunks[0].bytes));
}

TEST_F(Snapshot, ImpossibleParametersAreRefusedWhateverTheirChecksums) {
  save_small_filter();
  const SnapshotFile good = SnapshotFile::read(path_);
  const auto refused = [&](auto change) {
    SnapshotFile bad = good;
    change(bad.header, bad.header.sections.front());
    expect_refusal(bad, ErrorCode::kCorrupt, "its parameters are impossible");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([](auto& header, auto&) { header.capacity = 0; });
  for (const double rate : {0.0, 1.0, -0.5, nan}) {
    refused([&](auto& header, auto&) { header.target_rate = rate; });
    refused([&](auto&, auto& section) { section.target_rate = rate; });
  }
  refused([](auto& header, auto&) { header.sections.clear(); });
  refused([](auto& header, auto& section) { header.sections.assign(2, SnapshotSection(section)); });
  refused(
      [](auto& header, auto& section) { header.sections.assign(65, SnapshotSection(section)); });
  refused([](auto&, auto& section) { section.capacity = 0; });
  refused([](auto&, auto& section) { section.words = 0; });
  refused([](auto&, auto& section) { section.words = 12; });
  refused([](auto&, auto& section) { section.words = std::uint64_t{1} << 57; });
  refused([](auto&, auto& section) { section.words = ~std::uint64_t{7}; });
  refused([](auto&, auto& section) { section.hashes = 0; });
  refused([](auto&, auto& section) { section.hashes = 41; });
  refused([](auto&, auto& section) { section.hashes = ~std::uint32_t{0}; });
}

TEST_F(Snapshot, AnotherKindOfFilterIsNamed) {
  save_small_filter();
  SnapshotFile parts = SnapshotFile::read(path_);
  parts.header.kind = FilterKind::kCuckoo;
  expect_refusal(parts, ErrorCode::kInvalidArgument, "holds a cuckoo filter, not a blocked one");
  for (const std::uint32_t kind : {0u, 6u, ~0u}) {
    parts.header.kind = static_cast<FilterKind>(kind);
    expect_refusal(parts, ErrorCode::kCorrupt, "its kind of filter is unknown");
  }
}

TEST_F(Snapshot, ClaimsOfHugeSizesAreRefusedWithoutMemoryForThem) {
  save_small_filter();
  SnapshotFile parts = SnapshotFile::read(path_);
  parts.header.sections.front().words = std::uint64_t{1} << 56;
  expect_refusal(parts, ErrorCode::kNoSpace, "TiB");
  // An end mark that claims more chunks than any file has.
  parts = SnapshotFile{parts.header, {}};
  for (const std::uint64_t chunks : {1ull, 1ull << 40, 1ull << 60, ~0ull}) {
    std::string bytes = parts.bytes();
    const std::size_t end = bytes.size() - 32;
    std::memcpy(bytes.data() + end + 8, &chunks, sizeof chunks);
    const std::uint64_t sum = XXH3_64bits(bytes.data() + end, 24);
    std::memcpy(bytes.data() + end + 24, &sum, sizeof sum);
    write_contents(path_, bytes);
    EXPECT_EQ(refusal().code, ErrorCode::kCorrupt) << chunks;
  }
}

// A file of 100 GB, nearly all of it a hole, with the end mark of such a size.
void write_sparse(const std::string& path, const SnapshotHeader& header) {
  constexpr std::uint64_t kChunks = 1'500'000;
  constexpr std::uint64_t kDirectory = kSnapshotHeaderBytes + kChunks * kSnapshotChunkBytes;
  write_contents(path, encode_snapshot_header(header));
  std::filesystem::resize_file(path, kDirectory);
  const std::string end = encode_snapshot_directory({kChunks, SnapshotChunk{0, 0}});
  std::ofstream(path, std::ios::binary | std::ios::app).write(end.data(), std::ssize(end));
}

TEST_F(Snapshot, MoreChunksThanTheHeaderHasRoomForAreRefused) {
  save_small_filter();
  SnapshotHeader header = SnapshotFile::read(path_).header;
  write_sparse(path_, header);
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_NE(error.message.find("1500000 chunks, its header room for 1"), std::string::npos)
      << error.message;
  header.sections.front().words = std::uint64_t{1} << 40;
  write_sparse(path_, header);
  EXPECT_NE(refusal().message.find("impossible chunk 0"), std::string::npos);
}

TEST_F(Snapshot, ADirectoryThatDoesNotFitIntoMemoryIsNoReasonToThrow) {
#ifdef TRAWL_SANITIZED
  GTEST_SKIP() << "the sanitizers need the address space";
#endif
  save_small_filter();
  SnapshotHeader header = SnapshotFile::read(path_).header;
  header.sections.front().words = std::uint64_t{1} << 40;
  write_sparse(path_, header);
  const auto error_without_memory = [&] {
    test::leave_address_space(8u << 20);  // the directory has 24 MB
    const auto index = read_snapshot_index(InputFile::open(path_).value());
    return index ? ErrorCode::kIo : index.error().code;
  };
  EXPECT_EXIT(std::_Exit(error_without_memory() == ErrorCode::kNoSpace ? 0 : 1),
              testing::ExitedWithCode(0), "");
}

TEST_F(Snapshot, APipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_NE(error.message.find(path_ + " is not a regular file"), std::string::npos);
  EXPECT_EQ(MappedFilter::open(path_).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Snapshot, AnyNumberOfKeysThatAFileClaimsHasARate) {
  save_small_filter();
  SnapshotFile parts = SnapshotFile::read(path_);
  for (const std::uint64_t inserted : {1ull << 20, 1ull << 40, ~0ull}) {
    parts.header.sections.front().inserted = inserted;
    parts.write(path_);
    const auto loaded = BlockedBloomFilter::load(path_).value();
    EXPECT_EQ(loaded.stats().inserted, inserted);
    // Few bits are set, whatever is claimed.
    EXPECT_LT(loaded.stats().current_rate, 1e-6);
    EXPECT_EQ(loaded.stats().expected_false_positives, 0);
  }
}

TEST_F(Snapshot, AFailedSaveLeavesTheOldFileAndNothingElse) {
  const test::SmallDisk disk(256 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a file system";
  path_ = disk / "filter.ckpt";
  save_small_filter();
  const std::string old = bytes_of_file(path_);
  auto large = BlockedBloomFilter::create({.capacity = 200'000}).value();
  for (std::uint64_t i = 0; i < 50'000; ++i)
    large.insert(nth_key(i));
  const auto saved = large.save(path_);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kNoSpace) << saved.error().message;
  EXPECT_EQ(bytes_of_file(path_), old);
  EXPECT_EQ(disk.files(), 1u);
}

TEST_F(Snapshot, ASaveThatCannotBePublishedLeavesNoTemporaryFile) {
  path_ = directory_ / "folder";
  std::filesystem::create_directories(path_ + "/with a file");
  EXPECT_FALSE(BlockedBloomFilter::create({.capacity = 10}).value().save(path_));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
  EXPECT_TRUE(std::filesystem::exists(path_ + "/with a file"));
}

TEST_F(Snapshot, MissingAndUnwritableFilesAreErrorsOfTheirOwn) {
  EXPECT_EQ(BlockedBloomFilter::load(directory_ / "none").error().code, ErrorCode::kNotFound);
  const auto filter = BlockedBloomFilter::create({.capacity = 10}).value();
  EXPECT_EQ(filter.save(directory_ / "no/such/directory").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace trawl
