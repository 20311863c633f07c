#include "trawl/atomic_bit_array.h"

#include <array>
#include <atomic>
#include <barrier>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

AtomicBitArray make_bits(std::uint64_t size) {
  auto bits = AtomicBitArray::create(size);
  if (!bits) throw std::runtime_error(bits.error().message);
  return std::move(*bits);
}

TEST(AtomicBitArray, AllBitsAreUnsetAtFirstAndEachCanBeChangedAlone) {
  for (const std::uint64_t size : {1u, 63u, 64u, 65u, 1000u}) {
    SCOPED_TRACE(size);
    auto bits = make_bits(size);
    EXPECT_EQ(bits.size(), size);
    EXPECT_EQ(bits.count(), 0u);
    for (std::uint64_t i = 0; i < size; ++i) {
      EXPECT_FALSE(bits.test(i));
      bits.set(i);
      EXPECT_TRUE(bits.test(i));
      EXPECT_EQ(bits.count(), 1u);
      EXPECT_EQ(bits.find_next(0), i);
      bits.clear(i);
      EXPECT_FALSE(bits.test(i));
    }
    EXPECT_FALSE(bits.test_and_set(size - 1));
    EXPECT_TRUE(bits.test_and_set(size - 1));
    bits.set(size - 1);
    EXPECT_EQ(bits.count(), 1u);
    bits.clear(size - 1);
    EXPECT_FALSE(bits.test_and_set(size - 1));
  }
}

TEST(AtomicBitArray, RandomOperationsAnswerAsASetDoes) {
  constexpr std::uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  constexpr std::uint64_t kSize = 5000;
  auto bits = make_bits(kSize);
  std::set<std::uint64_t> model;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t at = random() % kSize;
    switch (random() % 5) {
      case 0:
        bits.set(at);
        model.insert(at);
        break;
      case 1:
      case 2:
        bits.clear(at);
        model.erase(at);
        break;
      case 3:
        EXPECT_EQ(bits.test_and_set(at), !model.insert(at).second);
        break;
      default: {
        EXPECT_EQ(bits.test(at), model.contains(at));
        const auto next = model.lower_bound(at);
        EXPECT_EQ(bits.find_next(at), next == model.end() ? kSize : *next);
      }
    }
  }
  EXPECT_GT(model.size(), 100u);
  EXPECT_EQ(bits.count(), model.size());
  bits.clear_all();
  EXPECT_EQ(bits.count(), 0u);
  EXPECT_EQ(bits.find_next(0), kSize);
}

TEST(AtomicBitArray, FindNextAtTheEdges) {
  auto bits = make_bits(130);
  for (const std::uint64_t i : {0u, 63u, 64u, 129u})
    bits.set(i);
  EXPECT_EQ(bits.find_next(0), 0u);
  EXPECT_EQ(bits.find_next(1), 63u);
  EXPECT_EQ(bits.find_next(63), 63u);
  EXPECT_EQ(bits.find_next(64), 64u);
  EXPECT_EQ(bits.find_next(65), 129u);
  EXPECT_EQ(bits.find_next(129), 129u);
  bits.clear(129);
  EXPECT_EQ(bits.find_next(65), 130u);
  EXPECT_EQ(bits.find_next(130), 130u) << "from the end on there is nothing";
  EXPECT_EQ(bits.find_next(std::numeric_limits<std::uint64_t>::max()), 130u);
}

