// Every operation on a file may be the last one, or fail: what had been appended is there
// afterwards, and whole.
#include <cerrno>
#include <string>
#include <vector>

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
using test::FileFaults;
using test::Page;

constexpr int kPages = 14;

WarcFilesOptions small_files() {
  WarcFilesOptions options;
  options.max_size = 4000;  // a few pages
  options.now = [] { return test::test_time(); };
  return options;
}

Page crash_page(int i) {
  return Page("http://h" + std::to_string(i * 7 % 10) + "/" + std::to_string(i),
              std::string(500, 'x') + std::to_string(i * 7919));
}

struct Crawl {
  std::vector<Appended> appended = {};  // each was reported as written
  std::size_t synced = 0;               // of them, those that are to survive a power loss
  bool failed = false;

  // Goes on to the first error, as a crawl does.
  void run(const std::filesystem::path& directory, int first = 0) {
    WarcBuilder builder;
    auto files = WarcFiles::open(directory, small_files());
    if (failed = !files; failed) return;
    for (int i = first; i < first + kPages; ++i) {
      const auto page = append_page(**files, builder, crash_page(i));
      if (failed = !page; failed) return;
      appended.push_back(*page);
      if (i % 3 != 1) continue;
      if (failed = !(*files)->flush(true); failed) return;
      synced = appended.size();
    }
    if (failed = !(*files)->close(); failed) return;
    synced = appended.size();
  }
};

// Runs a crawl that `fault` is armed for, then another one in the same directory.
template <class Arm, class AfterFault>
void crawl_with(const Arm& arm, FileFaults::Track track, const AfterFault& after_fault) {
  const test::TemporaryDirectory directory;
  const std::filesystem::path warcs = directory.path() / "warcs";
  std::filesystem::create_directory(warcs);
  FileFaults disk(warcs, track);
  Crawl crawl;
  arm(disk);
  crawl.run(warcs);
  SCOPED_TRACE(disk.struck_at());
  disk.heal();
  after_fault(disk, crawl);
  Crawl second;
  second.run(warcs, 1000);
  EXPECT_FALSE(second.failed);
  crawl.appended.insert(crawl.appended.end(), second.appended.begin(), second.appended.end());
  check_closed_files(warcs, crawl.appended);
}

std::uint64_t operations_of_a_crawl() {
  const test::TemporaryDirectory directory;
  const FileFaults disk(directory.path());
  Crawl crawl;
  crawl.run(directory.path());
  EXPECT_FALSE(crawl.failed);
  return disk.operations();
}

TEST(WarcCrash, AtEveryOperation) {
  const std::uint64_t operations = operations_of_a_crawl();
  ASSERT_GT(operations, 50u);
  for (std::uint64_t n = 1; n <= operations && !testing::Test::HasFailure(); ++n) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("operation " + std::to_string(n) + ", seed " + std::to_string(seed));
      crawl_with([&](FileFaults& disk) { disk.crash_at(n, seed); }, FileFaults::Track::kCrashes,
                 [](FileFaults&, const Crawl&) {});
    }
  }
}

TEST(WarcCrash, PowerLossAtEveryOperation) {
  const std::uint64_t operations = operations_of_a_crawl();
  for (std::uint64_t n = 1; n <= operations && !testing::Test::HasFailure(); ++n) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("operation " + std::to_string(n) + ", seed " + std::to_string(seed));
      crawl_with([&](FileFaults& disk) { disk.crash_at(n, seed); }, FileFaults::Track::kPowerLoss,
                 [&](FileFaults& disk, Crawl& crawl) {
                   disk.lose_power(seed);
                   crawl.appended.resize(crawl.synced);
                 });
    }
  }
}

// Single errors, and a disk that stays full until the crawl has ended.
TEST(WarcCrash, ErrorAtEveryOperation) {
  const std::uint64_t operations = operations_of_a_crawl();
  for (std::uint64_t n = 1; n <= operations && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE("operation " + std::to_string(n));
    const auto nothing = [](FileFaults&, const Crawl&) {};
    crawl_with([&](FileFaults& disk) { disk.fail_once(n, EIO); }, FileFaults::Track::kCrashes,
               nothing);
    crawl_with([&](FileFaults& disk) { disk.fail_from(n, ENOSPC); }, FileFaults::Track::kCrashes,
               nothing);
  }
}

}  // namespace
}  // namespace trawl
