// A store whose creation was interrupted, at each of its steps, is created again.
#include "base/database_state.h"

#include <fstream>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "frontier/store/rocks_store.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

class DatabaseDirectoryTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() const {
    return RocksStore::open(path_, {.sync = true, .memory = MemoryPlan::of(64u << 20)});
  }
  void put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(path_);
    std::ofstream(path_ / name) << bytes;
  }
  bool is_marked() const { return std::filesystem::exists(path_ / "UNFINISHED"); }

  TemporaryDirectory directory_;
  const std::filesystem::path path_ = std::filesystem::path(directory_ / "state") / "store";
};

TEST_F(DatabaseDirectoryTest, IsMarkedWhileItIsNew) {
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kNew);
  EXPECT_TRUE(is_marked());
  put("CURRENT", "MANIFEST-000001\n");
  put("000004.log", "of a making that was cut short");
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kNew);
  EXPECT_TRUE(is_marked());
  EXPECT_FALSE(std::filesystem::exists(path_ / "CURRENT"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "000004.log"));
  put("CURRENT", "MANIFEST-000001\n");
  ASSERT_TRUE(finish_database(path_));
  EXPECT_FALSE(is_marked());
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kWhole);
  put("000004.log", "data");
  std::filesystem::remove(path_ / "CURRENT");
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kHeadless);
  EXPECT_TRUE(std::filesystem::exists(path_ / "000004.log"));
}

TEST_F(DatabaseDirectoryTest, HasThreadsForItsTables) {
  EXPECT_EQ(table_opening_threads(path_), 1) << "there is no directory";
  const auto put_tables = [&](int from, int to) {
    for (int i = from; i < to; ++i)
      put(std::to_string(i) + ".sst", "");
  };
  put("000004.log", "");
  put_tables(0, 15);
  EXPECT_EQ(table_opening_threads(path_), 1);
  put_tables(15, 40);
  EXPECT_EQ(table_opening_threads(path_), 5);
  put_tables(40, 1000);
  EXPECT_EQ(table_opening_threads(path_), 16);
}

TEST_F(DatabaseDirectoryTest, IsRemovedWithoutWhatOthersPutThere) {
  ASSERT_TRUE(open());
  put("LOG.old.1234", "");
  ASSERT_FALSE(remove_database(path_).value());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(remove_database(path_).value()) << "nothing is there";

  ASSERT_TRUE(open());
  for (const char* const name : {"goods.csv", "app.log", "12.sst.bak", "MANIFEST", "OPTIONS"})
    put(name, "mine");
  std::filesystem::create_directory(path_ / "000009.log");
  EXPECT_TRUE(remove_database(path_).value());
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_))
    ++left;
  EXPECT_EQ(left, 6u);

  const std::filesystem::path link = directory_ / "link";
  std::filesystem::create_directory_symlink(path_, link);
  EXPECT_FALSE(remove_database(link).value());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(link)));
  EXPECT_TRUE(std::filesystem::exists(path_ / "goods.csv"));
}

TEST_F(DatabaseDirectoryTest, AMarkBesideTablesIsNotBelieved) {
  put("CURRENT", "MANIFEST-000001\n");
  put("000007.sst", "a table");
  put("UNFINISHED", "");
  EXPECT_FALSE(holds_database(path_));
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kWhole);
  EXPECT_FALSE(is_marked());
  EXPECT_TRUE(holds_database(path_));
  EXPECT_TRUE(std::filesystem::exists(path_ / "000007.sst"));
}

TEST_F(DatabaseDirectoryTest, FoldersInItStay) {
  put("UNFINISHED", "");
  std::filesystem::create_directories(path_ / "lost+found" / "of the disk");
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kNew);
  EXPECT_TRUE(std::filesystem::exists(path_ / "lost+found" / "of the disk"));
}

TEST_F(DatabaseDirectoryTest, FilesOfOthersStay) {
  std::filesystem::create_directories(path_);
  put("CLAIMS", "not RocksDB's");
  EXPECT_FALSE(holds_database_files(path_));
  put("UNFINISHED", "");
  put("000004.log", "");
  EXPECT_TRUE(holds_database_files(path_));
  EXPECT_EQ(prepare_database(path_).value(), DatabaseState::kNew);
  EXPECT_TRUE(std::filesystem::exists(path_ / "CLAIMS"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "000004.log"));
}

