#include "crawler/status/disk_usage.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

TEST(DiskUsage, CountsTheStateAndItsStoreAndNotTheOutput) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path state = directory.path();
  const auto write = [&](const std::string& name, std::size_t bytes) {
    std::filesystem::create_directories((state / name).parent_path());
    std::ofstream(state / name) << std::string(bytes, 'x');
  };
  write("MANIFEST", 10);
  write("store/1.sst", 200);
  write("output/pages.jsonl", 4000);
  DiskUsage usage;
  const std::chrono::steady_clock::time_point begin{};
  EXPECT_EQ(usage.of_state(state, begin), 210u);
  write("store/2.sst", 1);
  EXPECT_EQ(usage.of_state(state, begin + DiskUsage::kKept / 2), 210u) << "not read each time";
  EXPECT_EQ(usage.of_state(state, begin + DiskUsage::kKept), 211u);
  EXPECT_EQ(DiskUsage().of_state(state / "none", begin), 0u);
}

}  // namespace
}  // namespace trawl
