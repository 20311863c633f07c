#include "crawler/warc/warc_files.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/warc/sha1.h"
#include "tests/crawler/warc/warc_checks.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::append_page;
using test::Appended;
using test::check_closed_files;
using test::files_ending;
using test::Page;
using test::read_records;
using test::read_whole;
using testing::HasSubstr;
using testing::MatchesRegex;

// A page whose URL sorts elsewhere than where it is written.
Page numbered(int i, std::size_t size = 200) {
  return Page("http://h" + std::to_string(i * 7 % 10) + ".example.com/" + std::to_string(i),
              std::string(size, static_cast<char>('a' + i % 26)));
}

class WarcFilesTest : public testing::Test {
 protected:
  std::unique_ptr<WarcFiles> open(const WarcFilesOptions& options = {}) {
    auto files = WarcFiles::open(directory_.path(), options);
    EXPECT_TRUE(files) << files.error().message;
    return files ? std::move(*files) : nullptr;
  }
  void append(WarcFiles& files, const Page& page) {
    auto appended = append_page(files, builder_, page);
    ASSERT_TRUE(appended) << appended.error().message;
    appended_.push_back(*appended);
  }

  test::TemporaryDirectory directory_;
  WarcBuilder builder_{};
  std::vector<Appended> appended_;
};

TEST_F(WarcFilesTest, WhatWasAppendedIsWhereItWasSaidToBe) {
  const auto files = open();
  for (int i = 0; i < 100; ++i)
    append(*files, numbered(i));
  EXPECT_EQ(files_ending(directory_.path(), ".warc.gz.open").size(), 1u);
  EXPECT_TRUE(files_ending(directory_.path(), ".warc.gz").empty());
  ASSERT_TRUE(files->close());
  EXPECT_EQ(files->files_closed(), 1u);
  EXPECT_EQ(check_closed_files(directory_.path(), appended_).size(), 100u);
  EXPECT_EQ(files->bytes_written(),
            std::filesystem::file_size(files_ending(directory_.path(), ".warc.gz").at(0)));
}

TEST_F(WarcFilesTest, NamesAndWarcinfo) {
  WarcFilesOptions options;
  options.prefix = "my-crawl_1.x";
  options.operator_name = "M\xc3\xbcller\r\nrobots: none";
  options.description = "a test";
  options.user_agent = "bot/1 (+http://example.com/)";
  options.robots = "obey";
  options.hostname = "here";
  options.now = [] { return test::test_time(); };
  const auto files = open(options);
  append(*files, numbered(1));
  ASSERT_TRUE(files->close());
  const auto warcs = files_ending(directory_.path(), ".warc.gz");
  ASSERT_EQ(warcs.size(), 1u);
  EXPECT_EQ(warcs[0].filename(), "my-crawl_1.x-20261121203109123-00000.warc.gz");
  EXPECT_EQ(appended_[0].place.file, warcs[0].filename());
  const auto records = read_records(read_whole(warcs[0]));
  EXPECT_EQ(records.at(0).field("Content-Type"), "application/warc-fields");
  EXPECT_EQ(records.at(0).field("WARC-Date"), "2026-11-21T20:31:09.123456Z");
  std::string block = records.at(0).block;
  EXPECT_THAT(block.substr(0, block.find('\n')), MatchesRegex("software: trawl/[0-9.]+\r"));
  EXPECT_EQ(block.substr(block.find('\n') + 1),
            "format: WARC File Format 1.1\r\n"
            "conformsTo: "
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
            "operator: M\xc3\xbcller  robots: none\r\n"
            "description: a test\r\n"
            "hostname: here\r\n"
            "robots: obey\r\n"
            "http-header-user-agent: bot/1 (+http://example.com/)\r\n");
}

