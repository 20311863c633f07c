// A checkpoint's number is used once: whatever fails, no file of that name ever has other bits.
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/file_io.h"
#include "tests/frontier/frontier_fixture.h"
#include "tests/support/file_faults.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;

class CheckpointNumbers : public test::FrontierFixture {
 protected:
  EmbeddedOptions options() const {
    auto options = FrontierFixture::options();
    options.seen.expected_urls = 100;
    return options;
  }
  std::unique_ptr<Frontier> open() const { return FrontierFixture::open(options()); }
  void offer_next(Frontier& frontier) {
    EXPECT_EQ(offer_one(frontier, web_.url(offered_++)), Admission::kNew);
  }
  // Remembers what each checkpoint there holds, and compares it with what it held before.
  void look() {
    for (const auto& entry : fs::directory_iterator(options().directory)) {
      if (entry.path().extension() != ".ckpt") continue;
      const std::string bytes = read_file(entry.path().string(), 16u << 20).value();
      const auto [known, fresh] = bits_.emplace(entry.path().filename().string(), bytes);
      EXPECT_TRUE(fresh || known->second == bytes) << known->first << " was used twice";
    }
  }
  void take_one(Frontier& frontier) {
    offer_next(frontier);
    const std::size_t before = bits_.size();
    ASSERT_TRUE(frontier.checkpoint());
    look();
    EXPECT_EQ(bits_.size(), before + 1) << "a new checkpoint has a name of its own";
  }

  test::NumberedUrls web_{3};
  std::uint64_t offered_ = 0;
  std::map<std::string, std::string> bits_;  // by file name
};

TEST_F(CheckpointNumbers, N2_AfterAPublicationThatFailed) {
  test::FileFaults faults(options().directory);
  const auto frontier = open();
  take_one(*frontier);
  for (const std::string part : {"MANIFEST", ".ckpt", "state"}) {
    bool struck = true;
    for (std::uint64_t n = 1; struck; ++n) {
      SCOPED_TRACE(testing::Message() << "operation " << n << " on " << part);
      offer_next(*frontier);
      faults.fail_once(n, EIO, part);
      const bool taken = frontier->checkpoint().has_value();
      struck = faults.heal();
      EXPECT_TRUE(struck || taken);
      if (!frontier->flush()) return;  // the store itself failed
      look();
      take_one(*frontier);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CheckpointNumbers, N2_AfterACrashAtAnyOperation) {
  test::FileFaults faults(options().directory);
  take_one(*open());
  bool struck = true;
  for (std::uint64_t n = 1; struck; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    auto frontier = open();
    offer_next(*frontier);
    faults.crash_at(n, n);
    static_cast<void>(frontier->checkpoint());
    frontier.reset();
    struck = faults.heal();
    look();
    take_one(*open());
    if (HasFailure()) return;
  }
}

TEST_F(CheckpointNumbers, AfterADamagedOneWasPassedOver) {
  {
    const auto frontier = open();
    for (int i = 0; i < 3; ++i)
      take_one(*frontier);
  }
  fs::resize_file(options().directory / "filter-000003.ckpt", 100);
  take_one(*open());
  fs::remove(options().directory / "filter-000004.ckpt");
  take_one(*open());
  EXPECT_TRUE(fs::exists(options().directory / "filter-000005.ckpt"));
}

TEST_F(CheckpointNumbers, AfterAnOlderManifestWasPutBack) {
  const fs::path manifest = options().directory / "MANIFEST";
  const fs::path backup = directory_.path() / "backup";
  {
    const auto frontier = open();
    take_one(*frontier);
    fs::copy_file(manifest, backup);
    take_one(*frontier);
  }
  fs::copy_file(backup, manifest, fs::copy_options::overwrite_existing);
  static_cast<void>(open());
  take_one(*open());
}

TEST_F(CheckpointNumbers, AfterARepairThatCrashed) {
  test::FileFaults faults(options().directory);
  {
    const auto frontier = open();
    for (int i = 0; i < 3; ++i)
      take_one(*frontier);
  }
  bool struck = true;
  for (std::uint64_t n = 1; struck; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    for (const auto& entry : fs::directory_iterator(options().directory)) {
      if (entry.path().extension() == ".ckpt") fs::resize_file(entry.path(), 100);
    }
    faults.crash_at(n, n);
    static_cast<void>(EmbeddedFrontier::repair(options()));
    struck = faults.heal();
    std::map<std::string, std::string> left;
    std::swap(left, bits_);
    look();
    std::erase_if(bits_, [](const auto& file) { return file.second.size() <= 100; });
    for (const auto& [name, bytes] : bits_)
      EXPECT_FALSE(left.contains(name)) << name << " was used twice";
    bits_.insert(left.begin(), left.end());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace trawl
