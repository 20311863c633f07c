#include "crawler/resp/filter_store.h"

#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "trawl/blocked_bloom_filter.h"

#include "base/file_io.h"
#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

using test::nth_key;

class FilterStoreTest : public testing::Test {
 protected:
  void open(std::uint64_t max_memory = std::uint64_t{1} << 30) {
    store_.reset();
    auto store = FilterStore::open(
        {.directory = directory_.path() / "filters", .max_memory = max_memory, .max_filters = 10});
    if (!store) throw std::runtime_error(store.error().message);
    store_ = std::move(*store);
  }
  ServedFilter& create(const std::string& name, ServedKind kind, std::uint64_t capacity = 1000) {
    auto filter = store_->create({.name = name, .kind = kind, .capacity = capacity, .rate = 1e-6});
    if (!filter) throw std::runtime_error(filter.error().message);
    return **filter;
  }
  // Adds keys from `first` on; returns how many were new.
  std::uint64_t add(ServedFilter& filter, std::uint64_t first, std::uint64_t count) {
    std::uint64_t fresh = 0;
    for (std::uint64_t i = first; i < first + count; ++i) {
      const Fingerprint key = nth_key(i);
      bool added = false;
      const auto progress = store_->add(filter, {&key, 1}, {&added, 1});
      EXPECT_EQ(progress.done, 1u);
      fresh += added ? 1 : 0;
    }
    return fresh;
  }
  void commit() { ASSERT_TRUE(store_->log().commit()); }
  void checkpoint() {
    const auto checkpoint = store_->begin_checkpoint();
    ASSERT_TRUE(checkpoint);
    ASSERT_TRUE(store_->finish_checkpoint(*checkpoint, checkpoint->write()));
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "filters"))
      names.insert(entry.path().filename().string());
    return names;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<FilterStore> store_;
};

