// The fault layer itself: does it see what RocksDB and the frontier do, and fail what it should?
#include "tests/support/file_faults.h"

#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <unistd.h>

#include "base/file_io.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

class FileFaultsTest : public ::testing::Test {
 protected:
  static void write_file(const std::string& path, const std::string& bytes) {
    auto file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes));
  }
  static std::string contents(const std::string& path) { return read_file(path, 1 << 20).value(); }
  std::unique_ptr<rocksdb::DB> open_store() const {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::Open(options, directory_ / "db", &db);
    return std::unique_ptr<rocksdb::DB>(status.ok() ? db : nullptr);
  }

  TemporaryDirectory directory_;
};

TEST_F(FileFaultsTest, CountsWhatChangesFilesBelowTheDirectoryAlone) {
  const TemporaryDirectory elsewhere;
  const FileFaults faults(directory_.path());
  write_file(elsewhere / "file", "x");
  EXPECT_EQ(faults.operations(), 0u);
  write_file(directory_ / "file", "x");
  EXPECT_EQ(faults.operations(), 2u);
  ASSERT_EQ(std::rename((directory_ / "file").c_str(), (directory_ / "new").c_str()), 0);
  std::filesystem::rename(directory_ / "new", directory_ / "newer");
  std::filesystem::remove(directory_ / "newer");
  EXPECT_EQ(faults.operations(), 5u);
}

TEST_F(FileFaultsTest, ACrashLeavesAPrefixOfTheWriteAndStopsAllThatFollow) {
  FileFaults faults(directory_.path());
  write_file(directory_ / "before", "whole");
  auto file = OutputFile::create(directory_ / "file");
  ASSERT_TRUE(file);
  faults.crash_at(1, 1);
  const std::string bytes(1'000, 'x');
  EXPECT_FALSE(file->write(bytes));
  EXPECT_TRUE(faults.struck());
  const auto left = contents(directory_ / "file").size();
  EXPECT_LE(left, bytes.size());
  EXPECT_FALSE(file->write(bytes));
  EXPECT_FALSE(OutputFile::create(directory_ / "another"));
  EXPECT_NE(::unlink((directory_ / "before").c_str()), 0);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(contents(directory_ / "file").size(), left);
  EXPECT_EQ(contents(directory_ / "before"), "whole");
  faults.heal();
  write_file(directory_ / "another", "y");
  EXPECT_EQ(contents(directory_ / "another"), "y");
}

TEST_F(FileFaultsTest, FailsOnceOrFromThenOnOnFilesOfSomeNames) {
  FileFaults faults(directory_.path());
  faults.fail_once(2, ENOSPC, "one");
  EXPECT_TRUE(OutputFile::create(directory_ / "one"));
  EXPECT_TRUE(OutputFile::create(directory_ / "two"));
  const auto failed = OutputFile::create_new(directory_ / "another-one");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kNoSpace);
  EXPECT_TRUE(OutputFile::create(directory_ / "another-one"));
  faults.fail_from(1, EIO, "two");
  EXPECT_TRUE(OutputFile::create(directory_ / "one"));
  EXPECT_FALSE(OutputFile::create(directory_ / "two"));
  EXPECT_FALSE(OutputFile::create(directory_ / "two"));
}

TEST_F(FileFaultsTest, StandsUnderRocksDbToo) {
  FileFaults faults(directory_.path());
  auto db = open_store();
  ASSERT_TRUE(db);
  const auto before = faults.operations();
  ASSERT_TRUE(db->Put({}, "a", "1").ok());
  EXPECT_GT(faults.operations(), before);
  faults.crash_at(1, 2);
  EXPECT_FALSE(db->Put({}, "b", std::string(10'000, 'b')).ok());
  EXPECT_FALSE(db->Put({}, "c", "3").ok());
  db.reset();
  faults.heal();
  db = open_store();
  ASSERT_TRUE(db);
  std::string value;
  EXPECT_TRUE(db->Get({}, "a", &value).ok());
  EXPECT_FALSE(db->Get({}, "c", &value).ok());
}

TEST_F(FileFaultsTest, APowerLossTakesBackWhatWasNotSynced) {
  bool lost_bytes = false;
  bool lost_name = false;
  bool came_back = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const TemporaryDirectory directory;
    FileFaults faults(directory.path(), FileFaults::Track::kPowerLoss);
    write_file(directory / "removed", "old");
    write_file(directory / "synced", "abc");
    auto file = OutputFile::create(directory / "file");
    ASSERT_TRUE(file && file->write("durable") && file->sync());
    ASSERT_TRUE(OutputFile::create(directory / "synced").and_then([](OutputFile&& out) {
      return out.write("abc").and_then([&] { return out.sync(); });
    }));
    ASSERT_TRUE(sync_directory(directory.path()));
    ASSERT_TRUE(file->write("+more"));
    write_file(directory / "new", "");
    ASSERT_EQ(::unlink((directory / "removed").c_str()), 0);
    ASSERT_EQ(std::rename((directory / "new").c_str(), (directory / "renamed").c_str()), 0);
    faults.lose_power(seed);
    EXPECT_EQ(contents(directory / "synced"), "abc");
    const std::string left = contents(directory / "file");
    EXPECT_TRUE(left.starts_with("durable"));
    lost_bytes |= left != "durable+more";
    const bool renamed = std::filesystem::exists(directory / "renamed");
    const bool removed = !std::filesystem::exists(directory / "removed");
    lost_name |= !renamed;
    came_back |= !removed;
    EXPECT_TRUE(removed || !renamed) << "changes of a directory happen in their order";
  }
  EXPECT_TRUE(lost_bytes && lost_name && came_back);
}

TEST_F(FileFaultsTest, SyncedWritesOfRocksDbSurviveAPowerLoss) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    FileFaults faults(directory_.path(), FileFaults::Track::kPowerLoss);
    auto db = open_store();
    ASSERT_TRUE(db);
    ASSERT_TRUE(sync_directory(directory_.path())) << "RocksDB does not sync where its folder is";
    rocksdb::WriteOptions synced;
    synced.sync = true;
    const std::string key = std::to_string(seed);
    ASSERT_TRUE(db->Put(synced, key, "1").ok());
    if (seed % 3 == 0) {
      ASSERT_TRUE(db->Flush({}).ok());
    }
    faults.crash_at(1 + seed % 5, seed);
    for (int i = 0; i < 5; ++i)
      static_cast<void>(db->Put(synced, "x" + key, std::to_string(i)));
    db.reset();
    faults.heal();
    faults.lose_power(seed);
    db = open_store();
    ASSERT_TRUE(db);
    for (std::uint64_t i = 0; i <= seed; ++i) {
      std::string value;
      EXPECT_TRUE(db->Get({}, std::to_string(i), &value).ok()) << i;
    }
  }
}

}  // namespace
}  // namespace trawl::test