TEST(AtomicBitArray, IndicesBeyondFourBillionAreTheirOwn) {
  constexpr std::uint64_t kSize = std::uint64_t{1} << 36;
  auto created = AtomicBitArray::create(kSize);
  if (!created) GTEST_SKIP() << created.error().message;
  auto& bits = *created;
  const std::uint64_t far = (std::uint64_t{1} << 35) + 5;
  bits.set(far);
  EXPECT_TRUE(bits.test(far));
  EXPECT_FALSE(bits.test(5)) << "the index is cut to 32 bits";
  EXPECT_FALSE(bits.test(far - (std::uint64_t{1} << 32)));
  EXPECT_FALSE(bits.test_and_set(kSize - 1));
  EXPECT_TRUE(bits.test(kSize - 1));
  EXPECT_EQ(bits.find_next(far - 100'000), far);
  EXPECT_EQ(bits.find_next(kSize - 100'000), kSize - 1);
  bits.clear(kSize - 1);
  EXPECT_EQ(bits.find_next(kSize - 100'000), kSize);
}

// Runs work(thread) in so many threads that start at once.
template <class Work>
void run_threads(std::size_t count, const Work& work) {
  std::barrier start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  }
  for (auto& thread : threads)
    thread.join();
}

TEST(AtomicBitArray, A1_OfConcurrentTestAndSetsOfABitExactlyOneIsToldUnset) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kSize = 50'000;
  auto bits = make_bits(kSize);
  for (int round = 0; round < 5; ++round) {
    std::array<std::vector<std::uint64_t>, kThreads> won;
    run_threads(kThreads, [&](std::size_t t) {
      for (std::uint64_t i = 0; i < kSize; ++i) {
        if (!bits.test_and_set(i)) won[t].push_back(i);
      }
    });
    std::vector<int> winners(kSize);
    for (const auto& indices : won) {
      for (const auto i : indices)
        ++winners[i];
    }
    for (std::uint64_t i = 0; i < kSize; ++i)
      ASSERT_EQ(winners[i], 1) << i;
    EXPECT_EQ(bits.count(), kSize);
    bits.clear_all();
  }
}

TEST(AtomicBitArray, ConcurrentChangesOfNeighboursInAWordAreNotLost) {
  constexpr std::size_t kThreads = 4;
  auto bits = make_bits(64);
  std::atomic<int> wrong{0};
  // Each thread owns the bits t, t + 4, ... and knows what they must be.
  run_threads(kThreads, [&](std::size_t t) {
    for (int round = 0; round < 5'000; ++round) {
      for (std::uint64_t i = t; i < 64; i += kThreads) {
        if (round % 2 == 0) {
          bits.set(i);
        } else if (!bits.test_and_set(i)) {
          ++wrong;  // set in the round before
        }
        if (!bits.test(i)) ++wrong;
        if (round % 2 == 1) bits.clear(i);
        if (bits.test(i) != (round % 2 == 0)) ++wrong;
      }
    }
    for (std::uint64_t i = t; i < 64; i += 2 * kThreads)
      bits.set(i);
  });
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(bits.count(), 32u);
}

TEST(AtomicBitArray, WhoeverSeesABitSeesWhatWasWrittenBeforeItWasChanged) {
  // Plain values handed over by bits: ThreadSanitizer reports it if a bit does not order them.
  constexpr std::uint64_t kValues = 20'000;
  auto bits = make_bits(kValues);
  std::vector<std::uint64_t> values(kValues);
  std::uint64_t wrong = 0;
  run_threads(2, [&](std::size_t t) {
    for (std::uint64_t i = 0; i < kValues; ++i) {
      if (t == 0) {
        values[i] = i + 1;
        bits.set(i);
        continue;
      }
      while (!bits.test(i))
        std::this_thread::yield();
      wrong += values[i] == i + 1 ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0u);
  // As a lock: clear() hands over to the next test_and_set().
  std::uint64_t counter = 0;
  bits.clear_all();
  run_threads(3, [&](std::size_t) {
    for (int i = 0; i < 3'000; ++i) {
      while (bits.test_and_set(7))
        std::this_thread::yield();
      ++counter;
      bits.clear(7);
    }
  });
  EXPECT_EQ(counter, 9'000u);
}

TEST(AtomicBitArray, CanBeMoved) {
  auto bits = make_bits(100);
  bits.set(99);
  AtomicBitArray moved = std::move(bits);
  EXPECT_TRUE(moved.test(99));
  moved = make_bits(10);
  EXPECT_EQ(moved.size(), 10u);
  EXPECT_EQ(moved.count(), 0u);
}

TEST(AtomicBitArray, ImpossibleSizesAreErrorsThatSayWhy) {
  EXPECT_EQ(AtomicBitArray::create(0).error().code, ErrorCode::kInvalidArgument);
  const auto huge = AtomicBitArray::create(std::uint64_t{1} << 53);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(huge.error().message.find("9007199254740992 bits"), std::string::npos);
  EXPECT_NE(huge.error().message.find("1024.0 TiB"), std::string::npos) << huge.error().message;
  const auto all = AtomicBitArray::create(std::numeric_limits<std::uint64_t>::max());
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace trawl
