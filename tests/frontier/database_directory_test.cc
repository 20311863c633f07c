// A store whose making is cut short, at each of its steps, is made anew.
#include "frontier/database_directory.h"

#include <fstream>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "frontier/store.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

class DatabaseDirectoryTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open() const {
    return Store::open(path_, {.sync = true, .memory = MemoryPlan::of(64u << 20)});
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
  EXPECT_EQ(prepare_database(path_).value(), DatabaseDirectory::kNew);
  EXPECT_TRUE(is_marked());
  put("CURRENT", "MANIFEST-000001\n");
  put("000004.log", "of a making that was cut short");
  EXPECT_EQ(prepare_database(path_).value(), DatabaseDirectory::kNew);
  EXPECT_TRUE(is_marked());
  EXPECT_FALSE(std::filesystem::exists(path_ / "CURRENT"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "000004.log"));
  put("CURRENT", "MANIFEST-000001\n");
  ASSERT_TRUE(finish_database(path_));
  EXPECT_FALSE(is_marked());
  EXPECT_EQ(prepare_database(path_).value(), DatabaseDirectory::kWhole);
  put("000004.log", "data");
  std::filesystem::remove(path_ / "CURRENT");
  EXPECT_EQ(prepare_database(path_).value(), DatabaseDirectory::kHeadless);
  EXPECT_TRUE(std::filesystem::exists(path_ / "000004.log"));
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

TEST_F(DatabaseDirectoryTest, APowerLossAtAnyStepOfTheMakingIsMended) {
  std::mt19937_64 random(20'261'122);
  std::uint64_t steps = 0;
  for (bool done = false; !done;) {
    ++steps;
    for (int once = 0; once < 2; ++once) {
      const TemporaryDirectory fresh;
      const auto path = std::filesystem::path(fresh / "state") / "store";
      const auto open_there = [&] {
        return Store::open(path, {.sync = true, .memory = MemoryPlan::of(64u << 20)});
      };
      FileFaults faults(fresh.path(), FileFaults::Track::kPowerLoss);
      faults.crash_at(steps, random());
      {
        const auto store = open_there();
        done = !faults.struck();
      }
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
