// Every operation on a file may fail, be the last one, or be lost with the power: afterwards there
// is the old file or the new one, whole, and after an error nothing else.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unzip.h>

#include "base/file_io.h"
#include "crawler/wacz/wacz_package.h"
#include "crawler/warc/warc_builder.h"
#include "crawler/warc/warc_files.h"
#include "tests/crawler/warc/warc_checks.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::FileFaults;

// A crawl's output, and a folder with an old file in which the fault happens.
class WaczFaults : public testing::Test {
 protected:
  WaczFaults() {
    std::filesystem::create_directory(output());
    WarcFilesOptions options;
    options.max_size = 4000;
    options.now = [] { return test::test_time(); };
    WarcBuilder builder;
    auto files = WarcFiles::open(output(), options);
    for (int i = 0; i < 10; ++i) {
      const test::Page page("http://h.example/" + std::to_string(i), std::string(700, 'x'));
      EXPECT_TRUE(test::append_page(**files, builder, page));
    }
    EXPECT_TRUE((*files)->close());
  }

  std::filesystem::path output() const { return directory_.path() / "output"; }

  // Packages with a fault; returns the error.
  template <class Arm, class After>
  Result<WaczSummary> package(const Arm& arm, const After& after,
                              FileFaults::Track track = FileFaults::Track::kCrashes) {
    std::filesystem::remove_all(place());
    std::filesystem::create_directory(place());
    std::ofstream(target()) << "old";
    FileFaults disk(place(), track);
    arm(disk);
    auto summary = write_wacz({.directory = output(), .title = "t"}, target());
    struck_ = disk.struck();
    SCOPED_TRACE(disk.struck_at());
    disk.heal();
    after(disk);
    check(summary.has_value());
    return summary;
  }

  bool struck() const { return struck_; }
  std::string target() const { return (place() / "site.wacz").string(); }
  std::filesystem::path place() const { return directory_.path() / "place"; }

  std::size_t files_of_place() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(place()))
      ++count;
    return count;
  }

 private:
  void check(bool done) const {
    const auto bytes = read_file(target(), 1u << 20);
    ASSERT_TRUE(bytes) << bytes.error().message;
    if (*bytes == "old") {
      EXPECT_FALSE(done);
      return;
    }
    unzFile zip = unzOpen64(target().c_str());
    ASSERT_NE(zip, nullptr) << "neither the old file nor a whole one";
    EXPECT_EQ(unzLocateFile(zip, "datapackage-digest.json", 1), UNZ_OK);
    unzClose(zip);
  }

  const test::TemporaryDirectory directory_;
  bool struck_ = false;
};

TEST_F(WaczFaults, EveryOperationFails) {
  for (const int error : {ENOSPC, EIO}) {
    std::uint64_t n = 1;
    for (;; ++n) {
      const auto summary =
          package([&](FileFaults& disk) { disk.fail_once(n, error); }, [](FileFaults&) {});
      if (!struck()) break;
      // Removing a temporary file may fail without an error.
      if (summary) continue;
      EXPECT_EQ(summary.error().code, error == ENOSPC ? ErrorCode::kNoSpace : ErrorCode::kIo)
          << n << ": " << summary.error().message;
      EXPECT_EQ(files_of_place(), 1u) << "after operation " << n;
    }
    EXPECT_GT(n, 10u);
  }
}

TEST_F(WaczFaults, EveryOperationIsTheLast) {
  for (std::uint64_t n = 1;; ++n) {
    (void)package([&](FileFaults& disk) { disk.crash_at(n, n); }, [](FileFaults&) {});
    if (!struck()) break;
  }
}

TEST_F(WaczFaults, ThePowerGoesAfterEveryOperation) {
  for (std::uint64_t n = 1;; ++n) {
    (void)package([&](FileFaults& disk) { disk.crash_at(n, n); },
                  [&](FileFaults& disk) { disk.lose_power(n); }, FileFaults::Track::kPowerLoss);
    if (!struck()) break;
  }
}

}  // namespace
}  // namespace trawl
