#include "crawler/output/line_file.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/crawler/file_size_limit.h"
#include "tests/crawler/output_fixture.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::FileSizeLimit;
using test::read_all;
using test::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr std::size_t kBlock = 64 * 1024;  // what is read at a time to find a half line

LineFile opened(const std::string& path) {
  auto file = LineFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.error().message;
    std::abort();
  }
  return std::move(*file);
}

TEST(LineFile, AppendsToWhatIsThere) {
  const TemporaryDirectory directory;
  const std::string path = directory / "lines";
  {
    auto file = opened(path);
    EXPECT_EQ(file.path(), path);
    EXPECT_EQ(file.size(), 0u);
    ASSERT_TRUE(file.append("one\n"));
    ASSERT_TRUE(file.append(""));
    ASSERT_TRUE(file.sync());
  }
  auto again = opened(path);
  EXPECT_EQ(again.size(), 4u);
  EXPECT_EQ(again.cut_at_open(), 0u);
  ASSERT_TRUE(again.append("two\nthree\n"));
  EXPECT_EQ(again.size(), 14u);
  EXPECT_EQ(read_all(path), "one\ntwo\nthree\n");
}

TEST(LineFile, SaysWhichPathItCannotWrite) {
  const TemporaryDirectory directory;
  const auto nowhere = LineFile::open(directory / "no/such/file");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr(directory / "no/such/file"));
  const auto a_directory = LineFile::open(directory.path());
  ASSERT_FALSE(a_directory);
  EXPECT_THAT(a_directory.error().message, HasSubstr(directory.path().string()));
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  const auto pipe = LineFile::open(directory / "pipe");
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().code, ErrorCode::kInvalidArgument);
}

TEST(LineFile, FollowsNoLink) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "others") << "mine";
  std::filesystem::create_symlink("others", directory / "lines");
  for (const auto& error : {LineFile::open(directory / "lines").error(),
                            LineFile::probe(directory / "lines").error()}) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message, HasSubstr("symbolic link"));
  }
  EXPECT_EQ(read_all(directory / "others"), "mine");
}

TEST(LineFile, AProbeChangesNothing) {
  const TemporaryDirectory directory;
  EXPECT_EQ(LineFile::probe(directory / "lines").value(), 0u);
  EXPECT_FALSE(std::filesystem::exists(directory / "lines"));
  std::ofstream(directory / "lines") << "one\nhalf";
  EXPECT_EQ(LineFile::probe(directory / "lines").value(), 8u);
  EXPECT_EQ(read_all(directory / "lines"), "one\nhalf");
  const auto open = opened(directory / "lines");
  EXPECT_EQ(LineFile::probe(directory / "lines").error().code, ErrorCode::kInUse);
}

TEST(LineFile, OnlyOneWriterAtATime) {
  const TemporaryDirectory directory;
  {
    const auto first = opened(directory / "lines");
    const auto second = LineFile::open(directory / "lines");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInUse);
    EXPECT_THAT(second.error().message, HasSubstr("another crawl"));
  }
  EXPECT_TRUE(LineFile::open(directory / "lines"));
}

struct HalfLine {
  const char* name;
  std::string whole;  // lines that stay
  std::string half;
};

std::vector<HalfLine> half_lines() {
  const std::string line = "{\"url\":\"http://site.example/whole\"}\n";
  return {
      {"none", line + line, ""},
      {"short", line + line, R"({"url":"http://site.ex)"},
      {"one byte", line, "{"},
      {"only a half line", "", R"({"url":"http://site.example/")"},
      {"only a long half line", "", std::string(3 * kBlock + 5, 'x')},
      {"a half line of one block", line, std::string(kBlock, 'x')},
      {"one byte less than a block", line, std::string(kBlock - 1, 'x')},
      {"one byte more than a block", line, std::string(kBlock + 1, 'x')},
      {"many blocks", line + line, std::string(5 * kBlock + 123, 'x')},
      {"only a block", "", std::string(kBlock, 'x')},
      {"nothing at all", "", ""},
      {"an empty line stays", line + "\n", "x"},
      {"zeroes, as a file system may leave", line, std::string(4096, '\0')},
  };
}

TEST(LineFile, CutsTheHalfLineThatACrashLeft) {
  for (const HalfLine& found : half_lines()) {
    SCOPED_TRACE(found.name);
    const TemporaryDirectory directory;
    const std::string path = directory / "lines";
    std::ofstream(path, std::ios::binary) << found.whole << found.half;
    auto file = opened(path);
    EXPECT_EQ(file.cut_at_open(), found.half.size());
    EXPECT_TRUE(read_all(path) == found.whole);
    ASSERT_TRUE(file.append("next\n"));
    EXPECT_TRUE(read_all(path) == found.whole + "next\n");
  }
}

TEST(LineFile, TakesLinesBack) {
  const TemporaryDirectory directory;
  auto file = opened(directory / "lines");
  ASSERT_TRUE(file.append("one\n"));
  const auto size = file.size();
  ASSERT_TRUE(file.append("two\n"));
  ASSERT_TRUE(file.cut_back(size));
  ASSERT_TRUE(file.cut_back(size));
  EXPECT_EQ(file.size(), 4u);
  ASSERT_TRUE(file.append("three\n"));
  EXPECT_EQ(read_all(file.path()), "one\nthree\n");
}

TEST(LineFile, AFailedAppendLeavesNoPartOfALine) {
  const TemporaryDirectory directory;
  auto file = opened(directory / "lines");
  ASSERT_TRUE(file.append("before\n"));
  std::string lines;
  for (int i = 0; i < 10; ++i)
    lines += "line " + std::to_string(i) + "\n";
  // Room for nothing, for half a line, for one line and a bit, for nine.
  for (const std::size_t room : {0u, 3u, 8u, 66u}) {
    SCOPED_TRACE("room for " + std::to_string(room));
    {
      const FileSizeLimit limit(file.size() + room);
      const auto failed = file.append(lines);
      ASSERT_FALSE(failed);
      EXPECT_THAT(failed.error().message, HasSubstr(file.path()));
    }
    EXPECT_EQ(read_all(file.path()), "before\n");
    EXPECT_EQ(file.size(), 7u);
  }
  // With free space again, writing continues, and each line is written once.
  ASSERT_TRUE(file.append(lines));
  EXPECT_EQ(read_all(file.path()), "before\n" + lines);
}

TEST(LineFile, AFullDiskIsToldAsSuch) {
  const test::SmallDisk disk(256 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  auto file = opened(disk / "lines");
  const std::string line = std::string(999, 'x') + "\n";
  std::size_t written = 0;
  Result<void> appended;
  while (written < 10'000 && (appended = file.append(line)))
    ++written;
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::kNoSpace);
  EXPECT_GT(written, 100u);
  EXPECT_EQ(read_all(file.path()).size(), written * line.size());
}

}  // namespace
}  // namespace trawl
