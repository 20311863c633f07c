// Runs the inserts of the filters under every interleaving of their steps: same and different keys,
// two and three callers. Their answers and the bits they leave must be those of the same calls one
// after the other.
#include "filter/bits/exactly_once.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/blocked/block_key.h"
#include "filter/classic/classic_key.h"
#include "filter/counting/counting_key.h"
#include "tests/filter/interleavings.h"

namespace trawl {
namespace {

using test::Call;
using test::Interleavings;
using test::Steps;
using Places = std::vector<std::uint64_t>;

// Each with itself and with those after it: the explorer runs both orders.
template <class Key>
std::vector<std::vector<Key>> all_pairs(const std::vector<Key>& keys) {
  std::vector<std::vector<Key>> pairs;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = i; j < keys.size(); ++j)
      pairs.push_back({keys[i], keys[j]});
  }
  return pairs;
}

// Where the places of a small flat filter lie, and which share a lock.
struct Layout {
  std::uint64_t places_per_word;
  std::uint64_t stripes;
};

class FakeLocks {
 public:
  struct Lock {
    Steps& steps;
    std::uint64_t stripe;
    void lock() const { steps.lock(stripe); }
    bool try_lock() const { return steps.try_lock(stripe); }
    void unlock() const { steps.unlock(stripe); }
  };
  explicit FakeLocks(Steps& steps) : steps_(steps) {}
  Lock operator[](std::uint64_t stripe) const { return {steps_, stripe}; }

 private:
  Steps& steps_;
};

// What a ClassicKey is run on.
struct FakeBits {
  FakeBits(Steps& with, Layout of) : steps(with), layout(of), locks(with) {}

  std::uint64_t word_of(std::uint64_t place) const { return place / layout.places_per_word; }
  std::uint64_t stripe_of(std::uint64_t place) const { return word_of(place) % layout.stripes; }
  void fetch_lock(std::uint64_t) const {}
  bool test(std::uint64_t place) const { return (steps.load(word_of(place)) >> place & 1) != 0; }
  void set(std::uint64_t place) const {
    const std::uint64_t before = steps.load(word_of(place));
    steps.store(word_of(place), before | std::uint64_t{1} << place);
  }

  Steps& steps;
  Layout layout;
  FakeLocks locks;
};

using FlatInsert = bool (*)(const FakeBits& bits, const Places& places);

bool insert_as_it_is(const FakeBits& bits, const Places& places) {
  ClassicKey key(bits, places);
  return exactly_once_insert(key);
}

constexpr std::uint64_t kPlaces = 3;

std::vector<std::uint64_t> words_with(std::uint64_t bits, Layout layout) {
  std::vector<std::uint64_t> words(kPlaces / layout.places_per_word + 1);
  for (std::uint64_t place = 0; place < kPlaces; ++place)
    words[place / layout.places_per_word] |= bits & std::uint64_t{1} << place;
  return words;
}

Interleavings explore(const std::vector<Places>& keys, std::uint64_t bits_before, Layout layout,
                      FlatInsert insert = insert_as_it_is) {
  std::vector<Call> calls;
  for (const Places& key : keys)
    calls.emplace_back([=](Steps& steps) { return insert(FakeBits(steps, layout), key) ? 1 : 0; });
  return {calls, words_with(bits_before, layout)};
}

std::string named(const std::vector<Places>& keys, std::uint64_t before) {
  return testing::PrintToString(keys) + " after bits " + std::to_string(before);
}

constexpr Layout kLayouts[] = {
    {.places_per_word = 1, .stripes = 3},
    {.places_per_word = 1, .stripes = 2},  // the first and the last share a lock
    {.places_per_word = 2, .stripes = 2},  // the first two share a word
};

// Sequences of places, without and with places that coincide.
const std::vector<Places> kKeys = {{0},    {1},       {0, 1},    {1, 0}, {1, 2},
                                   {2, 0}, {0, 1, 2}, {2, 1, 0}, {0, 0}, {1, 0, 1}};

