#include "crawler/resp/log_replay.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file_io.h"
#include "crawler/resp/filter_log.h"
#include "crawler/resp/log_frame.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

Fingerprint nth(std::uint64_t n) {
  return {.high = n, .low = ~n};
}

class LogReplayTest : public testing::Test {
 protected:
  // Writes `frames` frames with a key each, in one segment.
  void write(std::uint64_t segment, std::uint64_t first, int frames) {
    FilterLog log(directory_.path(), segment, first);
    for (int i = 0; i < frames; ++i) {
      const Fingerprint key = nth(first + static_cast<std::uint64_t>(i));
      log.keys(LogRecord::Kind::kAdd, 7, {&key, 1});
      ASSERT_TRUE(log.commit());
    }
  }

  Result<LogReplay> replay(std::uint64_t segment = 1, std::uint64_t sequence = 0) {
    found_.clear();
    return replay_log(directory_.path(), segment, sequence, [&](const LogRecord& record) {
      EXPECT_EQ(record.kind, LogRecord::Kind::kAdd);
      EXPECT_EQ(record.filter, 7u);
      for (const Fingerprint key : record.keys) {
        EXPECT_EQ(key, nth(key.high));
        found_.push_back(key.high);
      }
      return Result<void>{};
    });
  }

  std::string path(std::uint64_t segment) const {
    return log_path(directory_.path(), segment).string();
  }
  std::string contents(std::uint64_t segment) const {
    return read_file(path(segment), 1 << 20).value();
  }
  void put(std::uint64_t segment, std::string_view bytes) const {
    std::ofstream(path(segment), std::ios::binary | std::ios::trunc) << bytes;
  }

  test::TemporaryDirectory directory_;
  std::vector<std::uint64_t> found_;
};

TEST_F(LogReplayTest, RecordsOfAllKindsComeBackInOrder) {
  FilterLog log(directory_.path(), 1, 0);
  const FilterPlan plan{.name = std::string("a\0b", 3),
                        .kind = ServedKind::kCuckoo,
                        .capacity = 5000,
                        .rate = 0.001,
                        .grows = false,
                        .hash_key = {1, 2, 3}};
  const std::vector<Fingerprint> keys{nth(1), nth(2), nth(3)};
  log.create(9, plan);
  log.keys(LogRecord::Kind::kAdd, 9, keys);
  ASSERT_TRUE(log.commit());
  log.keys(LogRecord::Kind::kErase, 9, {keys.data(), 1});
  log.keys(LogRecord::Kind::kKnown, 9, {keys.data(), 2});
  log.drop(9);
  ASSERT_TRUE(log.commit());
  EXPECT_EQ(log.sequence(), 5u);
  std::vector<LogRecord> records;
  const auto done = replay_log(directory_.path(), 1, 0, [&](const LogRecord& record) {
    records.push_back(record);
    return Result<void>{};
  });
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].kind, LogRecord::Kind::kCreate);
  EXPECT_EQ(records[0].plan.name, plan.name);
  EXPECT_EQ(records[0].plan.kind, plan.kind);
  EXPECT_EQ(records[0].plan.capacity, plan.capacity);
  EXPECT_EQ(records[0].plan.rate, plan.rate);
  EXPECT_FALSE(records[0].plan.grows);
  EXPECT_EQ(records[0].plan.hash_key, plan.hash_key);
  EXPECT_EQ(records[1].keys, keys);
  EXPECT_EQ(records[2].kind, LogRecord::Kind::kErase);
  EXPECT_EQ(records[3].kind, LogRecord::Kind::kKnown);
  EXPECT_EQ(records[3].keys.size(), 2u);
  EXPECT_EQ(records[4].kind, LogRecord::Kind::kDrop);
  EXPECT_EQ(done->next_sequence, 5u);
  EXPECT_EQ(done->next_segment, 2u);
  EXPECT_EQ(done->torn_bytes, 0u);
}

TEST_F(LogReplayTest, WhatIsInTheFilesAlreadyIsLeftOut) {
  write(3, 10, 5);
  const auto done = replay(3, 12);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(found_, (std::vector<std::uint64_t>{12, 13, 14}));
  EXPECT_EQ(done->next_sequence, 15u);
}

// A file that ends anywhere within its last frame is what a crash leaves; the frames before it
// count, and the rest is cut off so that the log can go on behind it.
TEST_F(LogReplayTest, ATornEndIsCutOffWhereverItIs) {
  write(1, 0, 3);
  const std::string whole = contents(1);
  // A frame of one key: 32 bytes, 19 of the record, and 32 of the mark behind it.
  const std::size_t frame = (whole.size() - kLogHeaderBytes) / 3;
  for (std::size_t size = kLogHeaderBytes; size < whole.size(); ++size) {
    put(1, whole.substr(0, size));
    const auto done = replay();
    ASSERT_TRUE(done) << size << ": " << done.error().message;
    // Without its mark a frame counts all the same.
    const std::size_t frames = (size - kLogHeaderBytes + kLogFrameBytes) / frame;
    ASSERT_EQ(found_.size(), frames) << size;
    const std::string left = contents(1);
    ASSERT_LE(left.size(), size);
    ASSERT_EQ(left.size() + done->torn_bytes, size);
    const auto again = replay();
    ASSERT_TRUE(again);
    ASSERT_EQ(again->torn_bytes, 0u) << size;
    ASSERT_EQ(found_.size(), frames);
  }
}

