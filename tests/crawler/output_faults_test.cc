// The output on disks that fill up, fail, or lose what was not synced; and crashes at every moment.
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include "crawler/output/output.h"
#include "tests/crawler/output_fixture.h"
#include "tests/support/file_faults.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::exchange_of;
using test::Fetched;
using test::fetched_body;
using test::FileFaults;
using test::FoundRecord;
using test::OutputPlace;
using test::TemporaryDirectory;
using test::write;

// A crawl of numbered pages that stops at the first error and continues with what was not
// committed.
class NumberedCrawl {
 public:
  NumberedCrawl(const std::filesystem::path& root, int pages, std::size_t body_size, int bodies = 7)
      : place(root), pages_(pages), body_size_(body_size), bodies_(bodies) {}

  OutputPlace place;

  // Until all is committed, or the first error.
  Result<void> run(bool sync) {
    auto output = place.try_open(sync);
    if (!output) return tl::unexpected(output.error());
    std::vector<Fetched> group;
    for (int i = 0; i < pages_; ++i) {
      if (!committed_.contains(i)) group.push_back(page(**output, i));
      if (group.empty() || (group.size() < kGroup && i + 1 < pages_)) continue;
      std::vector<std::string> written;
      const auto done = write(**output, group, written);
      for (const std::string& url : written)
        committed_.insert(number(url));
      if (!done) {
        // Nothing is taken any more, for the same reason.
        EXPECT_EQ((*output)->flush().error().message, done.error().message);
        EXPECT_EQ((*output)->failure().value().message, done.error().message);
        EXPECT_EQ((*output)->close().error().message, done.error().message);
        EXPECT_EQ((*output)->queued_bytes(), 0u);
        return done;
      }
      group.clear();
    }
    return (*output)->close();
  }

  std::size_t committed() const { return committed_.size(); }
  bool finished() const { return committed() == static_cast<std::size_t>(pages_); }

  // Of what is in the files now. `at_most`: how often a page may be listed. A body is stored once,
  // unless the claim of its record was lost with the page that was being written.
  void check(int at_most) const {
    std::map<int, int> listed;
    std::map<std::string, std::string> first_of;  // by digest
    for (const auto& line : place.pages()) {
      const int i = number(line["url"]);
      ++listed[i];
      const FoundRecord record = test::record_at(place.files(), line["warc"]);
      ASSERT_EQ(record.url, url(i));
      ASSERT_TRUE(record.type == "response" || record.type == "revisit") << record.type;
      if (line["duplicate_of"].is_null()) {
        const auto first = first_of.emplace(line["digest"], line["url"]).first->second;
        EXPECT_EQ(first, url(i)) << "two firsts of one body";
      } else {
        EXPECT_EQ(number(line["duplicate_of"]) % bodies_, i % bodies_);
      }
    }
    for (const int i : committed_)
      EXPECT_TRUE(listed[i] >= 1 && listed[i] <= at_most) << i << " is listed " << listed[i];
    for (const auto& [i, times] : listed)
      EXPECT_LE(times, at_most) << i;
    EXPECT_GE(test::read_lines(place.files() / "links.jsonl").size(), committed());
    // Whole records only: inflating fails the test otherwise.
    for (const auto& [digest, responses] : test::check_revisits(place.files()))
      EXPECT_LE(responses, 2) << digest;
  }

 private:
  static constexpr std::size_t kGroup = 5;
  static std::string url(int i) { return "http://site.example/" + std::to_string(i); }
  static int number(const std::string& url) {
    return std::stoi(url.substr(url.find_last_of('/') + 1));
  }

  Fetched page(const Output& output, int i) {
    std::mt19937 random(static_cast<unsigned>(i % bodies_));
    std::string body(body_size_, '\0');
    for (char& c : body)
      c = static_cast<char>(random());
    Fetched made = fetched_body(builder_, url(i), body);
    test::add_link(output, made, {.to = url(i + 1), .kind = "form", .text = "", .rel = ""});
    return made;
  }