TEST_F(DatabaseDirectoryTest, ErrorsSayWhatToDo) {
  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_) << "a file";
  const auto prepared = prepare_database(path_);
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find(path_.string()), std::string::npos);
  EXPECT_NE(prepared.error().message.find("; check the disk"), std::string::npos)
      << prepared.error().message;
}

// As after a wrong restore of a backup.
TEST_F(DatabaseDirectoryTest, NothingIsDeletedWhereThereIsACrawl) {
  EmbeddedOptions options;
  options.directory = path_.parent_path();
  options.seen.expected_urls = 1'000;
  {
    auto frontier = EmbeddedFrontier::open(options);
    ASSERT_TRUE(frontier) << frontier.error().message;
    const UrlRequest url{.url = "http://a.test/"};
    ASSERT_TRUE((*frontier)->offer({&url, 1}));
    ASSERT_TRUE((*frontier)->close());
  }
  put("UNFINISHED", "");
  for (const auto mode : {OpenMode::kCreateOrResume, OpenMode::kResume}) {
    options.mode = mode;
    const auto refused = EmbeddedFrontier::open(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(refused.error().message.find("unfinished"), std::string::npos)
        << refused.error().message;
  }
  std::filesystem::remove(path_ / "UNFINISHED");
  const auto frontier = EmbeddedFrontier::open(options);
  ASSERT_TRUE(frontier) << frontier.error().message;
  EXPECT_EQ((*frontier)->stats()->admitted, 1u);
}

TEST_F(DatabaseDirectoryTest, AStoreThatIsMarkedIsMadeAnew) {
  { ASSERT_TRUE(open()); }
  EXPECT_FALSE(is_marked());
  put("UNFINISHED", "");
  put("CURRENT", "nonsense\n");
  const auto store = open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE(is_marked());
  EXPECT_EQ((*store)->counters().value(), Counters{});
}

// Its files are synced once, at the end, instead of at each step.
TEST_F(DatabaseDirectoryTest, APowerLossAfterTheMakingLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TemporaryDirectory fresh;
    const auto path = std::filesystem::path(fresh / "state") / "store";
    std::filesystem::create_directories(path);
    FileFaults faults(fresh.path(), FileFaults::Track::kPowerLoss);
    const auto open_there = [&] {
      return RocksStore::open(path, {.sync = true, .memory = MemoryPlan::of(64u << 20)});
    };
    {
      const auto store = open_there();
      ASSERT_TRUE(store) << store.error().message;
      faults.lose_power(seed);
    }
    const auto store = open_there();
    ASSERT_TRUE(store) << "seed " << seed << ": " << store.error().message;
    EXPECT_EQ((*store)->counters().value(), Counters{});
  }
}

TEST_F(DatabaseDirectoryTest, APowerLossAtAnyStepOfTheMakingIsMended) {
  std::mt19937_64 random(20'261'122);
  std::uint64_t steps = 0;
  for (bool done = false; !done;) {
    ++steps;
    for (int once = 0; once < 2; ++once) {
      const TemporaryDirectory fresh;
      const auto path = std::filesystem::path(fresh / "state") / "store";
      const auto open_there = [&] {
        return RocksStore::open(path, {.sync = true, .memory = MemoryPlan::of(64u << 20)});
      };
      FileFaults faults(fresh.path(), FileFaults::Track::kPowerLoss);
      faults.crash_at(steps, random());
      {
        const auto store = open_there();
        done = !faults.struck();
      }
      faults.heal();
      faults.lose_power(random());
      // And another while what is left is removed, or soon after.
      faults.crash_at(1 + random() % 20, random());
      static_cast<void>(open_there());
      faults.heal();
      faults.lose_power(random());
      const auto store = open_there();
      ASSERT_TRUE(store) << "step " << steps << ": " << store.error().message;
      EXPECT_EQ((*store)->counters().value(), Counters{});
    }
  }
  EXPECT_GT(steps, 40u);
}

}  // namespace
}  // namespace trawl::test
