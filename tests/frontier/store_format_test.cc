// Stores of other formats, stores that are damaged, and what errors of the store say.
#include "frontier/store/store_format.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "base/file_io.h"
#include "frontier/store/rocks_options.h"
#include "frontier/store/rocks_store.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

class StoreFormatTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() const {
    return RocksStore::open(path_, {.memory = MemoryPlan::of(64u << 20)});
  }
  Error refused() const {
    auto store = open();
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }
  std::vector<std::string> families() const {
    std::vector<std::string> names;
    EXPECT_TRUE(rocksdb::DB::ListColumnFamilies({}, path_, &names).ok());
    std::ranges::sort(names);
    return names;
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      contents[entry.path().filename()] = read_file(entry.path(), 1 << 20).value();
    return contents;
  }
  // A store with these column families and `default`; format 0: no format number.
  void make(const std::vector<std::string>& families, std::uint32_t format) const {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, path_, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_TRUE(db->CreateColumnFamilies({}, families, &handles).ok());
    for (auto* handle : handles)
      ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    if (format == 0) return;
    const char value[4] = {static_cast<char>(format), 0, 0, 0};
    ASSERT_TRUE(db->Put({}, "format", rocksdb::Slice(value, 4)).ok());
  }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "store";
};

const std::vector<std::string> kFormat1 = {"admissions", "deferred", "hosts", "pending"};
const std::vector<std::string> kFamilies = {"admissions", "deferred", "depths",
                                            "hosts",      "ledger",   "pending",
                                            "run_files",  "runs",     "set_aside"};
const std::vector<std::string> kFormat3 = {"admissions", "deferred", "depths",
                                           "hosts",      "ledger",   "pending"};

TEST_F(StoreFormatTest, OlderFormatsAreRefusedAndLeftAsTheyAre) {
  for (const std::uint32_t format : {1u, 2u}) {
    std::filesystem::remove_all(path_);
    make(format == 1 ? kFormat1 : kFormat3, format);
    const auto before = families();
    const Error error = refused();
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedVersion);
    EXPECT_NE(error.message.find("format " + std::to_string(format)), std::string::npos)
        << error.message;
    EXPECT_NE(error.message.find("formats 3 to 8"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("the version of Trawl that began it"), std::string::npos)
        << error.message;
    EXPECT_EQ(families(), before);
    EXPECT_EQ(refused().code, ErrorCode::kUnsupportedVersion) << "a second time too";
  }
}

TEST_F(StoreFormatTest, ANewerFormatIsRefusedWhateverFamiliesItHas) {
  for (const bool more : {false, true}) {
    std::filesystem::remove_all(path_);
    auto names = kFamilies;
    if (more) names.push_back("of later times");
    make(names, 9);
    const auto before = files();
    const Error error = refused();
    // With the same families it is a log of this format, which may become tables.
    if (more) {
      EXPECT_EQ(files(), before);
    }
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedVersion);
    EXPECT_NE(error.message.find("format 9"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("up to format 8"), std::string::npos) << error.message;
  }
}

// That of format 7 has all families but `run_files`, those of formats 4 to 6 not `runs` either, and
// they would lose the runs in the log, or those it refers to.
TEST_F(StoreFormatTest, VersionsWithoutTheFamiliesOfRunsRefuseItAndLeaveItAsItIs) {
  ASSERT_TRUE(open());
  EXPECT_EQ(families().size(), kFamilies.size() + 1) << "a new store has it";
  for (const bool has_runs : {true, false}) {
    std::filesystem::remove_all(path_);
    make(kFamilies, kStoreFormat + 1);  // to this version what ours is to those
    auto earlier = RocksOptions::of(MemoryPlan::of(64u << 20));
    std::erase_if(earlier.families, [&](const auto& family) {
      return family.name == "run_files" || (family.name == "runs" && !has_runs);
    });
    const auto before = files();
    const auto known = check_store_families(path_, earlier);
    ASSERT_FALSE(known);
    EXPECT_EQ(known.error().code, ErrorCode::kUnsupportedVersion);
    EXPECT_EQ(files(), before);
  }
}

