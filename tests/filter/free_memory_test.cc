#include "base/free_memory.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "filter/bits/word_array.h"
#include "tests/support/sizes.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::kMiB;

class FreeMemory : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = (directory_ / "") + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::uint64_t free() const { return free_memory(directory_ / ""); }
  void SetUp() override {
    write("proc/meminfo", "MemTotal:     4096000 kB\nMemAvailable:  1024000 kB\n");
  }
  const test::TemporaryDirectory directory_;
};

TEST_F(FreeMemory, IsWhatIsAvailableNotWhatThereIs) {
  EXPECT_EQ(free(), 1000 * kMiB);
}

TEST_F(FreeMemory, IsWhatTheTightestControlGroupHasLeft) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "104857600\n");
  EXPECT_EQ(free(), 1000 * kMiB);
  write("sys/fs/cgroup/outer/memory.max", "314572800\n");
  write("sys/fs/cgroup/outer/memory.current", "209715200\n");
  EXPECT_EQ(free(), 100 * kMiB);
  // What is held of files is given back when memory is short.
  write("sys/fs/cgroup/outer/memory.stat",
        "anon 104857600\nactive_file 10485760\ninactive_file 94371840\n");
  EXPECT_EQ(free(), 200 * kMiB);
  write("sys/fs/cgroup/outer/inner/memory.max", "104857600\n");
  EXPECT_EQ(free(), 0u);
}

TEST_F(FreeMemory, IsThatOfAContainersOwnGroup) {
  write("proc/self/cgroup", "0::/not/mounted/here\n");
  write("sys/fs/cgroup/memory.max", "209715200\n");
  write("sys/fs/cgroup/memory.current", "1048576\n");
  EXPECT_EQ(free(), 199 * kMiB);
}

TEST_F(FreeMemory, KnowsTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "209715200\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "104857600\n");
  write("sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 52428800\n");
  EXPECT_EQ(free(), 150 * kMiB);
}

TEST(WordArray, MoreThanIsFreeIsRefusedWithWhatIsFree) {
  const std::uint64_t free = free_memory();
  ASSERT_GT(free, 0u);
  const auto words = WordArray::allocate(free / 4, "the filter");  // twice as many bytes
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(words.error().message.find("are free"), std::string::npos) << words.error().message;
}

}  // namespace
}  // namespace trawl
