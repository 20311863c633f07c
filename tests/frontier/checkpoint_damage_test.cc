// Checkpoint files that are cut short or changed, everywhere: it is noticed, what is older serves,
// and nothing is lost.
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "base/file_io.h"
#include "frontier/recovery/filter_recovery.h"
#include "frontier/store/rocks_store.h"
#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file's contents, which come back when the test that damages it is done.
class FileAtRisk {
 public:
  explicit FileAtRisk(fs::path path)
      : path_(std::move(path)), whole_(read_file(path_.string(), 16u << 20).value()) {}
  FileAtRisk(const FileAtRisk&) = delete;
  FileAtRisk& operator=(const FileAtRisk&) = delete;
  ~FileAtRisk() { write(whole_); }

  std::size_t size() const { return whole_.size(); }
  void cut(std::size_t size) const { write(whole_.substr(0, size)); }
  void flip(std::size_t at, char bits) const {
    std::string damaged = whole_;
    damaged[at] = static_cast<char>(damaged[at] ^ bits);
    write(damaged);
  }

 private:
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  fs::path path_;
  std::string whole_;
};

class CheckpointDamage : public test::FrontierFixture {
 protected:
  static constexpr std::uint64_t kUrls = 300;
  static constexpr std::size_t kFlips = 1'000;

  // A filter of two chunks.
  EmbeddedOptions options() const {
    auto options = FrontierFixture::options();
    options.seen.expected_urls = 10'000;
    return options;
  }
  std::unique_ptr<Frontier> open() const { return FrontierFixture::open(options()); }

  // Three parts, with a checkpoint behind each of the first two, and one behind the very first
  // URLs that is no longer kept: the log does not reach back.
  void make_state() {
    const auto frontier = open();
    offer_all(*frontier, requests(0, 10));
    ASSERT_TRUE(frontier->checkpoint());
    offer_all(*frontier, requests(10, 100));
    ASSERT_TRUE(frontier->checkpoint());
    offer_all(*frontier, requests(100, 200));
    ASSERT_TRUE(frontier->checkpoint());
    offer_all(*frontier, requests(200, kUrls));
  }
  test::Requests requests(std::uint64_t first, std::uint64_t end) const {
    test::Requests requests;
    for (std::uint64_t n = first; n < end; ++n)
      requests.add(web_.url(n));
    return requests;
  }
  fs::path checkpoint_file(int number) const {
    return options().directory / fmt::format("filter-{:06}.ckpt", number);
  }