// With little memory the layers of a filter are smaller than in a replay. A key that was a false
// positive, and so was answered as known, must be known afterwards, too.
TEST_F(FilterStoreTest, WhatWasAnsweredAsKnownIsKnownAfterAReplay) {
  open(150'000);
  auto& filter =
      **store_->create({.name = "f", .kind = ServedKind::kGrowing, .capacity = 100, .rate = 0.05});
  std::vector<Fingerprint> answered;
  std::vector<Fingerprint> keys(1000);
  std::array<bool, 1000> fresh{};
  for (std::uint64_t next = 0; next < 2'000'000; next += keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = nth_key(next + i);
    const auto progress = store_->add(filter, keys, fresh);
    answered.insert(answered.end(), keys.begin(),
                    keys.begin() + static_cast<std::ptrdiff_t>(progress.done));
    if (progress.stop != Stop::kNone) break;
  }
  const std::uint64_t added = filter.inserted();
  ASSERT_GT(answered.size(), added + 1000) << "there were false positives";
  const std::uint64_t memory = store_->memory_bytes();
  commit();
  open(150'000);
  EXPECT_EQ(store_->memory_bytes(), memory) << "it has grown as before";
  open();
  const ServedFilter& again = *store_->find("f");
  std::uint64_t lost = 0;
  for (const Fingerprint key : answered)
    lost += again.contains(key) ? 0 : 1;
  EXPECT_EQ(lost, 0u);
  EXPECT_GE(again.inserted(), added);
}

TEST_F(FilterStoreTest, CopiesWithoutASlotAreThereWhenFilesAreReadInPlace) {
  open();
  auto& cuckoo = create("c", ServedKind::kCuckoo, 10);
  for (std::uint64_t i = 0; i < 60; ++i)
    ASSERT_EQ(store_->add_copy(cuckoo, nth_key(i % 6)), CuckooChain::Added::kAdded);
  for (std::uint64_t i = 10; i < 20; ++i)
    ASSERT_EQ(store_->add_copy(cuckoo, nth_key(i)), CuckooChain::Added::kAdded);
  ASSERT_FALSE(cuckoo.cuckoo()->crowded().empty());
  checkpoint();
  open(1);
  const ServedFilter& mapped = *store_->find("c");
  ASSERT_TRUE(mapped.is_mapped());
  for (std::uint64_t i = 10; i < 20; ++i)
    EXPECT_TRUE(mapped.contains(nth_key(i)));
}

// Files that somebody swapped answer with another key of the hash, or are of another kind.
TEST_F(FilterStoreTest, AFileOfAnotherFilterIsRefused) {
  open();
  add(create("a", ServedKind::kGrowing), 0, 10);
  add(create("b", ServedKind::kGrowing), 0, 10);
  add(create("c", ServedKind::kFixed), 0, 10);
  checkpoint();
  store_.reset();
  const auto directory = directory_.path() / "filters";
  const auto swap = [&](std::uint64_t one, std::uint64_t other) {
    const auto aside = directory / "aside";
    std::filesystem::rename(catalog_filter_path(directory, one), aside);
    std::filesystem::rename(catalog_filter_path(directory, other),
                            catalog_filter_path(directory, one));
    std::filesystem::rename(aside, catalog_filter_path(directory, other));
  };
  for (const std::uint64_t other : {2, 3}) {
    swap(1, other);
    for (const std::uint64_t memory : {std::uint64_t{1}, std::uint64_t{1} << 30}) {
      const auto opened = FilterStore::open({.directory = directory, .max_memory = memory});
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
      EXPECT_NE(opened.error().message.find("filter-000001.ckpt is not of the filter a"),
                std::string::npos)
          << opened.error().message;
    }
    swap(1, other);
  }
  open();
  EXPECT_EQ(store_->size(), 3u);
}

TEST_F(FilterStoreTest, ACatalogWithoutItsFilesRemovesNone) {
  open();
  add(create("a", ServedKind::kGrowing), 0, 10);
  checkpoint();
  const auto directory = directory_.path() / "filters";
  const auto old = read_file((directory / "CATALOG").string(), 1 << 20).value();
  add(*store_->find("a"), 10, 10);
  checkpoint();
  store_.reset();
  const auto newer = read_file((directory / "CATALOG").string(), 1 << 20).value();
  ASSERT_TRUE(replace_file((directory / "CATALOG").string(), old));
  ASSERT_FALSE(FilterStore::open({.directory = directory}));
  ASSERT_TRUE(replace_file((directory / "CATALOG").string(), newer));
  open();
  EXPECT_EQ(store_->find("a")->inserted(), 20u);
}

TEST_F(FilterStoreTest, WhatIsInTheLogComesBack) {
  open();
  auto& growing = create("growing", ServedKind::kGrowing, 100);
  add(growing, 0, 5000);
  auto& fixed = create("fixed", ServedKind::kFixed);
  add(fixed, 0, 500);
  auto& cuckoo = create("cuckoo", ServedKind::kCuckoo);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  EXPECT_TRUE(store_->erase(cuckoo, nth_key(1)));
  store_->drop(create("gone", ServedKind::kGrowing));
  const std::uint64_t inserted = growing.inserted();
  EXPECT_GE(inserted, 4999u);
  commit();
  for (int i = 0; i < 2; ++i) {
    open();
    ASSERT_EQ(store_->size(), 3u);
    EXPECT_EQ(store_->find("gone"), nullptr);
    EXPECT_EQ(store_->find("growing")->inserted(), inserted);
    for (std::uint64_t key = 0; key < 5000; ++key)
      ASSERT_TRUE(store_->find("growing")->contains(nth_key(key)));
    EXPECT_EQ(store_->find("fixed")->inserted(), 500u);
    EXPECT_EQ(store_->find("cuckoo")->cuckoo()->count(nth_key(1)), 2u);
    EXPECT_EQ(store_->find("cuckoo")->erased(), 1u);
  }
}

TEST_F(FilterStoreTest, ACheckpointReplacesTheLog) {
  open();
  auto& filter = create("a", ServedKind::kGrowing, 100);
  add(filter, 0, 1000);
  auto& cuckoo = create("c", ServedKind::kCuckoo);
  EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  commit();
  checkpoint();
  EXPECT_EQ(files(),
            (std::set<std::string>{"CATALOG", "LOCK", "filter-000001.ckpt", "filter-000002.ckpt"}));
  EXPECT_FALSE(store_->has_changes());
  // Only what changed is written again.
  EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  checkpoint();
  EXPECT_EQ(files(),
            (std::set<std::string>{"CATALOG", "LOCK", "filter-000001.ckpt", "filter-000003.ckpt"}));
  open();
  EXPECT_EQ(store_->opening().changes_replayed, 0u);
  EXPECT_GE(store_->find("a")->inserted(), 999u);
  EXPECT_EQ(store_->find("c")->cuckoo()->count(nth_key(1)), 2u);
}

// Changes while a checkpoint is written are in the log, once, whenever they are committed.
TEST_F(FilterStoreTest, ChangesDuringACheckpointCountOnce) {
  open();
  auto& filter = create("a", ServedKind::kGrowing, 100);
  auto& cuckoo = create("c", ServedKind::kCuckoo);
  add(filter, 0, 100);
  EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  const auto checkpoint = store_->begin_checkpoint();
  ASSERT_TRUE(checkpoint);
  add(filter, 100, 100);
  EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  const auto written = checkpoint->write();
  EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  add(create("new", ServedKind::kGrowing), 0, 10);
  ASSERT_TRUE(store_->finish_checkpoint(*checkpoint, written));
  commit();
  open();
  EXPECT_EQ(store_->find("c")->cuckoo()->count(nth_key(1)), 3u);
  EXPECT_EQ(store_->find("a")->inserted(), 200u);
  EXPECT_EQ(store_->find("new")->inserted(), 10u);
}

// One that had not changed keeps its file, whose state the catalog must have.
TEST_F(FilterStoreTest, ChangesDuringACheckpointOfOthersCountOnce) {
  open();
  auto& filter = create("a", ServedKind::kGrowing, 100);
  auto& cuckoo = create("c", ServedKind::kCuckoo);
  add(filter, 0, 50);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  checkpoint();
  add(create("other", ServedKind::kGrowing), 0, 10);
  const auto checkpoint = store_->begin_checkpoint();
  ASSERT_TRUE(checkpoint);
  add(filter, 50, 50);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(store_->add_copy(cuckoo, nth_key(1)), CuckooChain::Added::kAdded);
  EXPECT_TRUE(store_->erase(cuckoo, nth_key(1)));
  ASSERT_TRUE(store_->finish_checkpoint(*checkpoint, checkpoint->write()));
  commit();
  for (int i = 0; i < 2; ++i) {
    open();
    EXPECT_EQ(store_->find("a")->inserted(), 100u);
    EXPECT_EQ(store_->find("c")->inserted(), 24u);
    EXPECT_EQ(store_->find("c")->erased(), 1u);
    EXPECT_EQ(store_->find("c")->cuckoo()->count(nth_key(1)), 24u);
  }
}

TEST_F(FilterStoreTest, AFilterDroppedDuringACheckpointStaysGone) {
  open();
  auto& filter = create("a", ServedKind::kGrowing, 100);
  add(filter, 0, 100);
  const auto checkpoint = store_->begin_checkpoint();
  ASSERT_TRUE(checkpoint);
  store_->drop(filter);
  add(create("a", ServedKind::kGrowing), 500, 1);
  ASSERT_TRUE(store_->finish_checkpoint(*checkpoint, checkpoint->write()));
  commit();
  EXPECT_EQ(files().count("filter-000001.ckpt"), 0u);
  open();
  EXPECT_EQ(store_->find("a")->inserted(), 1u);
}

TEST_F(FilterStoreTest, AFailedCheckpointLosesNothing) {
  open();
  add(create("a", ServedKind::kGrowing, 100), 0, 100);
  commit();
  const auto checkpoint = store_->begin_checkpoint();
  ASSERT_TRUE(checkpoint);
  ASSERT_TRUE(checkpoint->write());
  EXPECT_FALSE(
      store_->finish_checkpoint(*checkpoint, error(ErrorCode::kNoSpace, "the disk is full")));
  EXPECT_TRUE(store_->has_changes());
  EXPECT_EQ(files(), (std::set<std::string>{"CATALOG", "LOCK", "log-000001"}));
  open();
  EXPECT_EQ(store_->find("a")->inserted(), 100u);
}

TEST_F(FilterStoreTest, MemoryIsALimitAndNothingIsLost) {
  open(100'000);
  auto& filter = create("a", ServedKind::kGrowing, 1000);
  std::uint64_t added = 0;
  for (;; ++added) {
    const Fingerprint key = nth_key(added);
    bool fresh = false;
    const auto progress = store_->add(filter, {&key, 1}, {&fresh, 1});
    if (progress.stop == Stop::kNone) continue;
    EXPECT_EQ(progress.stop, Stop::kNoMemory);
    break;
  }
  EXPECT_GT(added, 5000u);
  EXPECT_LE(store_->memory_bytes(), 100'000u);
  for (std::uint64_t i = 0; i < added; ++i) {
    const Fingerprint key = nth_key(i);
    bool fresh = true;
    EXPECT_EQ(store_->add(filter, {&key, 1}, {&fresh, 1}).stop, Stop::kNone);
    ASSERT_FALSE(fresh) << "known keys are answered";
  }
  EXPECT_FALSE(store_->create({.name = "b", .capacity = 1'000'000, .rate = 1e-6}));
}

TEST_F(FilterStoreTest, WhatDoesNotFitIsReadInPlace) {
  open();
  add(create("big", ServedKind::kGrowing, 50'000), 0, 1000);
  add(create("small", ServedKind::kGrowing, 100), 0, 10);
  checkpoint();
  open(100'000);
  ServedFilter& big = *store_->find("big");
  EXPECT_TRUE(big.is_mapped());
  EXPECT_FALSE(store_->find("small")->is_mapped());
  std::array<Fingerprint, 2> keys{nth_key(5), nth_key(5000)};
  std::array<bool, 2> found{};
  big.contains(keys, found);
  EXPECT_TRUE(found[0]);
  EXPECT_FALSE(found[1]);
  // A checkpoint keeps it.
  add(*store_->find("small"), 10, 1);
  checkpoint();
  open();
  EXPECT_FALSE(store_->find("big")->is_mapped());
  EXPECT_EQ(store_->find("big")->inserted(), 1000u);
}

TEST_F(FilterStoreTest, ChangesForAFilterThatDoesNotFitAreNotDropped) {
  open();
  auto& big = create("big", ServedKind::kGrowing, 50'000);
  add(big, 0, 10);
  checkpoint();
  add(big, 10, 10);
  commit();
  EXPECT_THROW(open(100'000), std::runtime_error);
  open();
  EXPECT_EQ(store_->find("big")->inserted(), 20u);
}

TEST_F(FilterStoreTest, FilesInTheDirectoryAreServed) {
  open();
  add(create("mine", ServedKind::kGrowing), 0, 1);
  commit();
  auto file = BlockedBloomFilter::create({.capacity = 1000}).value();
  const Fingerprint key = file.hash()("http://example.com/");
  file.insert(key);
  const auto inside = directory_.path() / "filters";
  ASSERT_TRUE(file.save((inside / "theirs.filter").string()));
  ASSERT_TRUE(file.save((inside / "mine.filter").string()));
  ASSERT_TRUE(replace_file((inside / "bad.filter").string(), "nonsense"));
  open();
  ASSERT_EQ(store_->size(), 2u);
  const ServedFilter& theirs = *store_->find("theirs");
  EXPECT_TRUE(theirs.is_mapped());
  EXPECT_TRUE(store_->is_file(theirs));
  EXPECT_TRUE(theirs.contains(theirs.hash()("http://example.com/")));
  EXPECT_FALSE(store_->find("mine")->is_mapped());
  EXPECT_EQ(store_->opening().warnings.size(), 2u);
}

TEST_F(FilterStoreTest, DamageAndASecondServerAreErrors) {
  open();
  add(create("a", ServedKind::kGrowing), 0, 1);
  const auto second = FilterStore::open({.directory = directory_.path() / "filters"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_NE(second.error().message.find(std::to_string(::getpid())), std::string::npos)
      << second.error().message;
  checkpoint();
  const auto path = (directory_.path() / "filters" / "CATALOG").string();
  const std::string whole = read_file(path, 1 << 20).value();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    ASSERT_TRUE(replace_file(path, damaged));
    EXPECT_THROW(open(), std::runtime_error) << at;
  }
  std::filesystem::remove(path);
  ASSERT_TRUE(replace_file(path, whole));
  open();
  EXPECT_EQ(store_->size(), 1u);
}

TEST_F(FilterStoreTest, AFixedFilterIsFullAtItsCapacity) {
  open();
  auto& filter = create("fixed", ServedKind::kFixed, 100);
  EXPECT_EQ(add(filter, 0, 100), 100u);
  std::array<Fingerprint, 3> keys{nth_key(5), nth_key(1000), nth_key(6)};
  std::array<bool, 3> fresh{};
  const auto progress = store_->add(filter, keys, fresh);
  EXPECT_EQ(progress.done, 1u);
  EXPECT_EQ(progress.stop, Stop::kFull);
}

TEST_F(FilterStoreTest, TheNumberOfFiltersIsLimited) {
  open();
  for (int i = 0; i < 10; ++i)
    create(std::to_string(i), ServedKind::kGrowing);
  EXPECT_EQ(store_->create({.name = "more"}).error().code, ErrorCode::kUnavailable);
  store_->drop(*store_->find("3"));
  EXPECT_TRUE(store_->create({.name = "more"}));
}

}  // namespace
}  // namespace trawl::resp