// The last page of a file is written, and the one before, with the mark, is not.
TEST_F(LogReplayTest, AMarkThatAPowerFailureLostIsNoDamage) {
  write(1, 0, 3);
  const std::string whole = contents(1);
  const std::size_t frame = (whole.size() - kLogHeaderBytes) / 3;
  const std::size_t mark = whole.size() - frame - kLogFrameBytes;
  for (std::size_t zeros = 1; zeros <= kLogFrameBytes; ++zeros) {
    std::string lost = whole;
    lost.replace(mark, zeros, zeros, '\0');
    put(1, lost);
    auto done = replay();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(found_.size(), 3u);
    put(1, lost.substr(0, whole.size() - kLogFrameBytes - 1));
    done = replay();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(found_.size(), 2u) << "of the last frame only a part is there";
    EXPECT_GT(done->torn_bytes, 0u);
  }
}

TEST_F(LogReplayTest, ANewSegmentThatWasNotFinishedIsNoDamage) {
  write(1, 0, 2);
  put(2, "TRAWLR");
  const auto done = replay();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(found_.size(), 2u);
  EXPECT_EQ(done->next_segment, 3u);
  write(3, 2, 1);
  ASSERT_TRUE(replay()) << "nor when there are others behind it";
  EXPECT_EQ(found_.size(), 3u);
  write(3, 3, 1);
  EXPECT_FALSE(replay()) << "but changes that were in it are missed";
}

// Every bit of a frame that is known to be durable counts.
TEST_F(LogReplayTest, AFlippedBitIsRefusedWithFileAndOffset) {
  write(1, 0, 3);
  const std::string whole = contents(1);
  const std::size_t frame = (whole.size() - kLogHeaderBytes) / 3;
  for (std::size_t at = 0; at + kLogFrameBytes < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    put(1, damaged);
    const auto done = replay();
    ASSERT_FALSE(done) << "byte " << at;
    EXPECT_TRUE(done.error().code == ErrorCode::kCorrupt ||
                done.error().code == ErrorCode::kUnsupportedVersion);
    EXPECT_NE(done.error().message.find(path(1)), std::string::npos) << done.error().message;
    if (at >= kLogHeaderBytes) {
      const std::size_t in_frame = (at - kLogHeaderBytes) % frame;
      const std::size_t begin = at - in_frame;
      const std::size_t mark = begin + frame - kLogFrameBytes;
      EXPECT_NE(
          done.error().message.find("at byte " + std::to_string(at >= mark ? mark : begin) + ":"),
          std::string::npos)
          << at << ": " << done.error().message;
    }
    EXPECT_EQ(contents(1), damaged) << "nothing is changed";
  }
}

TEST_F(LogReplayTest, ATornEndBeforeTheLastSegmentIsDamage) {
  write(1, 0, 3);
  write(2, 3, 1);
  const std::string whole = contents(1);
  put(1, whole.substr(0, whole.size() - 40));
  const auto done = replay();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(done.error().message.find(path(1)), std::string::npos);
}

TEST_F(LogReplayTest, AMissingSegmentIsNoticed) {
  write(1, 0, 3);
  write(2, 3, 3);
  write(3, 6, 3);
  ASSERT_TRUE(replay());
  EXPECT_EQ(found_.size(), 9u);
  std::filesystem::remove(path(2));
  const auto done = replay();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("the changes from number 3 to 5 are missing"),
            std::string::npos)
      << done.error().message;
}

TEST_F(LogReplayTest, ANewerVersionIsRefusedByItsNumber) {
  put(1, encode_log_header({.version = 9, .segment = 1, .salt = 5}));
  const auto done = replay();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_NE(done.error().message.find("version 9"), std::string::npos) << done.error().message;
}

TEST(FilterLog, WhatWaitsIsKnown) {
  test::TemporaryDirectory directory;
  FilterLog log(directory.path(), 1, 0);
  EXPECT_FALSE(log.waiting().any);
  log.drop(1);
  EXPECT_TRUE(log.waiting().any);
  ASSERT_TRUE(log.commit());
  EXPECT_FALSE(log.waiting().any);
  EXPECT_GT(log.bytes_of_segment(), 0u);
  EXPECT_EQ(log.rotate(), 2u);
  EXPECT_EQ(log.bytes_of_segment(), 0u);
}

TEST(FilterLog, AFailedCommitLosesNothing) {
  test::TemporaryDirectory directory;
  const auto inside = directory.path() / "inside";
  FilterLog log(inside, 1, 0);
  log.drop(1);
  EXPECT_FALSE(log.commit()) << "the directory is missing";
  EXPECT_TRUE(log.failing());
  EXPECT_NE(log.failure().find("inside"), std::string::npos);
  log.drop(2);
  std::filesystem::create_directory(inside);
  ASSERT_TRUE(log.commit());
  EXPECT_FALSE(log.waiting().any) << "what came after the failure is written, too";
  EXPECT_FALSE(log.failing());
  std::vector<std::uint64_t> dropped;
  ASSERT_TRUE(replay_log(inside, 1, 0, [&](const LogRecord& record) {
    dropped.push_back(record.filter);
    return Result<void>{};
  }));
  EXPECT_EQ(dropped, (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace trawl::resp
