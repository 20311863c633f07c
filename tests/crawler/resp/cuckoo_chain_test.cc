#include "crawler/resp/cuckoo_chain.h"

#include <filesystem>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/filter_keys.h"
#include "tests/support/temporary_directory.h"

namespace trawl::resp {
namespace {

using test::nth_key;
constexpr std::uint64_t kMuch = std::uint64_t{1} << 40;

CuckooChain chain_of(const CuckooOptions& options) {
  auto chain = CuckooChain::create(options, kMuch);
  if (!chain) throw std::runtime_error(chain.error().message);
  return std::move(*chain);
}

TEST(CuckooChain, CopiesAreCountedHoweverMany) {
  auto chain = chain_of({.capacity = 1000, .hash = KeyedHash::from_seed(1)});
  const Fingerprint key = nth_key(1);
  for (std::uint64_t copies = 1; copies <= 100; ++copies) {
    ASSERT_EQ(chain.add(key, kMuch), CuckooChain::Added::kAdded);
    ASSERT_EQ(chain.count(key), copies);
  }
  EXPECT_EQ(chain.filters(), 1u) << "copies of one key make no filter grow";
  EXPECT_EQ(chain.keys(), 100u);
  for (std::uint64_t copies = 100; copies > 0; --copies) {
    ASSERT_TRUE(chain.contains(key));
    ASSERT_TRUE(chain.erase(key));
    ASSERT_EQ(chain.count(key), copies - 1);
  }
  EXPECT_FALSE(chain.contains(key));
  EXPECT_FALSE(chain.erase(key));
  EXPECT_EQ(chain.keys(), 0u);
}

TEST(CuckooChain, GrowsAndKeepsItsRate) {
  auto chain =
      chain_of({.capacity = 1000, .false_positive_rate = 0.01, .hash = KeyedHash::from_seed(1)});
  constexpr std::uint64_t kKeys = 50'000;
  for (std::uint64_t i = 0; i < kKeys; ++i)
    ASSERT_EQ(chain.add(nth_key(i), kMuch), CuckooChain::Added::kAdded);
  EXPECT_GE(chain.filters(), 5u);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(chain.contains(nth_key(i)));
    wrong += chain.contains(nth_key(kKeys + i)) ? 1 : 0;
  }
  EXPECT_LE(wrong, kKeys / 100);
}

TEST(CuckooChain, WhatIsErasedMakesRoomInsteadOfGrowth) {
  // At a rate at which no erase takes another key's tag.
  auto chain =
      chain_of({.capacity = 1000, .false_positive_rate = 1e-6, .hash = KeyedHash::from_seed(1)});
  std::uint64_t next = 0;
  for (; next < 2500; ++next)
    ASSERT_EQ(chain.add(nth_key(next), kMuch), CuckooChain::Added::kAdded);
  const std::size_t filters = chain.filters();
  // Always the 2,500 newest keys.
  for (; next < 30'000; ++next) {
    ASSERT_TRUE(chain.erase(nth_key(next - 2500)));
    ASSERT_EQ(chain.add(nth_key(next), kMuch), CuckooChain::Added::kAdded);
  }
  EXPECT_LE(chain.filters(), filters + 1);
}

TEST(CuckooChain, OneThatMayNotGrowIsFull) {
  auto chain = chain_of({.capacity = 1000, .grows = false, .hash = KeyedHash::from_seed(1)});
  std::uint64_t keys = 0;
  while (chain.add(nth_key(keys), kMuch) == CuckooChain::Added::kAdded)
    ASSERT_LT(++keys, 2000u);
  EXPECT_GE(keys, 1000u);
  EXPECT_EQ(chain.filters(), 1u);
  for (std::uint64_t i = 0; i < keys; ++i)
    ASSERT_TRUE(chain.contains(nth_key(i)));
  EXPECT_EQ(chain.add(nth_key(keys), kMuch, true), CuckooChain::Added::kAdded)
      << "a key of the log is never refused";
}

TEST(CuckooChain, MemoryIsALimit) {
  auto chain = chain_of({.capacity = 1000, .hash = KeyedHash::from_seed(1)});
  const std::uint64_t bytes = chain.memory_bytes();
  auto added = CuckooChain::Added::kAdded;
  for (std::uint64_t i = 0; i < 5000 && added == CuckooChain::Added::kAdded; ++i)
    added = chain.add(nth_key(i), bytes);
  EXPECT_EQ(added, CuckooChain::Added::kNoMemory);
  EXPECT_EQ(chain.memory_bytes(), bytes);
  EXPECT_FALSE(CuckooChain::create({.capacity = 1'000'000}, 1000));
}

// Copies of a few keys can take all slots of another one, though the filter is far from full.
TEST(CuckooChain, AKeyWhoseSlotsOthersTookIsThere) {
  std::uint64_t without_slot = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto chain = chain_of({.capacity = 10, .hash = KeyedHash::from_seed(seed)});
    for (std::uint64_t i = 0; i < 60; ++i)
      ASSERT_EQ(chain.add(nth_key(i % 6), kMuch), CuckooChain::Added::kAdded);
    for (std::uint64_t key = 10; key < 16; ++key) {
      const bool known = chain.contains(nth_key(key));
      ASSERT_EQ(chain.add(nth_key(key), kMuch), CuckooChain::Added::kAdded);
      ASSERT_TRUE(chain.contains(nth_key(key)));
      ASSERT_GE(chain.count(nth_key(key)), 1u);
      without_slot += chain.crowded().contains(nth_key(key)) && !known ? 1 : 0;
    }
  }
  EXPECT_GT(without_slot, 10u) << "the test tests nothing";
}

