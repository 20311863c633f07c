// The pace at which a filter's snapshot is written.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "trawl/growing_bloom_filter.h"

#include "base/file_io.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

class SnapshotPaceTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kKeys = 100'000;  // some 0.4 MiB, no chunk of them empty

  SnapshotPaceTest() {
    for (std::uint64_t n = 0; n < kKeys; ++n)
      filter_.insert(test::nth_key(n));
  }
  std::string path() const { return directory_ / "filter"; }
  std::uint64_t size_now() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(path(), error);
    return error ? 0 : size;
  }
  std::string contents() const { return read_file(path(), 16u << 20).value(); }
  // Begins a write that takes weeks at its pace, and returns when it is under way.
  std::future<Result<std::uint64_t>> begin_slowly(const SnapshotPace& pace) {
    auto written = std::async(std::launch::async,
                              [this, pace] { return filter_.write_unpublished(path(), pace); });
    while (size_now() < (64u << 10))
      std::this_thread::yield();
    return written;
  }

  test::TemporaryDirectory directory_;
  GrowingBloomFilter filter_ =
      GrowingBloomFilter::create(
          {.capacity = kKeys, .false_positive_rate = 1e-6, .hash = KeyedHash::from_seed(1)})
          .value();
};

TEST_F(SnapshotPaceTest, ThePaceChangesNothingInTheFile) {
  const auto size = filter_.write_unpublished(path()).value();
  const std::string unlimited = contents();
  EXPECT_EQ(unlimited.size(), size);
  EXPECT_GT(size, 256u << 10);
  ASSERT_TRUE(filter_.write_unpublished(path(), {.bytes_per_second = 1u << 30}));
  EXPECT_EQ(contents(), unlimited);
}

TEST_F(SnapshotPaceTest, TheLimitHolds) {
  constexpr std::uint64_t kRate = 4u << 20;
  const auto start = std::chrono::steady_clock::now();
  const auto size = filter_.write_unpublished(path(), {.bytes_per_second = kRate}).value();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // What it may be ahead of its pace by.
  constexpr double kSlack = 0.025;
  EXPECT_GE(took.count() + kSlack, static_cast<double>(size) / kRate);
}

TEST_F(SnapshotPaceTest, TheLimitCanBeLiftedWhileItIsWritten) {
  std::atomic<bool> hurry{false};
  auto written = begin_slowly({.bytes_per_second = 1, .hurry = &hurry});
  EXPECT_EQ(written.wait_for(milliseconds(50)), std::future_status::timeout);
  hurry.store(true);
  const auto size = written.get();
  ASSERT_TRUE(size);
  EXPECT_EQ(contents().size(), *size);
  auto loaded = GrowingBloomFilter::load(path());
  ASSERT_TRUE(loaded);
  for (std::uint64_t n = 0; n < kKeys; ++n)
    ASSERT_TRUE(loaded->contains(test::nth_key(n)));
}

TEST_F(SnapshotPaceTest, AWriteCanBeGivenUp) {
  std::atomic<bool> give_up{false};
  auto written = begin_slowly({.bytes_per_second = 1, .give_up = &give_up});
  give_up.store(true);
  const auto size = written.get();
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code, ErrorCode::kClosed);
  EXPECT_FALSE(GrowingBloomFilter::load(path())) << "half a file is not a filter";
  EXPECT_FALSE(filter_.write_unpublished(path(), {.give_up = &give_up})) << "without a limit too";
}

// Bits that are set while the write waits are in the file or not; those set before are.
TEST_F(SnapshotPaceTest, KeysMayComeMeanwhile) {
  std::atomic<bool> hurry{false};
  auto written = begin_slowly({.bytes_per_second = 1, .hurry = &hurry});
  for (std::uint64_t n = kKeys; n < 2 * kKeys; ++n)  // the filter grows
    filter_.insert(test::nth_key(n));
  hurry.store(true);
  ASSERT_TRUE(written.get());
  auto loaded = GrowingBloomFilter::load(path());
  ASSERT_TRUE(loaded);
  for (std::uint64_t n = 0; n < kKeys; ++n)
    ASSERT_TRUE(loaded->contains(test::nth_key(n)));
}

}  // namespace
}  // namespace trawl
