#include "filter/exact/exact_keys.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"

#include "filter/exact/exact_keys_builder.h"
#include "tests/support/filter_keys.h"
#include "tests/support/small_disk.h"
#include "tests/support/snapshot_file.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::nth_key;
using test::some_keys;
using Keys = std::vector<Fingerprint>;

class ExactKeysTest : public ::testing::Test {
 protected:
  // A filter without the keys: the tests use the file of keys next to it.
  KeyedHash::Key save_filter(std::uint64_t capacity = 100) {
    const auto filter =
        BlockedBloomFilter::create({.capacity = capacity, .false_positive_rate = 0.01}).value();
    EXPECT_TRUE(filter.save(filter_));
    return filter.hash().key();
  }

  void save(const Keys& keys, std::uint64_t memory = 64 * 1024) {
    ExactKeysBuilder builder({filter_, save_filter(), memory});
    for (std::size_t done = 0; done < keys.size();) {
      const std::size_t part = std::min<std::size_t>(done % 1'999 + 1, keys.size() - done);
      ASSERT_TRUE(builder.add({keys.data() + done, part}));
      done += part;
    }
    ASSERT_TRUE(builder.finish());
    ASSERT_TRUE(builder.publish());
  }

  ExactKeys open() const {
    auto keys = ExactKeys::open_for(filter_);
    EXPECT_TRUE(keys) << keys.error().message;
    EXPECT_TRUE(keys->has_value());
    return std::move(**keys);
  }

  Result<void> open_and_verify() const {
    auto keys = ExactKeys::open_for(filter_);
    return keys ? (*keys)->verify() : tl::unexpected(keys.error());
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

  test::TemporaryDirectory directory_;
  std::string filter_ = directory_ / "some.filter";
  std::string keys_ = filter_ + ".keys";
};

void expect_has_just(const ExactKeys& exact, Keys keys) {
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  ASSERT_EQ(exact.size(), keys.size());
  EXPECT_TRUE(std::ranges::equal(exact.sorted(), keys));
  EXPECT_TRUE(exact.verify());
  for (const Fingerprint key : keys) {
    ASSERT_TRUE(exact.contains(key));
    for (const Fingerprint near :
         {Fingerprint{key.high, key.low + 1}, Fingerprint{key.high, key.low - 1},
          Fingerprint{key.high + 1, key.low}, Fingerprint{key.high - 1, key.low}}) {
      ASSERT_EQ(exact.contains(near), std::ranges::binary_search(keys, near));
    }
  }
}

TEST_F(ExactKeysTest, HasTheKeysSortedAndEachOnce) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 100u, 4'096u, 4'097u, 50'000u}) {
    SCOPED_TRACE(count);
    Keys keys = some_keys(count);
    keys.insert(keys.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count / 3));
    save(keys);
    const ExactKeys exact = open();
    expect_has_just(exact, keys);
    EXPECT_EQ(exact.file_bytes(), std::filesystem::file_size(keys_));
    EXPECT_FALSE(exact.contains(nth_key(1'000'000)));
    EXPECT_EQ(files(), 2u);  // nothing stays of the runs
  }
}

TEST_F(ExactKeysTest, FindsKeysThatNoHashWouldGive) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  Keys keys;
  for (std::uint64_t i = 0; i < 300; ++i) {
    for (const std::uint64_t high :
         {std::uint64_t{0}, i, kMost - i, kMost, std::uint64_t{1} << i % 64})
      keys.push_back({high, i * i});
  }
  keys.push_back({0, 0});
  keys.push_back({kMost, kMost});
  save(keys);
  expect_has_just(open(), keys);
}