TEST(CuckooChain, CopiesWithoutASlotTakeMemory) {
  auto chain = chain_of({.capacity = 10'000, .hash = KeyedHash::from_seed(1)});
  const std::uint64_t empty = chain.memory_bytes();
  const std::uint64_t most = empty + 1000;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    for (int copy = 0; copy < 10; ++copy) {
      const auto added = chain.add(nth_key(i), most);
      refused += added == CuckooChain::Added::kNoMemory ? 1 : 0;
    }
  }
  EXPECT_GT(chain.crowded().size(), 1u);
  EXPECT_GT(chain.memory_bytes(), empty);
  EXPECT_LE(chain.memory_bytes(), most);
  EXPECT_GT(refused, 50u);
  for (const auto& [key, copies] : CuckooChain::Crowded(chain.crowded()))
    for (std::uint64_t i = 0; i < copies; ++i)
      ASSERT_TRUE(chain.erase(key));
  EXPECT_EQ(chain.memory_bytes(), empty);
}

// Against a map, with keys few enough that none is a false positive of another.
TEST(CuckooChain, AnswersAsAMapDoesAndComesBackFromFiles) {
  const CuckooOptions options{
      .capacity = 64, .false_positive_rate = 1e-6, .hash = KeyedHash::from_seed(3)};
  auto chain = chain_of(options);
  std::map<std::uint64_t, std::uint64_t> copies;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t key = random() % 150;
    if (random() % 3 == 0) {
      const bool there = copies[key] > 0;
      ASSERT_EQ(chain.erase(nth_key(key)), there);
      copies[key] -= there ? 1 : 0;
    } else if (copies[key] < 40) {
      ASSERT_EQ(chain.add(nth_key(key), kMuch), CuckooChain::Added::kAdded);
      ++copies[key];
    }
  }
  test::TemporaryDirectory directory;
  const auto copy = chain.copy();
  ASSERT_TRUE(copy);
  std::vector<std::string> files;
  for (std::size_t i = 0; i < copy->filters(); ++i)
    files.push_back((directory.path() / std::to_string(i)).string());
  ASSERT_TRUE(copy->save(files));
  const auto loaded = CuckooChain::load(options, files, copy->crowded());
  ASSERT_TRUE(loaded);
  for (const auto& [key, count] : copies) {
    ASSERT_EQ(chain.count(nth_key(key)), count) << key;
    ASSERT_EQ(loaded->count(nth_key(key)), count) << key;
  }
  EXPECT_EQ(loaded->keys(), chain.keys());
}

}  // namespace
}  // namespace trawl::resp
