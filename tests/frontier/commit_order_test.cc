// The protocol of CommitQueue as a model, under every interleaving of its steps: operations that
// set and find bits inside the gate, and two threads that commit. Each version without one of its
// rules must fail.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/interleavings.h"

namespace trawl {
namespace {

using test::Call;
using test::Interleavings;
using test::Steps;

// The words of the memory. Operations are bits in all but the first and the last.
enum Word : std::size_t { kFilter, kWinner, kRelying, kQueue, kDurable, kViolated, kWords };
// An operation is inside the gate while it has the lock of its number.
constexpr std::size_t kOperations = 2;
constexpr std::size_t kCommitting = 10;

struct Rules {
  bool one_commits = true;    // CommitQueue::committing_
  bool at_quiescence = true;  // a group is collected while no operation is inside
  bool queued_inside = true;  // an operation is queued before it leaves the gate
};

// Offers the one URL there is.
Call operation(std::size_t number, Rules rules) {
  return [=](Steps& steps) {
    const std::uint64_t bit = std::uint64_t{1} << number;
    steps.lock(number);
    const bool won = steps.fetch_or(kFilter, 1) == 0;
    steps.fetch_or(won ? kWinner : kRelying, bit);
    if (!rules.queued_inside) steps.unlock(number);
    steps.fetch_or(kQueue, bit);
    if (rules.queued_inside) steps.unlock(number);
    return 0;
  };
}

// As help(): gives up if another thread commits; or as the committer, which waits for it.
Call commit(bool waits, Rules rules) {
  return [=](Steps& steps) {
    if (rules.one_commits) {
      if (waits) {
        steps.lock(kCommitting);
      } else if (!steps.try_lock(kCommitting)) {
        return 0;
      }
    }
    for (std::size_t i = 0; i < kOperations && rules.at_quiescence; ++i)
      steps.lock(i);
    const std::uint64_t group = steps.load(kQueue);
    steps.store(kQueue, 0);
    for (std::size_t i = 0; i < kOperations && rules.at_quiescence; ++i)
      steps.unlock(i);
    const std::uint64_t durable = steps.fetch_or(kDurable, group) | group;
    // N4: what is durable has what it relied on.
    if ((durable & steps.load(kRelying)) != 0 && (durable & steps.load(kWinner)) == 0)
      steps.store(kViolated, 1);
    if (rules.one_commits) steps.unlock(kCommitting);
    return 0;
  };
}

bool keeps_n4(Rules rules) {
  const Interleavings all(
      {operation(0, rules), operation(1, rules), commit(false, rules), commit(true, rules)},
      std::vector<std::uint64_t>(kWords));
  EXPECT_FALSE(all.deadlocks());
  bool kept = true;
  for (const auto& ending : all.endings())
    kept &= ending.words[kViolated] == 0;
  return kept;
}

TEST(CommitOrder, N4_WhoeverCommitsWhatAnOperationReliedOnIsDurableFirst) {
  EXPECT_TRUE(keeps_n4({}));
}

TEST(CommitOrder, N4_FailsWithoutAnyOfItsRules) {
  EXPECT_FALSE(keeps_n4({.one_commits = false}));
  EXPECT_FALSE(keeps_n4({.at_quiescence = false}));
  EXPECT_FALSE(keeps_n4({.queued_inside = false}));
}

}  // namespace
}  // namespace trawl
