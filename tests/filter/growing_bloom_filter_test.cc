#include "trawl/growing_bloom_filter.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/mix.h"
#include "base/take_pages.h"
#include "filter/growing/growing_bloom_filter_state.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"
#include "tests/support/filter_keys.h"
#include "tests/support/slowdown.h"

namespace trawl {
namespace {

using test::nth_key;
using test::some_keys;

GrowingBloomFilter make_growing(const GrowingBloomFilter::Options& options) {
  auto filter = GrowingBloomFilter::create(options);
  if (!filter) throw std::runtime_error(filter.error().message);
  return std::move(*filter);
}

// A large array of bools, which std::vector<bool> is not.
struct Answers {
  explicit Answers(std::size_t n) : array(std::make_unique<bool[]>(n)), size(n) {}
  std::span<bool> all() { return {array.get(), size}; }
  std::unique_ptr<bool[]> array;
  std::size_t size;
};

// The keys that so many layers are planned for: each 3.75 times as many as the one before.
std::uint64_t room_of(unsigned layers, std::uint64_t capacity) {
  std::uint64_t room = 0;
  for (; layers > 0; --layers) {
    room += capacity;
    capacity = (capacity * 15 + 3) / 4;
  }
  return room;
}

// How many layers it takes for `keys` keys.
unsigned layers_for(std::uint64_t keys, std::uint64_t capacity) {
  unsigned layers = 1;
  while (room_of(layers, capacity) < keys)
    ++layers;
  return layers;
}

class GrowingBloomFilterFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        std::filesystem::path(testing::TempDir()) / (std::string("growing_") + test->name() + "_" +
                                                     std::to_string(KeyedHash::random()("").low));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name = "filter") const { return directory_ / name; }
  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write_bytes(const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path directory_;
};

TEST(GrowingBloomFilter, InsertTellsNewOnceAndContainsFindsIt) {
  auto filter = make_growing({.capacity = 1000});
  const Fingerprint key = nth_key(0);
  EXPECT_FALSE(filter.contains(key));
  EXPECT_TRUE(filter.insert(key));
  EXPECT_FALSE(filter.insert(key));
  EXPECT_TRUE(filter.contains(key));
  EXPECT_EQ(filter.stats().inserted, 1u);
  EXPECT_EQ(filter.stats().layers, 1u);
}

TEST(GrowingBloomFilter, A2_NoInsertedKeyIsEverMissedHoweverFarItGrows) {
  const auto keys = some_keys(20'000);
  auto filter = make_growing({.capacity = 1, .false_positive_rate = 1e-3});
  for (const auto key : keys) {
    filter.insert(key);
    ASSERT_TRUE(filter.contains(key));
    ASSERT_FALSE(filter.insert(key));
  }
  Answers found(keys.size());
  EXPECT_EQ(filter.contains_batch(keys, found.all()), keys.size());
  EXPECT_GE(filter.stats().layers, 8u);
}

TEST(GrowingBloomFilter, BatchesAnswerAsSingleCallsDo) {
  // The same keys in the same order, so that both make the same errors, at every moment.
  auto single = make_growing({.capacity = 500, .false_positive_rate = 1e-2});
  auto batched = make_growing({.capacity = 500, .false_positive_rate = 1e-2});
  const auto keys = some_keys(40'000);
  Answers answers(10'000);
  std::size_t first = 0;
  for (const std::size_t size : {0u, 1u, 2u, 17u, 480u, 511u, 512u, 513u, 1024u, 1025u, 9'000u}) {
    SCOPED_TRACE(size);
    // Half of them for the second time.
    const std::size_t start = first - std::min(first, size / 2);
    const auto part = std::span(keys).subspan(start, size);
    const auto admitted = answers.all().first(size);
    const std::size_t fresh = batched.insert_batch(part, admitted);
    EXPECT_EQ(std::count(admitted.begin(), admitted.end(), true), static_cast<long>(fresh));
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(single.insert(part[i]), admitted[i]) << i;
    EXPECT_EQ(batched.contains_batch(part, admitted), size);
    EXPECT_TRUE(std::all_of(admitted.begin(), admitted.end(), [](bool found) { return found; }));
    first = start + size;
  }
  EXPECT_EQ(single.stats().inserted, batched.stats().inserted);
  EXPECT_EQ(single.stats().layers, batched.stats().layers);
  EXPECT_GT(batched.stats().layers, 2u);
  // Keys that are not there: found where the other says so.
  const auto others = some_keys(3000, 2);
  const auto found = answers.all().first(others.size());
  batched.contains_batch(others, found);
  for (std::size_t i = 0; i < others.size(); ++i)
    ASSERT_EQ(found[i], single.contains(others[i]));
}

TEST(GrowingBloomFilter, OfDuplicatesInOneBatchTheFirstIsNew) {
  for (const std::size_t before : {0u, 3000u}) {
    auto filter = make_growing({.capacity = 100, .false_positive_rate = 1e-9});
    Answers answers(8000);
    filter.insert_batch(some_keys(before, 7), answers.all().first(before));
    std::vector<Fingerprint> keys;
    for (std::size_t i = 0; i < 2000; ++i) {
      for (const std::size_t n : {i, i, i / 2, std::size_t{0}})
        keys.push_back(nth_key(n));
    }
    EXPECT_EQ(filter.insert_batch(keys, answers.all()), 2000u);
    for (std::size_t i = 0; i < 2000; ++i) {
      EXPECT_TRUE(answers.array[4 * i]);
      for (const std::size_t again : {1, 2, 3})
        EXPECT_FALSE(answers.array[4 * i + again]);
    }
  }
}

// What was measured on several filters of the same size: the first layers have so few blocks that
// a single filter's rate is a matter of luck: the deviation is that of what the filters show.
struct Measured {
  double found = 0, found_squared = 0, expected = 0;  // of the probes
  double lost = 0, expected_lost = 0;

  double three_sigma_of_found(double filters) const {
    const double mean = found / filters;
    const double variance = (found_squared / filters - mean * mean) * filters / (filters - 1);
    return 3 * std::sqrt(std::max(variance * filters, found));
  }
};

// Sanitizers take their time, and the test starts no thread.
#ifdef __SANITIZE_THREAD__
const std::vector<double> kBudgets = {1e-2};
#elif defined(__SANITIZE_ADDRESS__)
const std::vector<double> kBudgets = {1e-2, 1e-4};
#else
const std::vector<double> kBudgets = {1e-2, 1e-3, 1e-4};
#endif

TEST(GrowingBloomFilter, TheBudgetHoldsHoweverFarItGrows) {
  constexpr std::uint64_t kCapacity = 1000;
  constexpr std::uint64_t kProbes = 1 << 18;
  const std::vector<std::uint64_t> sizes = {kCapacity, room_of(3, kCapacity),
                                            room_of(5, kCapacity)};
  const std::vector<std::uint64_t> filters_of = {30, 30, 12};  // of each size
  constexpr std::size_t kBatch = 1 << 14;
  Answers answers(kBatch);
  std::vector<Fingerprint> keys(kBatch);
  for (const double budget : kBudgets) {
    SCOPED_TRACE(budget);
    std::vector<Measured> measured(sizes.size());
    for (std::uint64_t seed = 1; seed <= filters_of[0]; ++seed) {
      auto filter = make_growing({.capacity = kCapacity, .false_positive_rate = budget});
      std::uint64_t offered = 0;
      for (std::size_t s = 0; s < sizes.size() && seed <= filters_of[s]; ++s) {
        while (filter.stats().inserted < sizes[s]) {
          const std::size_t n = std::min<std::size_t>(sizes[s] - filter.stats().inserted, kBatch);
          for (std::size_t i = 0; i < n; ++i)
            keys[i] = nth_key(offered++, seed);
          filter.insert_batch(std::span(keys).first(n), answers.all().first(n));
        }
        const auto stats = filter.stats();
        EXPECT_EQ(stats.layers, layers_for(sizes[s], kCapacity));
        EXPECT_FALSE(stats.overfull());
        EXPECT_LE(stats.current_rate, budget);
        double found = 0;
        for (std::uint64_t done = 0; done < kProbes; done += kBatch) {
          for (std::size_t i = 0; i < kBatch; ++i)
            keys[i] = nth_key(done + i, 1000 + seed);
          found += static_cast<double>(filter.contains_batch(keys, answers.all()));
        }
        measured[s].found += found;
        measured[s].found_squared += found * found;
        measured[s].expected += stats.current_rate * kProbes;
        measured[s].lost += static_cast<double>(offered - stats.inserted);
        measured[s].expected_lost += stats.expected_false_positives;
      }
    }
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      SCOPED_TRACE(sizes[s]);
      const auto [found, found_squared, expected, lost, expected_lost] = measured[s];
      const auto filters = static_cast<double>(filters_of[s]);
      const double deviation = measured[s].three_sigma_of_found(filters);
      EXPECT_NEAR(found, expected, std::max(0.1 * expected, deviation));
      EXPECT_LE(found, budget * kProbes * filters + deviation);
      // A3: the estimate of the new keys that were called seen on the way.
      EXPECT_NEAR(lost, expected_lost, std::max(0.1 * lost, 3 * std::sqrt(expected_lost) + 1));
    }
  }
}

TEST(GrowingBloomFilter, AFilterThatIsFullDoesNotGrowForKeysThatItHas) {
  auto filter = make_growing({.capacity = 3000, .false_positive_rate = 1e-9});
  const auto keys = some_keys(3001);
  Answers answers(3000);
  const auto full = std::span(keys).first(3000);
  EXPECT_EQ(filter.insert_batch(full, answers.all()), 3000u);
  EXPECT_EQ(filter.insert_batch(full, answers.all()), 0u);
  for (const auto key : full)
    EXPECT_FALSE(filter.insert(key));
  EXPECT_EQ(filter.stats().layers, 1u);
  EXPECT_TRUE(filter.insert(keys.back()));
  EXPECT_EQ(filter.stats().layers, 2u);
  EXPECT_EQ(filter.stats().capacity, 3000u + 11'250u);
}

// Four threads insert the same keys, each its own way: singly or in batches.
struct Contest {
  static constexpr std::size_t kThreads = 4;
  explicit Contest(std::size_t n) : keys(some_keys(n)), winners(n) {}

  void run(GrowingBloomFilter& filter) {
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        constexpr std::size_t kBatches[kThreads] = {1, 7, 100, 600};
        start.arrive_and_wait();
        Answers admitted(kBatches[t]);
        for (std::size_t i = 0; i < keys.size();) {
          const std::size_t n = std::min(kBatches[t], keys.size() - i);
          if (n == 1) {
            admitted.array[0] = filter.insert(keys[i]);
          } else {
            filter.insert_batch(std::span(keys).subspan(i, n), admitted.all().first(n));
          }
          for (std::size_t j = 0; j < n; ++j)
            winners[i + j].fetch_add(admitted.array[j] ? 1 : 0, std::memory_order_relaxed);
          i += n;
        }
      });
    }
    for (auto& thread : threads)
      thread.join();
  }

  std::vector<Fingerprint> keys;
  std::vector<std::atomic<int>> winners;
};

TEST_F(GrowingBloomFilterFile, A1_OfConcurrentInsertsAcrossManySwitchesExactlyOneIsFirst) {
  for (const std::uint64_t capacity : {64u, 640u}) {
    SCOPED_TRACE(capacity);
    // At 1e-9 none of so few keys is a false positive, so that "at most" is "exactly".
    auto filter = make_growing({.capacity = capacity, .false_positive_rate = 1e-9});
    constexpr std::size_t kKeys = 100'000 / test::kSlowdown;
    Contest contest(kKeys);
    contest.run(filter);
    for (std::size_t i = 0; i < kKeys; ++i)
      ASSERT_EQ(contest.winners[i].load(), 1) << i;
    Answers found(kKeys);
    EXPECT_EQ(filter.contains_batch(contest.keys, found.all()), kKeys);
    const auto stats = filter.stats();
    EXPECT_EQ(stats.inserted, kKeys);
    EXPECT_GE(stats.layers, layers_for(kKeys, capacity));
    EXPECT_LE(stats.layers, layers_for(kKeys, capacity) + 1);
    EXPECT_LE(stats.current_rate, 1e-9);
    // No layer has more than it is sized for.
    ASSERT_TRUE(filter.save(path()));
    const auto saved = SnapshotReader::open(path(), FilterKind::kGrowing);
    ASSERT_TRUE(saved);
    for (const auto& layer : saved->header().sections)
      EXPECT_LE(layer.inserted, layer.capacity + layer.capacity / 64);
  }
}

TEST(GrowingBloomFilter, A1_InACrowdedFilterAtMostOneIsFirst) {
  auto filter = make_growing({.capacity = 50, .false_positive_rate = 0.1});
  Contest contest(30'000);
  contest.run(filter);
  std::uint64_t admitted = 0;
  for (std::size_t i = 0; i < contest.keys.size(); ++i) {
    ASSERT_LE(contest.winners[i].load(), 1) << i;
    admitted += static_cast<std::uint64_t>(contest.winners[i].load());
    ASSERT_TRUE(filter.contains(contest.keys[i]));
  }
  EXPECT_EQ(filter.stats().inserted, admitted);
}

TEST(GrowingBloomFilter, A2_LookupsDuringGrowthNeverMiss) {
  auto filter = make_growing({.capacity = 16, .false_positive_rate = 1e-6});
  const auto keys = some_keys(20'000);
  std::atomic<std::size_t> inserted{0};
  std::atomic<std::uint64_t> missed{0};
  std::vector<std::thread> readers;
  for (std::uint64_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      Answers found(64);
      for (std::uint64_t round = 0;; ++round) {
        // acquire: pairs with the writer's release.
        const std::size_t known = inserted.load(std::memory_order_acquire);
        if (known < 64) continue;
        const std::size_t at = mix64(round * 3 + t) % (known - 63);
        if (!filter.contains(keys[at])) missed.fetch_add(1);
        if (!filter.contains(keys[known - 1])) missed.fetch_add(1);
        const auto last = std::span(keys).subspan(round % 2 == 0 ? at : known - 64, 64);
        if (filter.contains_batch(last, found.all()) != 64) missed.fetch_add(1);
        if (known == keys.size()) break;
      }
    });
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    filter.insert(keys[i]);
    inserted.store(i + 1, std::memory_order_release);
  }
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(missed.load(), 0u);
  EXPECT_GE(filter.stats().layers, 6u);
}

TEST(GrowingBloomFilter, WhereItMustNotGrowItGoesOnAndSaysSo) {
  auto unbounded = make_growing({.capacity = 1000, .false_positive_rate = 1e-4});
  const std::uint64_t first_layer = unbounded.stats().memory_bytes;
  auto filter = make_growing(
      {.capacity = 1000, .false_positive_rate = 1e-4, .max_memory_bytes = first_layer * 7 / 2});
  EXPECT_EQ(filter.growth_error(), "");
  const auto keys = some_keys(20'000);
  std::uint64_t called_new = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    called_new += filter.insert(keys[i]) ? 1 : 0;
    if (i == 2'500) {
      EXPECT_EQ(filter.growth_error(), "");
    }
  }
  for (const auto key : keys)
    ASSERT_TRUE(filter.contains(key));
  const auto stats = filter.stats();
  EXPECT_EQ(stats.layers, 2u);
  EXPECT_LE(stats.memory_bytes, first_layer * 7 / 2);
  EXPECT_EQ(stats.inserted, called_new);
  EXPECT_TRUE(stats.overfull());
  EXPECT_GT(stats.current_rate, 10 * stats.target_rate);
  EXPECT_NE(filter.growth_error().find("allowed"), std::string::npos) << filter.growth_error();
}

TEST(GrowingBloomFilter, MakeRoomKeepsTheRateWhereMemoryIsShort) {
  auto filter =
      GrowingBloomFilter::create({.capacity = 1000, .hash = KeyedHash::from_seed(1)}).value();
  const std::uint64_t first = filter.memory_bytes();
  EXPECT_EQ(first, filter.stats().memory_bytes);
  std::uint64_t keys = 0;
  for (;; ++keys) {
    const auto room = filter.make_room(first);
    if (!room) {
      EXPECT_EQ(room.error().code, ErrorCode::kNoSpace);
      break;
    }
    ASSERT_EQ(*room, 1000 - keys);
    ASSERT_TRUE(filter.insert(nth_key(keys)));
  }
  EXPECT_EQ(keys, 1000u);
  EXPECT_EQ(filter.memory_bytes(), first);
  EXPECT_EQ(filter.growth_error(), "");
  EXPECT_EQ(filter.make_room(0).value(), 3750u);
  EXPECT_EQ(filter.stats().layers, 2u);
  EXPECT_TRUE(filter.insert(nth_key(keys)));
  EXPECT_EQ(filter.make_room(0).value(), 3749u);
}

TEST(GrowingBloomFilter, WhereItMustNotGrowManyThreadsGoOn) {
  auto filter =
      make_growing({.capacity = 100, .false_positive_rate = 1e-9, .max_memory_bytes = 4096});
  Contest contest(3000);
  contest.run(filter);
  for (const auto& winners : contest.winners)
    ASSERT_LE(winners.load(), 1);
  EXPECT_NE(filter.growth_error(), "");
}

TEST(GrowingBloomFilter, ImpossibleOptionsAreErrorsThatSayWhy) {
  const auto code = [](const GrowingBloomFilter::Options& options) {
    const auto filter = GrowingBloomFilter::create(options);
    EXPECT_FALSE(filter);
    EXPECT_FALSE(filter.error().message.empty());
    return filter.error().code;
  };
  EXPECT_EQ(code({.capacity = 0}), ErrorCode::kInvalidArgument);
  for (const double rate : {0.0, -1.0, 1.0, 2.0, std::nan(""), 1e-16, 1e-15})
    EXPECT_EQ(code({.false_positive_rate = rate}), ErrorCode::kInvalidArgument) << rate;
  EXPECT_EQ(code({.capacity = ~std::uint64_t{0}}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({.capacity = 1'000'000'000'000}), ErrorCode::kNoSpace);
  EXPECT_EQ(code({.capacity = 1000, .max_memory_bytes = 100}), ErrorCode::kNoSpace);
}

TEST_F(GrowingBloomFilterFile, WhatWasSavedIsLoadedToTheByte) {
  for (const std::size_t n : {0u, 700u, 1000u, 1001u, 50'000u}) {
    SCOPED_TRACE(n);
    auto filter = make_growing(
        {.capacity = 1000, .false_positive_rate = 1e-3, .hash = KeyedHash::from_seed(5)});
    const auto keys = some_keys(n);
    Answers answers(n);
    filter.insert_batch(keys, answers.all());
    const auto size = filter.save(path("one"));
    ASSERT_TRUE(size) << size.error().message;
    EXPECT_EQ(*size, std::filesystem::file_size(path("one")));
    auto loaded = GrowingBloomFilter::load(path("one"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->hash().key(), filter.hash().key());
    EXPECT_EQ(loaded->contains_batch(keys, answers.all()), n);
    EXPECT_EQ(loaded->insert_batch(keys, answers.all()), 0u);
    const auto before = filter.stats(), after = loaded->stats();
    EXPECT_EQ(after.inserted, before.inserted);
    EXPECT_EQ(after.layers, before.layers);
    EXPECT_EQ(after.capacity, before.capacity);
    EXPECT_EQ(after.memory_bytes, before.memory_bytes);
    EXPECT_EQ(after.current_rate, before.current_rate);
    EXPECT_EQ(after.target_rate, 1e-3);
    EXPECT_EQ(after.expected_false_positives, before.expected_false_positives);
    ASSERT_TRUE(loaded->write_unpublished(path("two")));
    EXPECT_TRUE(bytes_of(path("one")) == bytes_of(path("two")));
    // It goes on as the first one does.
    for (std::uint64_t i = 0; i < 5000; ++i)
      ASSERT_EQ(loaded->insert(nth_key(i, 3)), filter.insert(nth_key(i, 3)));
    EXPECT_EQ(loaded->stats().layers, filter.stats().layers);
  }
}

TEST_F(GrowingBloomFilterFile, AFullFilterThatIsLoadedGrowsAtTheNextNewKey) {
  auto filter = make_growing({.capacity = 500, .false_positive_rate = 1e-9});
  for (const auto key : some_keys(500))
    filter.insert(key);
  ASSERT_TRUE(filter.save(path()));
  auto loaded = GrowingBloomFilter::load(path());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->stats().layers, 1u);
  EXPECT_TRUE(loaded->insert(nth_key(500)));
  EXPECT_EQ(loaded->stats().layers, 2u);
  // Where its reader has less memory, it does not.
  auto full = GrowingBloomFilter::load(path());
  ASSERT_TRUE(full);
  auto small = GrowingBloomFilter::load(path(), full->stats().memory_bytes * 3 / 2);
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->insert(nth_key(500)));
  EXPECT_EQ(small->stats().layers, 1u);
  EXPECT_NE(small->growth_error(), "");
}

TEST_F(GrowingBloomFilterFile, WhatWasInsertedBeforeASaveIsInItThoughTheFilterGrows) {
  auto filter = make_growing({.capacity = 32, .false_positive_rate = 1e-6});
  const auto keys = some_keys(200'000 / test::kSlowdown);
  std::atomic<std::size_t> inserted{0};
  std::vector<std::thread> writers;
  // Two of them with the same keys, so that they meet in switches.
  std::atomic<std::size_t> progress[2] = {0, 0};
  for (auto& mine : progress) {
    writers.emplace_back([&] {
      Answers admitted(50);
      for (std::size_t i = 0; i < keys.size(); i += 50) {
        filter.insert_batch(std::span(keys).subspan(i, 50), admitted.all());
        mine.store(i + 50, std::memory_order_release);
      }
    });
  }
  std::size_t known = 0;
  for (int saves = 0; saves < 5 || known < keys.size(); ++saves) {
    known = std::max(progress[0].load(std::memory_order_acquire),
                     progress[1].load(std::memory_order_acquire));
    ASSERT_TRUE(filter.save(path()));
    const auto loaded = GrowingBloomFilter::load(path());
    ASSERT_TRUE(loaded) << loaded.error().message;
    Answers found(known);
    ASSERT_EQ(loaded->contains_batch(std::span(keys).first(known), found.all()), known);
    ASSERT_TRUE(loaded->save(path("again")));
    ASSERT_TRUE(bytes_of(path()) == bytes_of(path("again")));
    EXPECT_LE(loaded->stats().current_rate, 1e-6);
  }
  for (auto& writer : writers)
    writer.join();
}

TEST_F(GrowingBloomFilterFile, DamageIsFoundAndSaidWhere) {
  auto filter = make_growing({.capacity = 20'000, .false_positive_rate = 1e-4});
  Answers answers(100'000);
  filter.insert_batch(some_keys(100'000), answers.all());
  ASSERT_TRUE(filter.save(path()));
  const std::string good = bytes_of(path());
  const auto error_of = [&](const std::string& bytes) {
    write_bytes(path("bad"), bytes);
    const auto loaded = GrowingBloomFilter::load(path("bad"));
    EXPECT_FALSE(loaded);
    return loaded ? Error{ErrorCode::kIo, ""} : loaded.error();
  };
  std::string bad = good;
  bad[kSnapshotHeaderBytes + 2 * kSnapshotChunkBytes + 99] ^= 4;
  EXPECT_EQ(error_of(bad).code, ErrorCode::kCorrupt);
  EXPECT_NE(error_of(bad).message.find("chunk 2"), std::string::npos) << error_of(bad).message;
  for (const std::size_t at : {8u, 12u, 40u, 60u, 300u}) {
    bad = good;
    bad[at] ^= 1;
    EXPECT_EQ(error_of(bad).code, ErrorCode::kCorrupt) << at;
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, good.size() / 2, good.size() - 1})
    EXPECT_EQ(error_of(good.substr(0, size)).code, ErrorCode::kCorrupt) << size;
  EXPECT_EQ(GrowingBloomFilter::load(path("none")).error().code, ErrorCode::kNotFound);
}

TEST_F(GrowingBloomFilterFile, LayersThatNoGrowingFilterHasAreRefused) {
  auto filter = make_growing({.capacity = 100, .false_positive_rate = 1e-4});
  for (const auto key : some_keys(500))
    filter.insert(key);
  ASSERT_TRUE(filter.save(path()));
  const SnapshotHeader good = SnapshotReader::open(path(), FilterKind::kGrowing)->header();
  ASSERT_EQ(good.sections.size(), 3u);
  const auto load = [&](const std::function<void(SnapshotHeader&)>& change) {
    SnapshotHeader header = good;
    change(header);
    const auto no_words = [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
      std::fill(out.begin(), out.end(), 0);
    };
    EXPECT_TRUE(save_snapshot(path("forged"), header, no_words));
    return GrowingBloomFilter::load(path("forged"));
  };
  EXPECT_TRUE(load([](SnapshotHeader&) {}));
  const std::vector<std::function<void(SnapshotHeader&)>> changes = {
      [](SnapshotHeader& h) { h.sections[1].capacity = 99; },
      [](SnapshotHeader& h) { h.sections[2].capacity = h.sections[1].capacity - 1; },
      [](SnapshotHeader& h) { h.capacity = 101; },
      [](SnapshotHeader& h) { std::swap(h.sections[0], h.sections[1]); },
      [](SnapshotHeader& h) { h.sections.erase(h.sections.begin()); },
      [](SnapshotHeader& h) { h.sections[0].target_rate *= 0.999; },
      [](SnapshotHeader& h) { h.sections[2].target_rate *= 10; },
      [](SnapshotHeader& h) { h.target_rate = 1e-3; },
      [](SnapshotHeader& h) { h.sections[0].words += 1; },
      [](SnapshotHeader& h) {
        h.sections[2].words = 8;
        h.sections[2].inserted = 0;
        h.capacity <<= 40;
        for (auto& s : h.sections)
          s.capacity <<= 40;
      },
      [](SnapshotHeader& h) { h.sections[0].hashes = 0; },
      [](SnapshotHeader& h) { h.sections[0].hashes = 1000; },
      [](SnapshotHeader& h) { h.sections[1].inserted = ~std::uint64_t{0}; },
      [](SnapshotHeader& h) { h.sections[0].detail = 1; },
      [](SnapshotHeader& h) { h.sections[1].detail = 1'000'000; },
      [](SnapshotHeader& h) { h.capacity = h.sections[0].capacity = std::uint64_t{1} << 62; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto loaded = load(changes[i]);
    ASSERT_FALSE(loaded) << i;
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt) << i << loaded.error().message;
  }
}

TEST_F(GrowingBloomFilterFile, FilesWithLayersOfTwiceTheCapacityLoadAndGrowOn) {
  constexpr double kBudget = 1e-3;
  SnapshotHeader header{.kind = FilterKind::kGrowing,
                        .hash_key = KeyedHash::from_seed(5).key(),
                        .capacity = 100,
                        .target_rate = kBudget,
                        .sections = {}};
  for (unsigned i = 0; i < 10; ++i) {
    const double rate = kBudget * 6 / std::pow(std::numbers::pi * (i + 1), 2);
    const auto layout = growing_layer_layout(100 << i, rate);
    ASSERT_TRUE(layout);
    header.sections.push_back({.words = layout->blocks * kWordsPerBlock,
                               .capacity = std::uint64_t{100} << i,
                               .target_rate = rate,
                               .inserted = i == 9 ? 0 : std::uint64_t{100} << i,
                               .hashes = layout->hashes});
  }
  const auto no_words = [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
    std::fill(out.begin(), out.end(), 0);
  };
  ASSERT_TRUE(save_snapshot(path(), header, no_words));
  auto filter = GrowingBloomFilter::load(path());
  ASSERT_TRUE(filter) << filter.error().message;
  Answers answers(51'200 + 192'000 + 1);
  filter->insert_batch(some_keys(answers.size), answers.all());
  EXPECT_GT(filter->stats().layers, 10u);
  EXPECT_LE(filter->stats().layers, 12u);
  EXPECT_GE(filter->stats().capacity, 100u * 1023 + 192'000);
  EXPECT_LE(filter->stats().current_rate, kBudget);
  ASSERT_TRUE(filter->save(path("grown")));
  EXPECT_TRUE(GrowingBloomFilter::load(path("grown")));
}

// Of the layers there are the memory, and the rate if all are full.
struct Plan {
  unsigned layers = 0;
  std::uint64_t keys = 0;
  std::uint64_t words = 0;
  double rate = 0;
};

Plan plan_for(std::uint64_t keys, std::uint64_t capacity, double budget) {
  Plan plan;
  for (std::uint64_t next = capacity; plan.keys < keys; next = next_layer_capacity(next)) {
    const double rate = plan.layers == 0 ? first_layer_rate(budget)
                                         : next_layer_rate(budget - plan.rate, plan.layers);
    plan.words += growing_layer_layout(next, rate)->blocks * kWordsPerBlock;
    plan.keys += next;
    plan.rate += rate;
    ++plan.layers;
  }
  return plan;
}

TEST(GrowingBloomFilter, AThousandTimesItsKeysTakeSixLayersAndHalfAsMuchMemoryMore) {
  for (const std::uint64_t capacity : {std::uint64_t{1000}, std::uint64_t{1'000'000}}) {
    for (const double budget : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(budget);
      const Plan grown = plan_for(1000 * capacity, capacity, budget);
      EXPECT_LE(grown.layers, 6u);
      EXPECT_LE(grown.rate, budget);
      const Plan right = plan_for(1000 * capacity, 1000 * capacity, budget);
      EXPECT_LE(static_cast<double>(grown.words), 1.5 * static_cast<double>(right.words));
      // Nor than one that need not grow.
      const auto fixed = choose_layout(1000 * capacity, budget);
      EXPECT_LE(static_cast<double>(grown.words),
                1.5 * static_cast<double>(fixed->blocks * kWordsPerBlock));
    }
  }
  // The plan is what a filter does.
  auto filter = make_growing({.capacity = 1000});
  Answers answers(1'000'000);
  filter.insert_batch(some_keys(answers.size), answers.all());
  const Plan plan = plan_for(answers.size, 1000, 1e-6);
  EXPECT_EQ(filter.stats().layers, plan.layers);
  EXPECT_EQ(filter.stats().memory_bytes, plan.words * sizeof(std::uint64_t));
}

TEST(GrowingBloomFilter, NoNumberOfLayersTakesMoreThanTheBudget) {
  double left = 1 - first_layer_rate(1);
  for (std::size_t layers = 1; layers < kMaxSnapshotSections; ++layers) {
    const double rate = next_layer_rate(left, layers);
    EXPECT_GT(rate, 1e-5) << "layers to come must be possible";
    left -= rate;
    EXPECT_GT(left, 0);
  }
}

TEST(GrowingBloomFilter, WhereMemoryIsShortItsLayersAreSmaller) {
  constexpr std::uint64_t kCapacity = 10'000;
  auto roomy = make_growing({.capacity = kCapacity});
  const std::uint64_t first_layer = roomy.stats().memory_bytes;
  auto filter = make_growing({.capacity = kCapacity, .max_memory_bytes = 4 * first_layer});
  Answers answers(kCapacity * 5 / 2);
  filter.insert_batch(some_keys(answers.size), answers.all());
  EXPECT_EQ(filter.growth_error(), "");
  EXPECT_EQ(filter.stats().layers, 2u);
  EXPECT_EQ(filter.stats().capacity, kCapacity + kCapacity * 15 / 4 / 2);
  EXPECT_LE(filter.stats().memory_bytes, 4 * first_layer);
  EXPECT_LE(filter.stats().current_rate, filter.stats().target_rate);
}

TEST(GrowingBloomFilter, LayersStopGrowing) {
  EXPECT_EQ(next_layer_capacity(400'000'000), kLargestNextLayer);
  EXPECT_EQ(next_layer_capacity(kLargestNextLayer), kLargestNextLayer);
  EXPECT_EQ(next_layer_capacity(2 * kLargestNextLayer), 2 * kLargestNextLayer)
      << "a first layer may be larger";
  const Plan plan = plan_for(10'000'000'000, 1'000'000, 1e-6);
  EXPECT_LE(plan.layers, 14u);
  EXPECT_LE(plan.rate, 1e-6);
}

TEST(GrowingBloomFilter, ExpectedStatisticsAreThoseOfAFilterThatGrew) {
  const GrowingBloomFilter::Options options{.capacity = 1'000, .false_positive_rate = 1e-6};
  for (const std::size_t keys : {0u, 1u, 1'000u, 1'001u, 4'000u, 100'000u}) {
    SCOPED_TRACE(keys);
    auto filter = make_growing(options);
    Answers answers(keys);
    filter.insert_batch(some_keys(keys), answers.all());
    const FilterStats grown = filter.stats();
    const auto expected = GrowingBloomFilter::expected_stats(options, keys);
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_EQ(expected->layers, grown.layers);
    EXPECT_EQ(expected->capacity, grown.capacity);
    EXPECT_EQ(expected->inserted, grown.inserted);
    EXPECT_EQ(expected->memory_bytes, grown.memory_bytes);
    EXPECT_EQ(expected->hashes, grown.hashes);
    EXPECT_EQ(expected->target_rate, grown.target_rate);
    EXPECT_NEAR(expected->current_rate, grown.current_rate, grown.current_rate * 0.01);
    EXPECT_NEAR(expected->fill, grown.fill, 0.01);
  }
}

// A page fault for each of 2,600 pages takes longer than all of a short crawl's other insertions.
TEST(GrowingBloomFilter, TakesItsPagesOnceItIsUsed) {
  const auto page_faults = [] {
    rusage usage{};
    EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_minflt;
  };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's memory would be counted, too";
#endif
  constexpr std::size_t kProbe = 1u << 20;
  if (!take_pages(std::make_unique<char[]>(kProbe).get(), kProbe))
    GTEST_SKIP() << "not by this kernel";
  const auto insert = [&](GrowingBloomFilter& filter, std::uint64_t from, std::uint64_t to) {
    std::vector<Fingerprint> keys;
    for (std::uint64_t i = from; i < to; ++i)
      keys.push_back(nth_key(i));
    Answers answers(keys.size());
    std::ranges::fill(answers.all(), false);  // takes their pages
    const long before = page_faults();
    EXPECT_EQ(filter.insert_batch(keys, answers.all()), keys.size());
    return page_faults() - before;
  };
  GrowingBloomFilter other = make_growing({.capacity = 1'000, .false_positive_rate = 1e-9});
  insert(other, 0, 100);  // what is done once
  GrowingBloomFilter filter = make_growing({.capacity = 1'000'000, .false_positive_rate = 1e-9});
  ASSERT_GT(filter.stats().memory_bytes, 4u << 20);
  EXPECT_LE(insert(filter, 0, 10), 50) << "few keys take few pages";
  EXPECT_LE(insert(filter, 10, 500), 490 + 50) << "each by one fault, not two";
  insert(filter, 500, 5'000);
  EXPECT_LE(insert(filter, 5'000, 20'000), 50);
}

class LayerFiles : public GrowingBloomFilterFile {
 protected:
  using Layer = GrowingBloomFilter::LayerFile;
  // Three layers, the first two with files of their own.
  void SetUp() override {
    GrowingBloomFilterFile::SetUp();
    keys_ = some_keys(1'000);
    Answers answers(keys_.size());
    filter_.insert_batch(keys_, answers.all());
    ASSERT_EQ(filter_.full_layers(), 2u);
    for (std::size_t i = 0; i < 2; ++i)
      layers_.push_back(filter_.write_layer(i, i + 7, layer_file_path(path(), i + 7)).value());
    ASSERT_TRUE(filter_.write_unpublished(path(), {}, layers_));
  }
  SnapshotHeader header() const {
    return SnapshotReader::open(path(), FilterKind::kGrowing).value().header();
  }
  // With no words: for the reader of headers.
  Result<GrowingBloomFilter> load_with(const SnapshotHeader& header) const {
    const auto no_words = [](std::size_t, std::uint64_t, std::span<std::uint64_t> out) {
      std::fill(out.begin(), out.end(), 0);
    };
    EXPECT_TRUE(write_snapshot(path(), header, no_words));
    return GrowingBloomFilter::load(path());
  }

  GrowingBloomFilter filter_ =
      make_growing({.capacity = 100, .false_positive_rate = 1e-9, .hash = KeyedHash::from_seed(5)});
  std::vector<Fingerprint> keys_;
  std::vector<Layer> layers_;
};

TEST_F(LayerFiles, AFilterIsLoadedFromThem) {
  const auto loaded = GrowingBloomFilter::load(path());
  ASSERT_TRUE(loaded) << loaded.error().message;
  Answers answers(keys_.size());
  EXPECT_EQ(loaded->contains_batch(keys_, answers.all()), keys_.size());
  EXPECT_EQ(loaded->stats().inserted, filter_.stats().inserted);
  ASSERT_EQ(loaded->loaded_layers().size(), 2u);
  EXPECT_EQ(loaded->loaded_layers()[1].number, 8u);
  EXPECT_EQ(loaded->loaded_layers()[1].identity, layers_[1].identity);
  // Saved as a whole it needs them no more, and is as the one that never had any.
  ASSERT_TRUE(loaded->save(path("whole")));
  ASSERT_TRUE(filter_.save(path("other")));
  EXPECT_TRUE(bytes_of(path("whole")) == bytes_of(path("other")));
  ASSERT_TRUE(loaded->write_unpublished(path("two"), {}, loaded->loaded_layers()));
  EXPECT_TRUE(bytes_of(path("two")) == bytes_of(path()));
}

TEST_F(LayerFiles, ALayerIsAFilterOfItsOwn) {
  const auto layer = SnapshotReader::open(layer_file_path(path(), 7), FilterKind::kBlocked);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->header().sections.front().capacity, 100u);
  EXPECT_EQ(layer->identity(), layers_[0].identity);
}

TEST_F(LayerFiles, ImpossibleReferencesAreDamage) {
  const SnapshotHeader good = header();
  EXPECT_TRUE(load_with(good)) << "only the bits of the newest layer are missing";
  const std::function<void(SnapshotHeader&)> changes[] = {
      [](auto& header) { header.sections.back().file = 9; },  // the newest too
      [](auto& header) { header.sections[0].file = 0; },      // one in the middle
      [](auto& header) { header.sections[2].file_identity = 1; },
      [](auto& header) { std::swap(header.sections[0].file, header.sections[1].file); },
      [](auto& header) { ++header.sections[0].file_identity; },
      [](auto& header) { header.sections[0].words += 8; },
      [](auto& header) { header.kind = FilterKind::kBlocked; },
  };
  for (const auto& change : changes) {
    SCOPED_TRACE(&change - changes);
    SnapshotHeader bad = good;
    change(bad);
    const auto loaded = load_with(bad);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt) << loaded.error().message;
  }
}

}  // namespace
}  // namespace trawl
