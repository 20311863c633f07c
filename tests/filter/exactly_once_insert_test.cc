// Runs the real exactly_once_insert() under every interleaving of its word operations.
#include "filter/blocked/exactly_once_insert.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

struct Operation {
  bool is_rmw;
  unsigned word;
  std::uint64_t bits;
};

// Thrown when a caller needs the result of an operation that has not been scheduled yet.
struct Suspended {
  Operation operation;
};

// Answers a caller's operations from the results recorded so far. Since a caller's next operation
// depends on nothing but those results, running it again from the start is resuming it.
class ReplayedWords {
 public:
  explicit ReplayedWords(const std::vector<std::uint64_t>& results) : results_(results) {}
  std::uint64_t load(unsigned w) { return next({false, w, 0}); }
  std::uint64_t fetch_or(unsigned w, std::uint64_t bits) { return next({true, w, bits}); }

 private:
  std::uint64_t next(Operation operation) {
    if (at_ == results_.size()) throw Suspended{operation};
    return results_[at_++];
  }
  const std::vector<std::uint64_t>& results_;
  std::size_t at_ = 0;
};

enum class ReadOrder { kAscending, kDescending };

struct Caller {
  BlockMasks masks;
  ReadOrder order;
  std::vector<std::uint64_t> results;
  auto operator<=>(const Caller&) const = default;
};

struct World {
  BlockMasks words{};
  std::vector<Caller> callers;
  auto operator<=>(const World&) const = default;
};

// Reads the block word by word, in ascending or in descending order, and inserts.
bool read_and_insert(ReplayedWords& words, const BlockMasks& masks, ReadOrder order) {
  unsigned missing = 0;
  for (unsigned i = 0; i < kWordsPerBlock; ++i) {
    const unsigned w = order == ReadOrder::kAscending ? i : kWordsPerBlock - 1 - i;
    if (masks[w] != 0 && (words.load(w) & masks[w]) != masks[w]) missing |= 1u << w;
  }
  return exactly_once_insert(words, masks, missing);
}

struct Explored {
  std::set<World> worlds;                // every reachable state, final ones included
  std::set<std::vector<bool>> outcomes;  // who was told "new", over all complete runs
};

void explore(const World& world, Explored& explored) {
  if (!explored.worlds.insert(world).second) return;
  std::vector<bool> told_new;
  for (std::size_t i = 0; i < world.callers.size(); ++i) {
    ReplayedWords words(world.callers[i].results);
    try {
      told_new.push_back(read_and_insert(words, world.callers[i].masks, world.callers[i].order));
    } catch (const Suspended& suspended) {
      World next = world;
      const Operation& operation = suspended.operation;
      std::uint64_t& word = next.words[operation.word];
      next.callers[i].results.push_back(word);
      if (operation.is_rmw) word |= operation.bits;
      explore(next, explored);
    }
  }
  if (told_new.size() == world.callers.size()) explored.outcomes.insert(told_new);
}

BlockMasks one_bit_in_each_of(unsigned words) {
  BlockMasks masks{};
  for (unsigned w = 0; w < words; ++w)
    masks[w] = std::uint64_t{1} << w;
  return masks;
}

// All interleavings, with none, some or all of the callers reading in ascending order.
Explored explore_callers(const std::vector<BlockMasks>& masks, const BlockMasks& initial = {}) {
  Explored explored;
  for (std::size_t ascending = 0; ascending <= masks.size(); ++ascending) {
    World world{.words = initial, .callers = {}};
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const auto order = i < ascending ? ReadOrder::kAscending : ReadOrder::kDescending;
      world.callers.push_back({masks[i], order, {}});
    }
    explore(world, explored);
  }
  return explored;
}

std::ptrdiff_t winners(const std::vector<bool>& outcome) {
  return std::count(outcome.begin(), outcome.end(), true);
}

TEST(ExactlyOnceInsert, A1_OfTwoCallersWithOneKeyExactlyOneIsFirstInEveryInterleaving) {
  for (unsigned words = 1; words <= 5; ++words) {
    const auto key = one_bit_in_each_of(words);
    const auto explored = explore_callers({key, key});
    ASSERT_FALSE(explored.outcomes.empty());
    for (const auto& outcome : explored.outcomes)
      EXPECT_EQ(winners(outcome), 1) << words;
    EXPECT_EQ(explored.outcomes.size(), 2u) << "each of the two can be the first";
  }
}

