// Runs the real insert_through_layers() and begin_newest_layer() under every interleaving of their
// steps, with layers of a few bits: each step on a layer is atomic, since the inserts of a layer
// take effect one after the other (exactly_once_test.cc).
#include "filter/growing/layer_switch.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/interleavings.h"

namespace trawl {
namespace {

using test::Call;
using test::Interleavings;
using test::Steps;

// The words of the memory.
constexpr std::size_t kLayers = 0;  // how many there are in the table
constexpr std::size_t kFirstLayer = 1;
const std::vector<std::uint64_t> kOneLayer = {1, 0, 0, 0};

// An operation is inside while it has the lock of its caller; who has all locks is alone.
constexpr std::size_t kStripes = 3;
struct Gate {
  Steps& steps;
  template <class Function>
  void at_quiescence(const Function& function) {
    for (std::size_t i = 0; i < kStripes; ++i)
      steps.lock(i);
    function();
    for (std::size_t i = 0; i < kStripes; ++i)
      steps.unlock(i);
  }
};

// A key with these bits in every layer.
class OneKey {
 public:
  OneKey(Steps& steps, std::uint64_t bits) : steps_(steps), bits_(bits) {}
  void drop_found_in(std::size_t layer) {
    if (left_) left_ = (steps_.load(kFirstLayer + layer) & bits_) != bits_;
  }
  void insert_in(std::size_t layer) {
    if (left_) left_ = (steps_.fetch_or(kFirstLayer + layer, bits_) & bits_) != bits_;
  }
  bool left() const { return left_; }

 private:
  Steps& steps_;
  std::uint64_t bits_;
  bool left_ = true;
};

// As GrowingBloomFilter::insert(): a lookup, and the operation if that found nothing.
Call insert(std::size_t caller, std::uint64_t bits, bool looks_first) {
  return [=](Steps& steps) {
    if (looks_first) {
      OneKey key(steps, bits);
      for (std::size_t layer = steps.load(kLayers); layer > 0; --layer)
        key.drop_found_in(layer - 1);
      if (!key.left()) return 0;
    }
    steps.lock(caller);
    OneKey key(steps, bits);
    insert_through_layers(key, steps.load(kLayers));
    steps.unlock(caller);
    return key.left() ? 1 : 0;
  };
}

// One call a layer.
Call begin_layer() {
  return [=](Steps& steps) {
    constexpr std::size_t kGrowing = 10;
    Gate gate{steps};
    steps.lock(kGrowing);
    const std::uint64_t there = steps.load(kLayers);
    begin_newest_layer(gate, [&] { steps.store(kLayers, there + 1); });
    steps.unlock(kGrowing);
    return 0;
  };
}

void expect_right(const std::vector<Call>& calls) {
  const Interleavings all(calls, kOneLayer);
  EXPECT_EQ(all.wrong(), 0u);
  EXPECT_FALSE(all.deadlocks());
  EXPECT_GT(all.worlds(), 50u) << "the callers and the grower do interleave";
}

const std::vector<std::vector<std::uint64_t>> kPairs = {{1, 1}, {1, 2}, {3, 1}, {3, 3}, {3, 6}};

TEST(LayerSwitch, OfTwoCallersAllAnswersAndBitsAreThoseOfSomeOrder) {
  for (const bool looks_first : {false, true}) {
    for (const auto& keys : kPairs) {
      SCOPED_TRACE(testing::PrintToString(keys));
      expect_right(
          {insert(0, keys[0], looks_first), insert(1, keys[1], looks_first), begin_layer()});
      expect_right({insert(0, keys[0], looks_first), insert(1, keys[1], looks_first), begin_layer(),
                    begin_layer()});
    }
  }
}

TEST(LayerSwitch, OfThreeCallersAllAnswersAndBitsAreThoseOfSomeOrder) {
  using Bits = std::vector<std::uint64_t>;
  for (const Bits& keys : {Bits{1, 1, 1}, Bits{3, 1, 2}, Bits{3, 6, 5}, Bits{3, 3, 1}}) {
    SCOPED_TRACE(testing::PrintToString(keys));
    expect_right({insert(0, keys[0], true), insert(1, keys[1], false), insert(2, keys[2], false),
                  begin_layer()});
  }
}

// The explorer must be able to find a fault.
TEST(LayerSwitch, WhileOperationsAreUnderWayATableMustNotBePublished) {
  const auto begin_at_any_time = [](Steps& steps) {
    steps.store(kLayers, 2);
    return 0;
  };
  for (const auto& keys : {kPairs[0], kPairs[2]}) {
    const Interleavings all(
        {insert(0, keys[0], false), insert(1, keys[1], false), begin_at_any_time}, kOneLayer);
    EXPECT_GT(all.wrong(), 0u);
  }
}

// The rule of earlier versions: operations that find a layer being begun insert in the layer before
// and then in it, and only those that may go by an older table are waited for. Of one key exactly
// one is new; but with different keys answers and bits can be those of no order.
Call insert_in_both(std::size_t caller, std::uint64_t bits) {
  return [=](Steps& steps) {
    steps.lock(caller);
    const std::uint64_t table = steps.load(kLayers);  // 2: being begun, 3: begun
    OneKey key(steps, bits);
    if (table == 3) key.drop_found_in(0);
    if (table <= 2) key.insert_in(0);
    if (table >= 2) key.insert_in(1);
    steps.unlock(caller);
    return key.left() ? 1 : 0;
  };
}

TEST(LayerSwitch, InsertingInBothLayersLeavesKeysOutOfOrder) {
  const auto begin = [](Steps& steps) {
    steps.store(kLayers, 2);
    Gate{steps}.at_quiescence([] {});
    steps.store(kLayers, 3);
    return 0;
  };
  const Interleavings same({insert_in_both(0, 1), insert_in_both(1, 1), begin}, kOneLayer);
  for (const auto& ending : same.endings())
    EXPECT_EQ(ending.answers[0] + ending.answers[1], 1);
  const Interleavings different({insert_in_both(0, 3), insert_in_both(1, 1), begin}, kOneLayer);
  EXPECT_GT(different.wrong(), 0u);
}

}  // namespace
}  // namespace trawl
