// Runs the real exactly_once_insert_bits() under every interleaving of its bit operations.
#include "filter/classic/exactly_once_bits.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using Places = std::vector<std::uint64_t>;

struct Operation {
  bool sets;
  std::uint64_t place;
};

// Thrown when a caller needs the result of an operation that has not been scheduled yet.
struct Suspended {
  Operation operation;
};

// Answers a caller's operations from the results recorded so far. Since a caller's next operation
// depends on nothing but those results, running it again from the start is resuming it.
class ReplayedBits {
 public:
  explicit ReplayedBits(const std::vector<bool>& results) : results_(results) {}
  bool test(std::uint64_t place) { return next({false, place}); }
  bool test_and_set(std::uint64_t place) { return next({true, place}); }

 private:
  bool next(Operation operation) {
    if (at_ == results_.size()) throw Suspended{operation};
    return results_[at_++];
  }
  const std::vector<bool>& results_;
  std::size_t at_ = 0;
};

struct Caller {
  Places places;
  std::vector<bool> results;
  auto operator<=>(const Caller&) const = default;
};

struct World {
  std::uint64_t bits = 0;  // the whole filter
  std::vector<Caller> callers;
  auto operator<=>(const World&) const = default;
};

struct Explored {
  std::set<World> worlds;                // every reachable state, final ones included
  std::set<std::vector<bool>> outcomes;  // who was told "new", over all complete runs
};

using Insert = bool (*)(ReplayedBits& bits, std::span<const std::uint64_t> places);

void explore(const World& world, Insert insert, Explored& explored) {
  if (!explored.worlds.insert(world).second) return;
  std::vector<bool> told_new;
  for (std::size_t i = 0; i < world.callers.size(); ++i) {
    ReplayedBits bits(world.callers[i].results);
    try {
      told_new.push_back(insert(bits, world.callers[i].places));
    } catch (const Suspended& suspended) {
      World next = world;
      const std::uint64_t mask = std::uint64_t{1} << suspended.operation.place;
      next.callers[i].results.push_back((world.bits & mask) != 0);
      if (suspended.operation.sets) next.bits |= mask;
      explore(next, insert, explored);
    }
  }
  if (told_new.size() == world.callers.size()) explored.outcomes.insert(told_new);
}

Explored explore_callers(const std::vector<Places>& keys, std::uint64_t initial = 0,
                         Insert insert = exactly_once_insert_bits<ReplayedBits>) {
  World world{.bits = initial, .callers = {}};
  for (const auto& places : keys)
    world.callers.push_back({places, {}});
  Explored explored;
  explore(world, insert, explored);
  return explored;
}

std::ptrdiff_t winners(const std::vector<bool>& outcome) {
  return std::count(outcome.begin(), outcome.end(), true);
}

// All keys of k places with any of them coinciding, but for the names of the places: {0, 0, 1},
// {0, 1, 0} and so on.
std::vector<Places> keys_of(unsigned k) {
  std::vector<Places> keys{{}};
  for (unsigned i = 0; i < k; ++i) {
    std::vector<Places> longer;
    for (const auto& key : keys) {
      const std::uint64_t unused = key.empty() ? 0 : *std::max_element(key.begin(), key.end()) + 1;
      for (std::uint64_t place = 0; place <= unused; ++place) {
        longer.push_back(key);
        longer.back().push_back(place);
      }
    }
    keys = longer;
  }
  return keys;
}

std::uint64_t mask_of(const Places& places) {
  std::uint64_t mask = 0;
  for (const auto place : places)
    mask |= std::uint64_t{1} << place;
  return mask;
}

TEST(ExactlyOnceBits, AllWaysInWhichPlacesCanCoincideAreTried) {
  EXPECT_EQ(keys_of(1).size(), 1u);
  EXPECT_EQ(keys_of(2).size(), 2u);
  EXPECT_EQ(keys_of(3).size(), 5u);
  EXPECT_EQ(keys_of(4).size(), 15u);
}

