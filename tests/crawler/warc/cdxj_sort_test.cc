#include "crawler/warc/cdxj_sort.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crawler/warc/warc_reading.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

TEST(SortLines, AnyMemoryGivesTheSame) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const test::TemporaryDirectory directory;
  const test::FileFaults without_syncs(directory.path());
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> lines(random() % 200);
    for (std::string& line : lines) {
      line.resize(random() % (i % 10 == 0 ? 2000 : 8));
      for (char& byte : line)
        byte = static_cast<char>(random() % 256 == '\n' ? 'n' : random());
      std::replace(line.begin(), line.end(), '\n', '\xff');
    }
    test::write_whole(directory / "from", joined(lines) + (i % 3 == 0 ? "a half line" : ""));
    ASSERT_TRUE(sort_lines(directory / "from", directory / "to", 1 + random() % 5000));
    std::sort(lines.begin(), lines.end());  // as unsigned bytes
    ASSERT_EQ(test::read_whole(directory / "to"), joined(lines));
    ASSERT_FALSE(std::filesystem::exists(directory / "to.runs"));
  }
}

TEST(SortLines, SaysWhichFileItCannotUse) {
  test::TemporaryDirectory directory;
  const auto missing = sort_lines(directory / "from", directory / "to");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  test::write_whole(directory / "from", "b\na\n");
  const auto unwritable = sort_lines(directory / "from", directory / "none/to");
  ASSERT_FALSE(unwritable);
  EXPECT_NE(unwritable.error().message.find(directory / "none/to"), std::string::npos);
}

}  // namespace
}  // namespace trawl