TEST_F(ExactKeysTest, KeepsTrueHitsAlone) {
  const Keys in = some_keys(1'000);
  save(in);
  Keys asked = in;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    asked.push_back(nth_key(1'000'000 + i));
  const auto found = std::make_unique<bool[]>(asked.size());
  std::fill_n(found.get(), asked.size(), true);
  found[7] = false;  // not in the filter
  EXPECT_EQ(open().keep_true_hits(asked, {found.get(), asked.size()}), 999u);
  for (std::size_t i = 0; i < asked.size(); ++i)
    EXPECT_EQ(found[i], i < 1'000 && i != 7);
}

// As two commands leave it that are killed one after the other: the first when its filter was in
// place, the second when its keys were announced.
TEST_F(ExactKeysTest, TheFilterHasItsKeysWheneverItsMakersAreKilled) {
  const Keys before = some_keys(1'000), now = some_keys(1'001), then = some_keys(1'002);
  const auto has_just = [&](const Keys& keys) {
    SCOPED_TRACE(keys.size());
    expect_has_just(open(), keys);
  };
  save(before);
  const std::string coming = directory_ / "coming";
  for (const Keys& keys : {now, then}) {
    const auto filter =
        BlockedBloomFilter::create({.capacity = 100, .false_positive_rate = 0.01}).value();
    ASSERT_TRUE(filter.save(coming));
    ExactKeysBuilder builder({filter_, filter.hash().key()});
    ASSERT_TRUE(builder.add(keys));
    ASSERT_TRUE(builder.finish());
    has_just(keys.size() == now.size() ? before : now);
    ASSERT_TRUE(builder.announce(coming));
    has_just(keys.size() == now.size() ? before : now);
    std::filesystem::rename(coming, filter_);
    has_just(keys);
    // Its keys have not taken their place.
    EXPECT_TRUE(std::filesystem::exists(keys_ + ".new"));
  }
  std::filesystem::remove(keys_);
  has_just(then);
}

TEST_F(ExactKeysTest, OtherFilesKeysAreMergedIn) {
  const Keys all = some_keys(30'000);
  save({all.begin(), all.begin() + 20'000});
  const ExactKeys old = open();
  ExactKeysBuilder builder({filter_, save_filter(), 64 * 1024});
  builder.add_all_of(old);
  ASSERT_TRUE(builder.add(std::span(all).subspan(10'000)));
  ASSERT_TRUE(builder.finish());
  EXPECT_EQ(builder.keys(), 30'000u);
  ASSERT_TRUE(builder.publish());
  expect_has_just(open(), all);
  expect_has_just(old, {all.begin(), all.begin() + 20'000});  // replaced, not written over
}

TEST_F(ExactKeysTest, NoFileIsNoError) {
  save_filter();
  const auto keys = ExactKeys::open_for(filter_);
  ASSERT_TRUE(keys);
  EXPECT_FALSE(keys->has_value());
}

TEST_F(ExactKeysTest, AreFoundBesideWhatALinkLeadsTo) {
  save(some_keys(10));
  const std::string link = directory_ / "link.filter";
  std::filesystem::create_symlink(filter_, link);
  const auto keys = ExactKeys::open_for(link);
  ASSERT_TRUE(keys);
  ASSERT_TRUE(keys->has_value());
  EXPECT_EQ((*keys)->path(), keys_);
  EXPECT_TRUE((*keys)->contains(nth_key(3)));
}

TEST_F(ExactKeysTest, ThoseOfAnotherFilterAreRefused) {
  save(some_keys(100));
  save_filter();  // with another hash key
  const auto other = ExactKeys::open_for(filter_);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find(keys_), std::string::npos) << other.error().message;

  // The same hash key, but other bits.
  save(some_keys(100));
  auto filter = BlockedBloomFilter::load(filter_).value();
  filter.insert(nth_key(5));
  ASSERT_TRUE(filter.save(filter_));
  EXPECT_FALSE(ExactKeys::open_for(filter_));
}

TEST_F(ExactKeysTest, EachDamagedByteIsNoticed) {
  save(some_keys(50));
  ASSERT_TRUE(open_and_verify());
  const auto size = std::filesystem::file_size(keys_);
  for (std::uint64_t at = 0; at < size; ++at) {
    test::flip_byte(keys_, at, 1 + at % 255);
    EXPECT_FALSE(open_and_verify()) << "byte " << at;
    test::flip_byte(keys_, at, 1 + at % 255);
  }
  EXPECT_TRUE(open_and_verify());
}

TEST_F(ExactKeysTest, FilesOfAnotherLengthAreRefused) {
  save(some_keys(50));
  const std::string whole = *read_file(keys_, 1 << 20);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_contents(keys_, whole.substr(0, size));
    const auto opened = ExactKeys::open_for(filter_);
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt) << opened.error().message;
  }
  for (const std::size_t more : {1u, 15u, 16u}) {
    test::write_contents(keys_, whole + std::string(more, '\0'));
    EXPECT_FALSE(ExactKeys::open_for(filter_)) << more;
  }
}

TEST_F(ExactKeysTest, WhatIsGivenUpLeavesTheOldFile) {
  const Keys keys = some_keys(100);
  save(keys);
  {
    const ExactKeys old = open();
    ExactKeysBuilder builder({filter_, {}, 64 * 1024});
    ASSERT_TRUE(builder.add(some_keys(20'000)));
    EXPECT_EQ(files(), 2u);  // the runs have no names
    ASSERT_TRUE(builder.finish());
  }
  EXPECT_EQ(files(), 2u);
  expect_has_just(open(), keys);
}

TEST_F(ExactKeysTest, AFullDiskIsAnErrorThatLeavesNothing) {
  test::SmallDisk disk(1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a file system";
  for (const std::size_t count : {200'000u, 50'000u}) {  // in a run, and when they are merged
    ExactKeysBuilder builder({disk / "some.filter", {}, 64 * 1024});
    auto added = builder.add(some_keys(count));
    EXPECT_EQ(added.has_value(), count == 50'000u);
    if (added) added = builder.finish();
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::kNoSpace) << added.error().message;
  }
  EXPECT_EQ(disk.files(), 0u);
}

}  // namespace
}  // namespace trawl