TEST(ExactlyOnceBits, A1_OfTwoCallersWithOneKeyExactlyOneIsFirstInEveryInterleaving) {
  for (unsigned k = 1; k <= 4; ++k) {
    for (const auto& key : keys_of(k)) {
      SCOPED_TRACE(::testing::PrintToString(key));
      // With none, or some, of the key's bits set before, by other keys.
      for (std::uint64_t initial = 0; initial < mask_of(key); ++initial) {
        const auto explored = explore_callers({key, key}, initial);
        EXPECT_EQ(explored.outcomes, (std::set<std::vector<bool>>{{true, false}, {false, true}}))
            << "bits set before: " << initial;
      }
      EXPECT_EQ(explore_callers({key, key}, mask_of(key)).outcomes,
                (std::set<std::vector<bool>>{{false, false}}));
    }
  }
}

TEST(ExactlyOnceBits, A1_OfThreeCallersWithOneKeyExactlyOneIsFirstInEveryInterleaving) {
  for (unsigned k = 1; k <= 4; ++k) {
    for (const auto& key : keys_of(k)) {
      SCOPED_TRACE(::testing::PrintToString(key));
      const auto explored = explore_callers({key, key, key});
      for (const auto& outcome : explored.outcomes)
        EXPECT_EQ(winners(outcome), 1);
      EXPECT_EQ(explored.outcomes.size(), 3u) << "each of the three can be the first";
    }
  }
}

TEST(ExactlyOnceBits, A1_OtherKeysSharingBitsNeverMakeTwoCallersFirst) {
  for (const auto& key : keys_of(3)) {
    // Another key with any of the places 0 to 3 in any order, coinciding or not.
    for (unsigned other = 0; other < 16; ++other) {
      const Places places{other % 4, other / 4, other % 3};
      const auto explored = explore_callers({key, key, places});
      ASSERT_FALSE(explored.outcomes.empty());
      for (const auto& outcome : explored.outcomes)
        EXPECT_LE(outcome[0] + outcome[1], 1)
            << ::testing::PrintToString(key) << " and " << ::testing::PrintToString(places);
    }
  }
}

TEST(ExactlyOnceBits, A2_EveryBitIsSetWhenACallerReturns) {
  for (const auto& key : keys_of(3)) {
    for (const World& world : explore_callers({key, key, {3, 1, 0}}).worlds) {
      for (const Caller& caller : world.callers) {
        ReplayedBits bits(caller.results);
        try {
          exactly_once_insert_bits(bits, caller.places);
        } catch (const Suspended&) {
          continue;
        }
        ASSERT_EQ(world.bits & mask_of(caller.places), mask_of(caller.places));
      }
    }
  }
}

// The explorer must be able to find a fault: this insert sets the places in order and counts
// whoever set any of them, and two callers can both be told they were first.
bool naive_insert(ReplayedBits& bits, std::span<const std::uint64_t> places) {
  bool changed = false;
  for (const auto place : places) {
    if (!bits.test(place)) changed |= !bits.test_and_set(place);
  }
  return changed;
}

// And this one sets a later place that coincides with the first missing one: then nobody wins.
bool insert_without_care_for_coinciding_places(ReplayedBits& bits,
                                               std::span<const std::uint64_t> places) {
  std::size_t first = places.size();
  for (std::size_t i = places.size(); i-- > 0;) {
    if (!bits.test(places[i])) first = i;
  }
  if (first == places.size()) return false;
  for (std::size_t i = places.size(); --i > first;)
    bits.test_and_set(places[i]);
  return !bits.test_and_set(places[first]);
}

TEST(ExactlyOnceBits, TheExplorerFindsTheFaultsOfNaiveInserts) {
  EXPECT_TRUE(explore_callers({{0, 1}, {0, 1}}, 0, naive_insert).outcomes.contains({true, true}));
  const auto careless =
      explore_callers({{0, 1, 0}, {0, 1, 0}}, 0, insert_without_care_for_coinciding_places);
  EXPECT_TRUE(careless.outcomes.contains({false, false}));
}

}  // namespace
}  // namespace trawl
