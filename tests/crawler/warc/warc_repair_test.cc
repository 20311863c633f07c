#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/warc/warc_files.h"
#include "tests/crawler/warc/warc_checks.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::append_page;
using test::Appended;
using test::check_closed_files;
using test::files_ending;
using test::Page;
using test::read_whole;
using test::write_whole;
using testing::HasSubstr;

constexpr char kStem[] = "trawl-20261121203109123-00000";

// What a crawl leaves that stops in the middle: an open file and its lines.
struct Interrupted {
  explicit Interrupted(int pages, std::size_t size = 300) {
    const test::TemporaryDirectory directory;
    const test::FileFaults without_syncs(directory.path());
    WarcFilesOptions options;
    options.now = [] { return test::test_time(); };
    auto files = WarcFiles::open(directory.path(), options);
    EXPECT_TRUE(files);
    WarcBuilder builder;
    for (int i = 0; i < pages; ++i) {
      set_starts.push_back(i == 0 ? 0 : (*files)->bytes_written());
      Page page("http://example.com/" + std::to_string((i * 7) % 10) + std::to_string(i),
                std::string(size, 'x') + std::to_string(i));
      auto place = append_page(**files, builder, page);
      EXPECT_TRUE(place);
      appended.push_back(*place);
    }
    warc = read_whole(files_ending(directory.path(), ".warc.gz.open").at(0));
    // All lines, in the order of the records.
    EXPECT_TRUE((*files)->close());
    std::vector<std::string> sorted =
        test::lines_of(read_whole(files_ending(directory.path(), ".cdxj").at(0)));
    for (const Appended& page : appended) {
      for (const std::string& line : sorted) {
        if (line.find("\"offset\": \"" + std::to_string(page.place.offset) + "\"") !=
            std::string::npos)
          lines.push_back(line + "\n");
      }
    }
    EXPECT_EQ(lines.size(), appended.size());
    closed_index = read_whole(files_ending(directory.path(), ".cdxj").at(0));
  }
  std::string first_lines(std::size_t count) const {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += lines.at(i);
    return text;
  }
  // Those that lie whole in the first `size` bytes.
  std::vector<Appended> within(std::uint64_t size) const {
    std::vector<Appended> kept;
    for (const Appended& page : appended) {
      if (page.place.offset + page.place.length <= size) kept.push_back(page);
    }
    return kept;
  }

  std::string warc;
  std::vector<std::string> lines;
  std::string closed_index;
  std::vector<Appended> appended;
  std::vector<std::uint64_t> set_starts;
};

class WarcRepairReportTest : public testing::Test {
 protected:
  // Leaves the files as given, opens them, and returns what was done.
  std::vector<WarcRepairReport> reopen(std::string_view warc, const std::string* lines,
                                       bool cdxj = true) {
    directory_.emplace();
    const test::FileFaults without_syncs(directory_->path());
    write_whole(path(".warc.gz.open"), warc);
    if (lines != nullptr) write_whole(path(".cdxj.open"), *lines);
    WarcFilesOptions options;
    options.cdxj = cdxj;
    auto files = WarcFiles::open(directory_->path(), options);
    EXPECT_TRUE(files) << files.error().message;
    return files ? (*files)->repairs() : std::vector<WarcRepairReport>();
  }
  std::string path(const std::string& ending) const { return *directory_ / (kStem + ending); }

  std::optional<test::TemporaryDirectory> directory_;
};

TEST_F(WarcRepairReportTest, AWholeFileIsClosedAsItIs) {
  const Interrupted crawl(20);
  // However many lines the crash left, and whatever became of the last one.
  for (std::size_t count : {0u, 1u, 19u, 20u}) {
    for (const std::string& torn : {std::string(), crawl.lines.at(5).substr(0, 30)}) {
      const std::string lines = crawl.first_lines(count) + torn;
      const auto repairs = reopen(crawl.warc, &lines);
      ASSERT_EQ(repairs.size(), 1u);
      EXPECT_EQ(repairs[0].file, std::string(kStem) + ".warc.gz");
      EXPECT_EQ(repairs[0].cut, 0u);
      EXPECT_EQ(repairs[0].kept, crawl.warc.size());
      EXPECT_EQ(repairs[0].lines_made, 20 - count);
      EXPECT_EQ(read_whole(path(".warc.gz")), crawl.warc);
      // The lines made again are the ones that were lost.
      EXPECT_EQ(read_whole(path(".cdxj")), crawl.closed_index);
      check_closed_files(directory_->path(), crawl.appended);
    }
  }
}