  void expect_nothing_lost(Frontier& frontier) const {
    for (const Admission admission : offer_all(frontier, requests(0, kUrls)))
      ASSERT_EQ(admission, Admission::kSeen);
    std::set<std::uint64_t> queued;
    for (const Lease& lease : lease_all(frontier))
      ASSERT_TRUE(queued.insert(test::NumberedUrls::number(lease.url)).second) << lease.url;
    EXPECT_EQ(queued.size(), kUrls);
  }
  void expect_served_by(int older, int damaged) const {
    const auto frontier = EmbeddedFrontier::open(options(), &opened_);
    ASSERT_TRUE(frontier) << frontier.error().message;
    const OpenReport& report = opened_;
    EXPECT_EQ(report.checkpoint, checkpoint_file(older).string());
    ASSERT_EQ(report.warnings.size(), 1u);
    EXPECT_THAT(report.warnings[0], HasSubstr(checkpoint_file(damaged).string()));
    expect_nothing_lost(**frontier);
  }
  void expect_refused() const {
    const auto frontier = EmbeddedFrontier::open(options(), &opened_);
    ASSERT_FALSE(frontier);
    EXPECT_EQ(frontier.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(
        frontier.error().message,
        AllOf(HasSubstr(checkpoint_file(2).string()), HasSubstr(checkpoint_file(3).string()),
              HasSubstr("trawl frontier repair " + options().directory.string())));
  }

  test::NumberedUrls web_{7};
};

TEST_F(CheckpointDamage, N1_TheNewestCutAtEveryPageIsNoticedAndTheOlderOneServes) {
  make_state();
  const FileAtRisk newest(checkpoint_file(3));
  ASSERT_GT(newest.size(), 100'000u) << "more than one chunk";
  for (std::size_t size = 0; size < newest.size(); size += 4096) {
    SCOPED_TRACE(size);
    newest.cut(size);
    expect_served_by(2, 3);
  }
}

TEST_F(CheckpointDamage, BothCutAtEveryPageAreRefusedAndNamed) {
  make_state();
  const FileAtRisk newest(checkpoint_file(3));
  const FileAtRisk older(checkpoint_file(2));
  for (std::size_t size = 0; size < older.size(); size += 4096) {
    SCOPED_TRACE(size);
    older.cut(size);
    newest.cut(newest.size() - 1 - size);
    expect_refused();
  }
}

TEST_F(CheckpointDamage, TheOlderOneDamagedDoesNotMatterWhileTheNewestIsWhole) {
  make_state();
  const FileAtRisk older(checkpoint_file(2));
  older.cut(older.size() / 2);
  const auto frontier = open();
  EXPECT_EQ(opened_.checkpoint, checkpoint_file(3).string());
  EXPECT_THAT(opened_.warnings, IsEmpty());
  expect_nothing_lost(*frontier);
}

TEST_F(CheckpointDamage, N1_FlippedBytesAreNoticedAndTheOlderOneServes) {
  constexpr std::size_t kOpens = 30;
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  make_state();
  const FileAtRisk newest(checkpoint_file(3));
  for (std::size_t i = 0; i < kOpens; ++i) {
    const std::size_t at = random() % newest.size();
    SCOPED_TRACE(at);
    newest.flip(at, static_cast<char>(1 << random() % 8));
    expect_served_by(2, 3);
  }
}

// All flips by way of recover_filter() alone, which is what opening does with the files.
class CheckpointFlips : public CheckpointDamage {
 protected:
  void SetUp() override {
    make_state();
    store_ =
        std::move(*RocksStore::open(options().directory / "store",
                                    {.sync = false, .memory = MemoryPlan::of(kMinFrontierMemory)}));
    manifest_ = **Manifest::read(options().directory);
    ASSERT_EQ(manifest_.checkpoints.size(), 2u);
    const auto read =
        store_->replay_admissions(0, [&](std::uint64_t, std::span<const Fingerprint> fingerprints) {
          logged_.insert(logged_.end(), fingerprints.begin(), fingerprints.end());
        });
    ASSERT_TRUE(read);
    ASSERT_GE(logged_.size(), 200u);
  }
  Result<GrowingBloomFilter> recover(OpenReport& report) {
    Manifest manifest = manifest_;
    return recover_filter(options().directory, manifest, *store_,
                          {.capacity = options().seen.expected_urls,
                           .false_positive_rate = options().seen.false_positive_rate,
                           .hash = KeyedHash::from_key(manifest.hash_key)},
                          report);
  }
  // Flips one byte after the other, each in a file that is whole otherwise.
  void at_random_bytes(const FileAtRisk& file, std::uint64_t seed,
                       const std::function<void()>& check) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < kFlips; ++i) {
      const std::size_t at = random() % file.size();
      SCOPED_TRACE(testing::Message() << "byte " << at);
      file.flip(at, static_cast<char>(1 << random() % 8));
      check();
      if (HasFatalFailure()) return;
    }
  }

  std::unique_ptr<Store> store_;
  Manifest manifest_;
  std::vector<Fingerprint> logged_;  // from the older checkpoint on
};

TEST_F(CheckpointFlips, N1_AThousandInTheNewestAreNoticedAndTheOlderOneServes) {
  at_random_bytes(FileAtRisk(checkpoint_file(3)), 21, [&] {
    OpenReport report;
    const auto filter = recover(report);
    ASSERT_TRUE(filter) << filter.error().message;
    ASSERT_EQ(report.checkpoint, checkpoint_file(2).string());
    ASSERT_EQ(report.warnings.size(), 1u);
    ASSERT_THAT(report.warnings[0], HasSubstr(checkpoint_file(3).string() + " is damaged"));
    ASSERT_EQ(report.replayed, 200u);
    ASSERT_EQ(filter->stats().inserted, kUrls) << "what was admitted, and nothing else";
    for (const Fingerprint key : logged_)
      ASSERT_TRUE(filter->contains(key));
  });
}

TEST_F(CheckpointFlips, AThousandInTheOlderWithTheNewestGoneAreRefused) {
  const FileAtRisk newest(checkpoint_file(3));
  newest.cut(0);
  at_random_bytes(FileAtRisk(checkpoint_file(2)), 22, [&] {
    OpenReport report;
    const auto filter = recover(report);
    ASSERT_FALSE(filter);
    ASSERT_EQ(filter.error().code, ErrorCode::kCorrupt);
    ASSERT_THAT(filter.error().message, HasSubstr(checkpoint_file(2).string() + " is damaged"));
    ASSERT_EQ(report.warnings.size(), 2u);
  });
}

}  // namespace
}  // namespace trawl