TEST(ExactlyOnce, OfTwoCallersOfAClassicFilterAllAnswersAndBitsAreThoseOfSomeOrder) {
  std::size_t worlds = 0;
  for (const Layout layout : kLayouts) {
    for (const auto& keys : all_pairs(kKeys)) {
      for (const std::uint64_t before : {0u, 1u, 4u}) {
        const Interleavings all = explore(keys, before, layout);
        ASSERT_EQ(all.wrong(), 0u) << named(keys, before);
        ASSERT_FALSE(all.deadlocks()) << named(keys, before);
        worlds += all.worlds();
      }
    }
  }
  EXPECT_GT(worlds, 50'000u) << "the callers do interleave";
}

TEST(ExactlyOnce, OfThreeCallersOfAClassicFilterAllAnswersAndBitsAreThoseOfSomeOrder) {
  const std::vector<std::vector<Places>> chosen = {
      {{0, 1}, {0, 1}, {0, 1}}, {{0, 1}, {0, 1}, {1, 0}}, {{0, 1}, {0, 1}, {1, 2}},
      {{0, 1}, {1, 2}, {2, 0}}, {{0, 1}, {0}, {1}},       {{0, 1}, {0}, {0}},
      {{0, 1, 2}, {1}, {2}},    {{0, 1}, {1, 0}, {0}},    {{1, 0}, {2, 0}, {0}}};
  for (const auto& keys : chosen) {
    for (const Layout layout : kLayouts) {
      const Interleavings all = explore(keys, 0, layout);
      ASSERT_EQ(all.wrong(), 0u) << named(keys, 0);
      ASSERT_FALSE(all.deadlocks()) << named(keys, 0);
    }
  }
}

// The explorer must be able to find faults. The rule of earlier versions: set the missing bits, the
// first of them last; new iff that changed it. At most one caller of a key is new, but a caller
// that set other bits itself and then loses the first one to another key is not, in neither order.
bool insert_without_a_trace(const FakeBits& bits, const Places& places) {
  Places missing;
  for (const std::uint64_t place : places) {
    if (!bits.test(place)) missing.push_back(place);
  }
  if (missing.empty()) return false;
  const auto set = [&](std::uint64_t place) {
    const std::uint64_t bit = std::uint64_t{1} << place;
    return (bits.steps.fetch_or(bits.word_of(place), bit) & bit) == 0;
  };
  for (std::size_t i = missing.size(); --i > 0;) {
    if (missing[i] != missing[0]) set(missing[i]);
  }
  return set(missing[0]);
}

// A wrong algorithm: every caller that changed a bit is new, so two callers of one key are.
bool insert_by_any_bit(const FakeBits& bits, const Places& places) {
  bool changed = false;
  for (const std::uint64_t place : places) {
    const std::uint64_t bit = std::uint64_t{1} << place;
    changed |= (bits.steps.fetch_or(bits.word_of(place), bit) & bit) == 0;
  }
  return changed;
}

// Any-bit, with the calls of one key one after the other: two keys with the same bits are new.
bool insert_by_any_bit_with_a_lock_a_key(const FakeBits& bits, const Places& places) {
  const std::uint64_t lock = 10 + places.front();
  bits.locks[lock].lock();
  const bool changed = insert_by_any_bit(bits, places);
  bits.locks[lock].unlock();
  return changed;
}

bool insert_without_asking_again(const FakeBits& bits, const Places& places) {
  ClassicKey key(bits, places);
  if (key.is_in()) return false;
  key.lock_and_ask();
  key.add_and_unlock();
  return true;
}

// The locks of the first place only.
bool insert_with_one_lock(const FakeBits& bits, const Places& places) {
  const auto is_set = [&](std::uint64_t place) { return bits.test(place); };
  if (std::ranges::all_of(places, is_set)) return false;
  bits.locks[places.front()].lock();
  const bool is_new = !std::ranges::all_of(places, is_set);
  for (const std::uint64_t place : places)
    bits.set(place);
  bits.locks[places.front()].unlock();
  return is_new;
}

// Waits for the locks in the order of the places.
bool insert_with_locks_in_any_order(const FakeBits& bits, const Places& places) {
  for (const std::uint64_t place : places)
    bits.locks[place].lock();
  const bool is_new = insert_by_any_bit(bits, places);
  for (const std::uint64_t place : places)
    bits.locks[place].unlock();
  return is_new;
}

TEST(ExactlyOnce, TheExplorerFindsTheFaultsOfOtherInserts) {
  const Layout layout{.places_per_word = 1, .stripes = 3};
  const auto wrong = [&](const std::vector<Places>& keys, FlatInsert insert) {
    return explore(keys, 0, layout, insert).wrong();
  };
  const std::vector<Places> same{{0, 1}, {0, 1}}, different{{0, 1}, {0}}, swapped{{0, 1}, {1, 0}};
  EXPECT_EQ(wrong(same, insert_without_a_trace), 0u);
  const Interleavings lost = explore(different, 0, layout, insert_without_a_trace);
  EXPECT_GT(lost.wrong(), 0u);
  EXPECT_EQ(lost.example().answers, (std::vector{0, 1})) << "the first key is lost";
  EXPECT_GT(wrong(same, insert_by_any_bit), 0u);
  EXPECT_EQ(wrong(same, insert_by_any_bit_with_a_lock_a_key), 0u);
  EXPECT_GT(wrong(swapped, insert_by_any_bit_with_a_lock_a_key), 0u);
  EXPECT_GT(wrong(same, insert_without_asking_again), 0u);
  EXPECT_GT(wrong(swapped, insert_with_one_lock), 0u);
  EXPECT_TRUE(explore(swapped, 0, layout, insert_with_locks_in_any_order).deadlocks());
}

// The results of lookups during inserts. That it finds a key is in the order of the calls; that it
// does not says that no insert of the key had ended when it began.
TEST(ExactlyOnce, ALookupBesideInsertsFindsWhatItMay) {
  for (const Places& asked : {Places{0, 1}, Places{1}, Places{1, 0}}) {
    std::vector<Call> calls;
    const Layout layout = kLayouts[0];
    for (const Places& key : {Places{0, 1}, Places{1, 2}})
      calls.emplace_back([=](Steps& steps) { return insert_as_it_is({steps, layout}, key); });
    calls.emplace_back([=](Steps& steps) {
      const FakeBits bits(steps, layout);
      return ClassicKey(bits, asked).is_in();
    });
    const Interleavings all(calls, words_with(0, layout));
    // Here no answer depends on two lookups, so that all are in order.
    EXPECT_EQ(all.wrong(), 0u) << testing::PrintToString(asked);
  }
}

// What a BlockKey is run on.
struct FakeBlock {
  Steps* steps;
  std::uint64_t load(unsigned w) const { return steps->load(w); }
  void store(unsigned w, std::uint64_t bits) { steps->store(w, bits); }
  void lock() { steps->lock(0); }
  void unlock() { steps->unlock(0); }
};

// The first words of a block, each with some of its bits.
BlockMasks masks(std::initializer_list<std::uint64_t> words) {
  BlockMasks masks{};
  std::ranges::copy(words, masks.words.begin());
  return masks;
}

Interleavings explore_block(const std::vector<BlockMasks>& keys, const BlockMasks& before) {
  std::vector<Call> calls;
  for (const BlockMasks& key : keys) {
    calls.emplace_back([key](Steps& steps) {
      BlockKey inserted(FakeBlock{&steps}, key);
      return exactly_once_insert(inserted) ? 1 : 0;
    });
  }
  return {calls, {before.words.begin(), before.words.end()}};
}

TEST(ExactlyOnce, OfCallersOfABlockedFilterAllAnswersAndBitsAreThoseOfSomeOrder) {
  const std::vector<BlockMasks> keys = {masks({1, 1}), masks({1}), masks({0, 1}), masks({3, 1, 1}),
                                        masks({2, 1})};
  for (const BlockMasks& before : {masks({}), masks({1}), masks({0, 1})}) {
    for (const auto& pair : all_pairs(keys)) {
      const Interleavings all = explore_block(pair, before);
      ASSERT_EQ(all.wrong(), 0u);
      ASSERT_FALSE(all.deadlocks());
    }
  }
  for (const auto& three :
       {std::vector{keys[0], keys[0], keys[1]}, std::vector{keys[0], keys[1], keys[2]}}) {
    const Interleavings all = explore_block(three, masks({}));
    ASSERT_EQ(all.wrong(), 0u);
    EXPECT_GT(all.worlds(), 1'000u) << "the callers do interleave";
  }
}

// What a CountingKey is run on: counters of a word each.
struct FakeCounters {
  explicit FakeCounters(Steps& with) : steps(with), locks(with) {}
  std::uint64_t count(std::uint64_t place) const { return steps.load(place); }
  void set(std::uint64_t place, std::uint64_t count) const { steps.store(place, count); }
  std::uint64_t stripe_of(std::uint64_t place) const { return place % 2; }
  Steps& steps;
  FakeLocks locks;
};

Call count_up(const Places& places) {
  return [=](Steps& steps) {
    const FakeCounters counters(steps);
    return CountingKey(counters, places).count_up() ? 1 : 0;
  };
}
Call count_down(const Places& places) {
  return [=](Steps& steps) {
    const FakeCounters counters(steps);
    return static_cast<int>(CountingKey(counters, places).count_down());
  };
}

TEST(ExactlyOnce, OfCallersOfACountingFilterAllAnswersAndCountsAreThoseOfSomeOrder) {
  const std::vector<Places> keys = {{0, 1}, {1, 0}, {0}, {1, 2}, {2, 0}};
  const auto expect_right = [](const std::vector<Call>& calls,
                               const std::vector<std::uint64_t>& before) {
    const Interleavings all(calls, before);
    EXPECT_EQ(all.wrong(), 0u);
    EXPECT_FALSE(all.deadlocks());
  };
  const std::vector<std::uint64_t> empty(3);
  for (const std::vector<std::uint64_t>& before : {empty, {1, 1, 0}, {14, kStuckCounter, 1}}) {
    for (const Places& one : keys) {
      for (const Places& other : keys) {
        expect_right({count_up(one), count_up(other)}, before);
        expect_right({count_up(one), count_down(other)}, before);
        expect_right({count_down(one), count_down(other)}, before);
      }
    }
  }
  expect_right({count_up({0, 1}), count_up({0, 1}), count_up({1, 2})}, empty);
  expect_right({count_up({0, 1}), count_up({1, 0}), count_down({0, 1})}, empty);
  expect_right({count_up({0, 1}), count_down({1, 2}), count_up({2, 0})}, empty);
}

}  // namespace
}  // namespace trawl