TEST_F(WarcRepairReportTest, CutAtEveryByteOfTheLastPage) {
  const Interrupted crawl(4);
  for (std::uint64_t size = crawl.set_starts[3]; size < crawl.warc.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string lines = crawl.first_lines(size % 5);  // of records that are gone, too
    const auto repairs = reopen(crawl.warc.substr(0, size), &lines);
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].kept + repairs[0].cut, size);
    EXPECT_LT(repairs[0].cut, crawl.warc.size() - crawl.set_starts[3]);
    EXPECT_EQ(check_closed_files(directory_->path(), crawl.within(size)).size(),
              crawl.within(size).size());
    EXPECT_FALSE(std::filesystem::exists(path(".damaged")));
    if (HasFailure()) return;
  }
}

TEST_F(WarcRepairReportTest, CutBeforeTheFirstPageLeavesNothing) {
  const Interrupted crawl(1);
  for (std::uint64_t size = 0; size <= crawl.appended[0].place.offset; size += 13) {
    const auto repairs = reopen(crawl.warc.substr(0, size), nullptr);
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].kept, 0u);
    EXPECT_THAT(repairs[0].message, HasSubstr("removed"));
    EXPECT_TRUE(check_closed_files(directory_->path(), {}).empty());
  }
}

TEST_F(WarcRepairReportTest, ZerosWhereAPowerLossLeftThem) {
  const Interrupted crawl(5);
  std::string warc = crawl.warc.substr(0, crawl.set_starts[4] + 10);
  warc.resize(crawl.warc.size() + 5000, '\0');
  const std::string lines = crawl.first_lines(2) + std::string(4096, '\0');
  const auto repairs = reopen(warc, &lines);
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_EQ(repairs[0].kept, crawl.set_starts[4]);
  EXPECT_EQ(check_closed_files(directory_->path(), crawl.within(crawl.set_starts[4])).size(), 4u);
}

// A damaged record that is not the last one is not the end of an interrupted write: what whole
// records follow it are kept aside.
TEST_F(WarcRepairReportTest, FlippedBytes) {
  const Interrupted crawl(6);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string warc = crawl.warc;
    const std::size_t at = random() % warc.size();
    warc[at] = static_cast<char>(warc[at] ^ (1 << random() % 8));
    SCOPED_TRACE(at);
    const std::string lines = crawl.first_lines(random() % 7);
    const auto repairs = reopen(warc, &lines);
    ASSERT_EQ(repairs.size(), 1u);
    if (repairs[0].cut == 0) continue;  // before what was known to be whole, or harmless
    EXPECT_LE(repairs[0].kept, at);
    EXPECT_EQ(check_closed_files(directory_->path(), crawl.within(repairs[0].kept)).size(),
              crawl.within(repairs[0].kept).size());
    // The last page's metadata record.
    const bool last = at >= test::read_records(crawl.warc).back().offset;
    EXPECT_EQ(std::filesystem::exists(path(".damaged")), !last);
    if (!last) {
      EXPECT_THAT(repairs[0].message, HasSubstr(".damaged"));
      EXPECT_EQ(read_whole(path(".damaged")), warc.substr(warc.size() - repairs[0].cut));
    }
    if (HasFailure()) return;
  }
}

TEST_F(WarcRepairReportTest, LinesThatLieDoNoHarm) {
  const Interrupted crawl(5);
  const std::string line = crawl.lines.at(2);
  const auto with = [&](const std::string& offset, const std::string& length) {
    return line.substr(0, line.find(", \"length\"")) + ", \"length\": \"" + length +
           "\", \"offset\": \"" + offset + "\", \"filename\": \"x\"}\n";
  };
  for (const std::string& lie :
       {with("18446744073709551615", "5"), with("99999999", "10"), with("1", "2"), with("x", "y"),
        with("0", "18446744073709551615"), std::string(100, '\n'), std::string("{}\n"),
        with(std::to_string(crawl.appended[2].place.offset), "1")}) {
    SCOPED_TRACE(lie);
    const std::string lines = crawl.first_lines(1) + lie;
    const auto repairs = reopen(crawl.warc, &lines);
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].cut, 0u);
    EXPECT_EQ(check_closed_files(directory_->path(), crawl.appended).size(), 5u);
  }
}