TEST_F(WarcFilesTest, RotatesBySizeButNeverInsideAPage) {
  WarcFilesOptions options;
  options.max_size = 4000;
  options.now = [] { return test::test_time(); };  // names differ anyway
  const auto files = open(options);
  for (int i = 0; i < 60; ++i)
    append(*files, numbered(i));
  ASSERT_TRUE(files->close());
  EXPECT_EQ(check_closed_files(directory_.path(), appended_).size(), 60u);
  const auto warcs = files_ending(directory_.path(), ".warc.gz");
  EXPECT_GT(warcs.size(), 5u);
  EXPECT_EQ(files->files_closed(), warcs.size());
  for (std::size_t i = 0; i < warcs.size(); ++i) {
    const auto records = read_records(read_whole(warcs[i]));
    EXPECT_EQ(records.size() % 3, 1u) << "response, request and metadata after the warcinfo";
    EXPECT_EQ(records.back().field("WARC-Type"), "metadata");
    if (i + 1 < warcs.size()) {
      EXPECT_GE(std::filesystem::file_size(warcs[i]), 4000u);
      EXPECT_LT(std::filesystem::file_size(warcs[i]), 6000u);
    }
  }
}

TEST_F(WarcFilesTest, RotatesByAgeAlsoWhenNothingIsWritten) {
  auto now = test::test_time();
  WarcFilesOptions options;
  options.max_age = std::chrono::seconds(10);
  options.now = [&now] { return now; };
  const auto files = open(options);
  ASSERT_TRUE(files->close_if_old());  // no file yet
  append(*files, numbered(1));
  now += std::chrono::milliseconds(9'999);
  append(*files, numbered(2));
  ASSERT_TRUE(files->close_if_old());
  EXPECT_EQ(files->files_closed(), 0u);
  now += std::chrono::milliseconds(1);
  append(*files, numbered(3));
  EXPECT_EQ(files->files_closed(), 1u);
  now += std::chrono::seconds(10);
  ASSERT_TRUE(files->close_if_old());
  EXPECT_EQ(files->files_closed(), 2u);
  EXPECT_TRUE(files_ending(directory_.path(), ".open").empty());
  append(*files, numbered(4));
  ASSERT_TRUE(files->close());
  EXPECT_EQ(files_ending(directory_.path(), ".warc.gz").size(), 3u);
  EXPECT_EQ(check_closed_files(directory_.path(), appended_).size(), 4u);
}

TEST_F(WarcFilesTest, WithoutIndex) {
  WarcFilesOptions options;
  options.cdxj = false;
  const auto files = open(options);
  append(*files, numbered(1));
  ASSERT_TRUE(files->close());
  check_closed_files(directory_.path(), appended_, false);
}

TEST_F(WarcFilesTest, RecordsThatNoIndexListsHaveNoLine) {
  const auto files = open();
  WarcRecords records = builder_.build(numbered(1).exchange());
  records.cdxj.clear();
  ASSERT_TRUE(files->append(records));
  append(*files, numbered(2));
  ASSERT_TRUE(files->close());
  const auto lines = test::lines_of(read_whole(files_ending(directory_.path(), ".cdxj").at(0)));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(numbered(2).url));
}

TEST_F(WarcFilesTest, NothingAppendedLeavesNoFile) {
  const auto files = open();
  ASSERT_TRUE(files->flush(true));
  ASSERT_TRUE(files->close_if_old());
  ASSERT_TRUE(files->close());
  EXPECT_TRUE(files_ending(directory_.path(), "z").empty());
  EXPECT_TRUE(files_ending(directory_.path(), ".cdxj").empty());
}

TEST_F(WarcFilesTest, TakesNothingOnceClosed) {
  const auto files = open();
  append(*files, numbered(1));
  ASSERT_TRUE(files->close());
  ASSERT_TRUE(files->close());
  const auto place = files->append(builder_.build(numbered(2).exchange()));
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().code, ErrorCode::kClosed);
  check_closed_files(directory_.path(), appended_);
}