TEST(ExactlyOnceInsert, A1_OfThreeCallersWithOneKeyExactlyOneIsFirstInEveryInterleaving) {
  for (unsigned words = 1; words <= 4; ++words) {
    const auto key = one_bit_in_each_of(words);
    const auto explored = explore_callers({key, key, key});
    ASSERT_FALSE(explored.outcomes.empty());
    for (const auto& outcome : explored.outcomes)
      EXPECT_EQ(winners(outcome), 1) << words;
    EXPECT_EQ(explored.outcomes.size(), 3u);
  }
}

TEST(ExactlyOnceInsert, A1_WithSomeBitsSetBeforeExactlyOneIsFirst) {
  constexpr unsigned kWords = 4;
  const auto key = one_bit_in_each_of(kWords);
  for (unsigned preset = 0; preset + 1 < 1u << kWords; ++preset) {
    BlockMasks initial{};
    for (unsigned w = 0; w < kWords; ++w)
      initial[w] = (preset >> w & 1) != 0 ? key[w] : 0;
    for (const auto& outcome : explore_callers({key, key}, initial).outcomes) {
      EXPECT_EQ(winners(outcome), 1) << preset;
    }
  }
}

TEST(ExactlyOnceInsert, A1_OtherKeysSharingBitsNeverMakeTwoCallersFirst) {
  const auto key = one_bit_in_each_of(3);
  for (unsigned shared = 1; shared < 8; ++shared) {
    BlockMasks other{};
    for (unsigned w = 0; w < 3; ++w) {
      other[w] = ((shared >> w & 1) != 0 ? key[w] : 0) | std::uint64_t{1} << (40 + w);
    }
    for (const auto& outcome : explore_callers({key, key, other}).outcomes) {
      EXPECT_LE(outcome[0] + outcome[1], 1) << "the key, shared words " << shared;
    }
  }
}

TEST(ExactlyOnceInsert, A2_EveryBitIsSetWhenACallerReturns) {
  const auto key = one_bit_in_each_of(4);
  for (const World& world : explore_callers({key, key, key}).worlds) {
    for (const Caller& caller : world.callers) {
      ReplayedWords words(caller.results);
      try {
        read_and_insert(words, caller.masks, caller.order);
      } catch (const Suspended&) {
        continue;
      }
      for (unsigned w = 0; w < kWordsPerBlock; ++w)
        ASSERT_EQ(world.words[w] & key[w], key[w]);
    }
  }
}

// The explorer must be able to find a fault: this insert completes the words in ascending order
// and counts whoever changed any word, and two callers can both be told they were first.
template <class Words>
bool naive_insert(Words& words, const BlockMasks& masks) {
  bool changed = false;
  for (unsigned w = 0; w < 2; ++w) {
    if ((words.load(w) & masks[w]) != masks[w]) {
      changed |= (words.fetch_or(w, masks[w]) & masks[w]) != masks[w];
    }
  }
  return changed;
}

bool naive_can_have_two_winners(const World& world) {
  std::vector<bool> told_new;
  for (std::size_t i = 0; i < world.callers.size(); ++i) {
    ReplayedWords words(world.callers[i].results);
    try {
      told_new.push_back(naive_insert(words, world.callers[i].masks));
    } catch (const Suspended& suspended) {
      World next = world;
      std::uint64_t& word = next.words[suspended.operation.word];
      next.callers[i].results.push_back(word);
      if (suspended.operation.is_rmw) word |= suspended.operation.bits;
      if (naive_can_have_two_winners(next)) return true;
    }
  }
  return told_new.size() == world.callers.size() && winners(told_new) > 1;
}

TEST(ExactlyOnceInsert, TheExplorerFindsTheFaultOfANaiveInsert) {
  const auto key = one_bit_in_each_of(2);
  EXPECT_TRUE(naive_can_have_two_winners({.words = {}, .callers = {{key, {}, {}}, {key, {}, {}}}}));
}

}  // namespace
}  // namespace trawl