// An upgrade that ended before the number was stored, with and without the new family.
TEST_F(StoreFormatTest, AnUpgradeThatWasCutShortIsFinished) {
  for (const std::uint32_t format : {6u, 7u}) {
    for (const bool added : {false, true}) {
      std::filesystem::remove_all(path_);
      auto names = kFamilies;
      if (!added) std::erase(names, "run_files");
      if (!added && format == 6) std::erase(names, "runs");
      make(names, format);
      ASSERT_TRUE(open());
      EXPECT_EQ(families().size(), kFamilies.size() + 1);
      EXPECT_TRUE(open()) << "and opened again";
    }
  }
}

TEST_F(StoreFormatTest, OneOfFormat3IsOpenedAndIsOfTheCurrentOneThen) {
  make(kFormat3, 3);
  {
    rocksdb::DB* opened = nullptr;
    std::vector<rocksdb::ColumnFamilyDescriptor> all = {{"default", {}}};
    for (const std::string& name : kFormat3)
      all.emplace_back(name, rocksdb::ColumnFamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_TRUE(rocksdb::DB::Open({}, path_, all, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    // The 15 counters that it had.
    ASSERT_TRUE(db->Put({}, "counters", std::string("\x07") + std::string(14, '\x01')).ok());
    for (auto* handle : handles)
      ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  for (int times = 0; times < 2; ++times) {
    const auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    const auto counters = (*store)->counters();
    ASSERT_TRUE(counters) << counters.error().message;
    EXPECT_EQ(counters->admitted, 7u);
    EXPECT_EQ(counters->recrawls_deferred, 1u);
    EXPECT_EQ(counters->held, 0u);
  }
  EXPECT_EQ(families().size(), kFamilies.size() + 1);
}

// It did not note which have: see FailureReason::kNoSuchHost.
TEST_F(StoreFormatTest, N1_HostsOfFormat3CountAsHavingAnswered) {
  for (const std::uint64_t skipped : {0u, 9u}) {
    SCOPED_TRACE(skipped);
    std::filesystem::remove_all(path_);
    {
      const auto store = open().value();
      Store::Batch batch;
      batch.set_counters({{.completed = 9, .skipped = skipped}});
      batch.add_pending(1, {.priority = 0, .sequence = 0}, "u");
      batch.add_pending(1, {.priority = 0, .sequence = 1}, "u");
      batch.add_pending(2, {.priority = 0, .sequence = 2}, "u");
      batch.add_deferred(5, 3, 3, 0, "u");
      batch.set_host(2, {.name = "two.test", .failures = 7});
      batch.set_host(4, {.name = "four.test", .failures = 7});
      ASSERT_TRUE(store->write(batch));
    }
    {
      rocksdb::DB* opened = nullptr;
      std::vector<rocksdb::ColumnFamilyDescriptor> all = {{"default", {}}};
      for (const std::string& name : kFamilies)
        all.emplace_back(name, rocksdb::ColumnFamilyOptions());
      std::vector<rocksdb::ColumnFamilyHandle*> handles;
      ASSERT_TRUE(rocksdb::DB::Open({}, path_, all, &handles, &opened).ok());
      const std::unique_ptr<rocksdb::DB> db(opened);
      ASSERT_TRUE(db->Put({}, "format", rocksdb::Slice("\x03\0\0\0", 4)).ok());
      for (auto* handle : handles)
        ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
    const bool fetched = skipped == 0;  // anything
    const auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    for (const HostId host : {1u, 2u, 3u}) {
      const auto record = (*store)->host(host).value();
      EXPECT_EQ(record && record->answered, fetched) << host;
    }
    EXPECT_EQ((*store)->host(2).value()->failures, 7u);
    EXPECT_FALSE((*store)->host(4).value()->answered) << "nothing of it waits";
    EXPECT_FALSE((*store)->host(5).value());
  }
}

TEST_F(StoreFormatTest, ACreationThatWasCutShortIsFinished) {
  for (std::size_t n = 0; n <= kFamilies.size(); ++n) {
    std::filesystem::remove_all(path_);
    make({kFamilies.begin(), kFamilies.begin() + static_cast<long>(n)}, 0);
    const auto store = open();
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(families().size(), kFamilies.size() + 1);
  }
  EXPECT_TRUE(open()) << "and opened again";
}

TEST_F(StoreFormatTest, AFormatThatDoesNotDecodeIsDamage) {
  make(kFamilies, 0);
  ASSERT_TRUE(open());
  EXPECT_EQ(check_store_format("").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(check_store_format("\3\0\0").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(check_store_format(std::string(4, '\0')).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(check_store_format(std::string("\3\0\0\0\0", 5)).error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(check_store_format(std::string("\3\0\0\0", 4)));
}

// RocksDB would begin a new database there, and delete the files of the old one.
TEST_F(StoreFormatTest, AStoreWithoutItsFileCurrentIsDamageAndKeepsTheRest) {
  {
    const auto store = open();
    ASSERT_TRUE(store);
    Store::Batch batch;
    batch.add_pending(1, {.sequence = 2}, "record");
    ASSERT_TRUE((*store)->write(batch));
  }
  const std::filesystem::path current = std::filesystem::path(path_) / "CURRENT";
  std::filesystem::rename(current, directory_ / "kept");
  const Error error = refused();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_NE(error.message.find("CURRENT"), std::string::npos) << error.message;
  std::filesystem::rename(directory_ / "kept", current);
  const auto store = open();
  ASSERT_TRUE(store);
  QueueRead read{.host = 1, .limit = 9};
  ASSERT_TRUE((*store)->read_queues(std::span(&read, 1)));
  EXPECT_EQ(read.urls.size(), 1u);
}

TEST_F(StoreFormatTest, FilesThatAreNoStoreAreRefused) {
  std::filesystem::create_directories(path_);
  std::ofstream(std::filesystem::path(path_) / "CURRENT") << "nonsense\n";
  EXPECT_EQ(refused().code, ErrorCode::kCorrupt);
  std::filesystem::remove_all(path_);
  std::ofstream(path_) << "a file, not a directory";
  EXPECT_NE(refused().message.find(path_), std::string::npos);
}

TEST(StoreErrors, TellWhatWasWrongAndWhatToDo) {
  using rocksdb::Status;
  const auto expect = [](const Status& status, ErrorCode code, std::string_view advice) {
    const Error error = store_error(status, "write to");
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find("cannot write to the store"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(advice), std::string::npos) << error.message;
  };
  expect(Status::NoSpace("No space left on device"), ErrorCode::kNoSpace, "free some space");
  expect(Status::Corruption("block checksum mismatch"), ErrorCode::kCorrupt, "backup");
  expect(Status::IOError("store/000012.log: Permission denied"), ErrorCode::kPermission,
         "write permission");
  expect(Status::IOError("store/000012.log: Read-only file system"), ErrorCode::kPermission,
         "write permission");
  expect(Status::IOError("store/000012.log: Input/output error"), ErrorCode::kIo, "disk");
}

// `max_memory` makes a difference however large it is: to the tables that are written, and to the
// cache of those that are read.
TEST(StoreOptionsOfAPlan, MoreMemoryMakesLargerTablesAndCaches) {
  std::uint64_t last_table = 0;
  std::uint64_t last_cache = 0;
  for (const std::uint64_t mib : {64, 128, 512, 1024}) {
    SCOPED_TRACE(mib);
    const MemoryPlan plan = MemoryPlan::of(mib << 20);
    const RocksOptions options = RocksOptions::of(plan);
    for (const auto& family : options.families) {
      const std::uint64_t memtable = family.options.write_buffer_size;
      const auto merged =
          static_cast<std::uint64_t>(family.options.min_write_buffer_number_to_merge);
      EXPECT_LE(memtable, 8u << 20);
      EXPECT_LE(memtable * merged, plan.write_buffers / 4 + 1);
      EXPECT_GT(family.options.max_write_buffer_number, static_cast<int>(merged));
    }
    const auto& pending = options.families[kPending].options;
    const std::uint64_t table =
        pending.write_buffer_size *
        static_cast<std::uint64_t>(pending.min_write_buffer_number_to_merge);
    EXPECT_GT(table, last_table);
    EXPECT_GT(options.cache->GetCapacity(), last_cache);
    last_table = table;
    last_cache = options.cache->GetCapacity();
  }
}

}  // namespace
}  // namespace trawl