TEST_F(WarcRepairReportTest, IndexIsMadeForAFileWithoutOneIfItIsWantedNow) {
  const Interrupted crawl(5);
  auto repairs = reopen(crawl.warc, nullptr);
  EXPECT_EQ(repairs.at(0).lines_made, 5u);
  check_closed_files(directory_->path(), crawl.appended);
  repairs = reopen(crawl.warc, nullptr, false);
  check_closed_files(directory_->path(), crawl.appended, false);
  // And one that was begun is completed.
  const std::string lines = crawl.first_lines(2);
  repairs = reopen(crawl.warc, &lines, false);
  check_closed_files(directory_->path(), crawl.appended);
}

TEST_F(WarcRepairReportTest, OtherFilesAreLeftAlone) {
  const Interrupted crawl(2);
  directory_.emplace();
  const std::string names[] = {"trawl-x-20261121203109123-00000.warc.gz.open",
                               "trawl-20261121203109123-.warc.gz.open",
                               "trawl-2026112120310912-00000.warc.gz.open",
                               "other-20261121203109123-00000.warc.gz.open",
                               "trawl-20261121203109123-00000.warc.gz",
                               "trawl.cdxj.open",
                               "x.open"};
  for (const std::string& name : names)
    write_whole(*directory_ / name, name);
  const auto files = WarcFiles::open(directory_->path(), {});
  ASSERT_TRUE(files);
  EXPECT_TRUE((*files)->repairs().empty());
  for (const std::string& name : names)
    EXPECT_EQ(read_whole(*directory_ / name), name);
}

TEST_F(WarcRepairReportTest, SeveralFilesAndWhatAClosingCrawlLeft) {
  const Interrupted crawl(3);
  directory_.emplace();
  const std::string second = *directory_ / "trawl-20261121203109123-00001";
  write_whole(path(".warc.gz.open"), crawl.warc);
  write_whole(path(".cdxj"), crawl.closed_index);  // the one is renamed, the other not yet
  write_whole(path(".cdxj.open"), crawl.first_lines(3));
  write_whole(second + ".warc.gz.open", crawl.warc.substr(0, crawl.warc.size() - 1));
  write_whole(second + ".cdxj.tmp", "half");
  const std::string third = *directory_ / "trawl-20261121203109123-00002";
  write_whole(third + ".cdxj.open", "the lines of a file that is closed");
  const auto files = WarcFiles::open(directory_->path(), {});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ((*files)->repairs().size(), 2u);
  for (const char* left : {".open", ".tmp"})
    EXPECT_TRUE(files_ending(directory_->path(), left).empty());
  EXPECT_EQ(files_ending(directory_->path(), ".warc.gz").size(), 2u);
  EXPECT_EQ(read_whole(path(".cdxj")), crawl.closed_index);
}

// Bodies larger than what is kept of a record while it is read.
TEST_F(WarcRepairReportTest, LargeRecords) {
  const Interrupted crawl(3, 5u << 20);
  const auto repairs = reopen(crawl.warc.substr(0, crawl.warc.size() - 1), nullptr);
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_EQ(check_closed_files(directory_->path(), crawl.appended).size(), 3u);
}

// Random bytes in place of a file cost it, and nothing else.
TEST_F(WarcRepairReportTest, Garbage) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 50; ++i) {
    std::string bytes(random() % 5000, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random());
    if (i % 2 == 0) bytes = std::string("\x1f\x8b\x08\0", 4) + bytes;
    const auto repairs = reopen(bytes, &bytes);
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].kept, 0u);
    EXPECT_EQ(repairs[0].cut, bytes.size());
    EXPECT_TRUE(check_closed_files(directory_->path(), {}).empty());
  }
}

}  // namespace
}  // namespace trawl