TEST_F(WarcFilesTest, OneProcessAPrefix) {
  auto files = open();
  const auto second = WarcFiles::open(directory_.path(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_THAT(second.error().message, HasSubstr("output.directory"));
  WarcFilesOptions other;
  other.prefix = "other";
  EXPECT_TRUE(WarcFiles::open(directory_.path(), other));
  files.reset();
  EXPECT_TRUE(WarcFiles::open(directory_.path(), {}));
}

TEST_F(WarcFilesTest, RefusesPrefixesThatAreNoNames) {
  const std::vector<std::string> prefixes = {"",    ".x",  "a/b",      "../a",
                                             "a b", "a\n", "\xc3\xbc", std::string(101, 'a')};
  for (const std::string& prefix : prefixes) {
    WarcFilesOptions options;
    options.prefix = prefix;
    const auto files = WarcFiles::open(directory_.path(), options);
    ASSERT_FALSE(files) << prefix;
    EXPECT_EQ(files.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(WarcFilesTest, SaysWhichDirectoryItCannotUse) {
  test::write_whole(directory_ / "file", "x");
  const auto files = WarcFiles::open(directory_ / "file", {});
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr(directory_ / "file"));
}

// The disk fills up during a crawl; after space is freed, the crawl continues where it stopped.
TEST(WarcDiskFull, NoTornRecordNothingLost) {
  test::SmallDisk disk(2u << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const std::filesystem::path directory = disk / "warc";
  WarcFilesOptions options;
  options.max_size = 400'000;
  test::write_whole(disk / "filler", std::string(1u << 20, 'x'));

  WarcBuilder builder({.level = 0});
  std::vector<Appended> appended;
  int next = 0;
  {
    auto files = WarcFiles::open(directory, options);
    ASSERT_TRUE(files);
    for (;; ++next) {
      auto page = append_page(**files, builder, numbered(next, 10'000));
      if (!page) {
        EXPECT_EQ(page.error().code, ErrorCode::kNoSpace) << page.error().message;
        break;
      }
      appended.push_back(*page);
    }
    // The open file ends with a whole record, as everybody may see.
    for (const auto& open : files_ending(directory, ".warc.gz.open"))
      EXPECT_NE(read_records(read_whole(open)).size(), 0u);
    // A second try gets the same error, and leaves the same file.
    EXPECT_FALSE(append_page(**files, builder, numbered(next, 10'000)));
    [[maybe_unused]] const auto closed = (*files)->close();  // may lack room for the index
  }
  ASSERT_GT(appended.size(), 20u);
  std::filesystem::remove(disk / "filler");
  auto files = WarcFiles::open(directory, options);
  ASSERT_TRUE(files) << files.error().message;
  for (const WarcRepairReport& repair : (*files)->repairs())
    EXPECT_EQ(repair.cut, 0u) << repair.message;
  for (const int end = next + 10; next < end; ++next) {
    auto page = append_page(**files, builder, numbered(next, 10'000));
    ASSERT_TRUE(page) << page.error().message;
    appended.push_back(*page);
  }
  ASSERT_TRUE((*files)->close());
  EXPECT_EQ(check_closed_files(directory, appended).size(), static_cast<std::size_t>(next));
}

// Room made while the process lives is used.
TEST(WarcDiskFull, GoesOnInTheSameProcess) {
  test::SmallDisk disk(1u << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const std::filesystem::path directory = disk / "warc";
  auto files = WarcFiles::open(directory, {});
  ASSERT_TRUE(files);
  test::write_whole(disk / "filler", std::string(800u << 10, 'x'));
  WarcBuilder builder({.level = 0});
  std::vector<Appended> appended;
  int next = 0;
  for (bool full = false; !full; ++next) {
    auto page = append_page(**files, builder, numbered(next, 10'000));
    full = !page;
    if (page) appended.push_back(*page);
  }
  std::filesystem::remove(disk / "filler");
  for (int i = 0; i < 10; ++i) {
    auto page = append_page(**files, builder, numbered(next + i, 10'000));
    ASSERT_TRUE(page) << page.error().message;
    appended.push_back(*page);
  }
  ASSERT_TRUE((*files)->close());
  EXPECT_EQ(check_closed_files(directory, appended).size(), appended.size());
}

}  // namespace
}  // namespace trawl