  int pages_;
  std::size_t body_size_;
  int bodies_;  // different ones
  WarcBuilder builder_{{.replaceable = true}};
  std::set<int> committed_;
};

TEST(OutputFaults, AFullDiskStopsTheCrawlAndLosesNothing) {
  const test::SmallDisk disk(3u << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  NumberedCrawl crawl(disk / "", 400, 20'000, 400);
  const auto full = crawl.run(false);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kNoSpace) << full.error().message;
  EXPECT_GT(crawl.committed(), 20u);
  EXPECT_FALSE(crawl.finished());
  crawl.check(1);
  ASSERT_EQ(::mount("trawl-test", (disk / "").c_str(), "tmpfs", MS_REMOUNT, "size=512m"), 0);
  const auto resumed = crawl.run(false);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_TRUE(crawl.finished());
  crawl.check(1);
}

constexpr int kPages = 15;
// Every other operation, the even ones or the odd ones: whole crawls take their time.
constexpr std::uint64_t kStride = 2;

// How many operations on files a whole crawl takes.
std::uint64_t operations_of_a_crawl(bool sync) {
  const TemporaryDirectory directory;
  const FileFaults faults(directory.path());
  NumberedCrawl crawl(directory.path(), kPages, 300);
  EXPECT_TRUE(crawl.run(sync));
  crawl.check(1);
  return faults.operations();
}

TEST(OutputFaults, AnOperationThatFailsOnce) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::uint64_t operations = operations_of_a_crawl(false);
  ASSERT_GT(operations, 30u);
  std::size_t no_space = 0;
  for (std::uint64_t n = 1 + seed % kStride; n <= operations; n += kStride) {
    SCOPED_TRACE("operation " + std::to_string(n));
    const TemporaryDirectory directory;
    FileFaults faults(directory.path());
    NumberedCrawl crawl(directory.path(), kPages, 300);
    faults.fail_once(n, ENOSPC);
    const auto result = crawl.run(false);
    const std::string where = faults.struck() ? faults.struck_at() : "nowhere";
    faults.heal();
    SCOPED_TRACE(where);
    if (!result) no_space += result.error().code == ErrorCode::kNoSpace ? 1 : 0;
    const auto resumed = crawl.run(false);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_TRUE(crawl.finished());
    // Had taking back the lines of a commit failed, too, they would be there twice; here it does
    // not.
    crawl.check(1);
  }
  EXPECT_GT(no_space, operations / kStride / 2);
}

TEST(OutputFaults, AKillAtAnyMoment) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::uint64_t operations = operations_of_a_crawl(false);
  for (std::uint64_t n = 1 + seed % kStride; n <= operations; n += kStride) {
    SCOPED_TRACE("operation " + std::to_string(n));
    const TemporaryDirectory directory;
    FileFaults faults(directory.path());
    NumberedCrawl crawl(directory.path(), kPages, 300);
    faults.crash_at(n, seed + n);
    static_cast<void>(crawl.run(false));
    faults.heal();
    const auto resumed = crawl.run(false);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_TRUE(crawl.finished());
    // The lines of the group that was being committed may be there already.
    crawl.check(2);
  }
}

TEST(OutputFaults, APowerLossAtAnyMomentIfAllIsSynced) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::uint64_t operations = operations_of_a_crawl(true);
  for (std::uint64_t n = 1 + seed % kStride; n <= operations; n += kStride) {
    SCOPED_TRACE("operation " + std::to_string(n));
    const TemporaryDirectory directory;
    FileFaults faults(directory.path(), FileFaults::Track::kPowerLoss);
    NumberedCrawl crawl(directory.path(), kPages, 300);
    faults.crash_at(n, seed + n);
    static_cast<void>(crawl.run(true));
    faults.lose_power(seed + n);
    faults.heal();
    const auto resumed = crawl.run(true);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_TRUE(crawl.finished());
    crawl.check(2);
  }
}

}  // namespace
}  // namespace trawl
