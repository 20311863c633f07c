// Runs calls on a small shared memory under every interleaving of their steps, and compares what
// they answer and leave behind with the same calls one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

namespace trawl::test {

// The calls read and write words, and take locks, through this; each such step is atomic, and
// others come between any two. A call's next step depends on nothing but the results of those
// before: running it again from its start with these results is resuming it.
class Steps {
 public:
  enum class Kind { kLoad, kStore, kFetchOr, kLock, kTryLock, kUnlock };
  struct Step {
    Kind kind;
    std::size_t at;
    std::uint64_t value = 0;
  };
  // Thrown when a call needs the result of a step that has not been taken yet.
  struct Suspended {
    Step step;
  };

  explicit Steps(const std::vector<std::uint64_t>& results) : results_(results) {}

  std::uint64_t load(std::size_t word) { return next({Kind::kLoad, word}); }
  void store(std::size_t word, std::uint64_t value) { next({Kind::kStore, word, value}); }
  std::uint64_t fetch_or(std::size_t word, std::uint64_t bits) {
    return next({Kind::kFetchOr, word, bits});
  }
  void lock(std::size_t lock) { next({Kind::kLock, lock}); }
  bool try_lock(std::size_t lock) { return next({Kind::kTryLock, lock}) != 0; }
  void unlock(std::size_t lock) { next({Kind::kUnlock, lock}); }

 private:
  std::uint64_t next(Step step) {
    if (at_ == results_.size()) throw Suspended{step};
    return results_[at_++];
  }
  const std::vector<std::uint64_t>& results_;
  std::size_t at_ = 0;
};

using Call = std::function<int(Steps&)>;

struct Memory {
  std::vector<std::uint64_t> words;
  std::uint64_t locks = 0;  // those held
  auto operator<=>(const Memory&) const = default;
};

// Takes the step and returns its result; or nothing if it has to wait for a lock.
inline bool take(const Steps::Step& step, Memory& memory, std::vector<std::uint64_t>& results) {
  std::uint64_t result = 0;
  const std::uint64_t lock = std::uint64_t{1} << step.at % 64;
  switch (step.kind) {
    case Steps::Kind::kLoad:
      result = memory.words[step.at];
      break;
    case Steps::Kind::kStore:
      memory.words[step.at] = step.value;
      break;
    case Steps::Kind::kFetchOr:
      result = memory.words[step.at];
      memory.words[step.at] |= step.value;
      break;
    case Steps::Kind::kLock:
      if ((memory.locks & lock) != 0) return false;
      memory.locks |= lock;
      break;
    case Steps::Kind::kTryLock:
      result = (memory.locks & lock) != 0 ? 0 : 1;
      memory.locks |= lock;
      break;
    case Steps::Kind::kUnlock:
      memory.locks &= ~lock;
      break;
  }
  results.push_back(result);
  return true;
}

// How a run of all calls can end.
struct Ending {
  std::vector<int> answers;
  std::vector<std::uint64_t> words;
  auto operator<=>(const Ending&) const = default;
};

// The calls one after the other, in the given order.
inline Ending run_in_order(const std::vector<Call>& calls, const std::vector<std::size_t>& order,
                           Memory memory) {
  Ending ending{.answers = std::vector<int>(calls.size()), .words = {}};
  for (const std::size_t i : order) {
    std::vector<std::uint64_t> results;
    for (bool ended = false; !ended;) {
      Steps steps(results);
      try {
        ending.answers[i] = calls[i](steps);
        ended = true;
      } catch (const Steps::Suspended& suspended) {
        if (!take(suspended.step, memory, results)) throw std::runtime_error("waits for itself");
      }
    }
  }
  ending.words = memory.words;
  return ending;
}

class Interleavings {
 public:
  Interleavings(std::vector<Call> calls, std::vector<std::uint64_t> words)
      : calls_(std::move(calls)), initial_{.words = std::move(words)} {
    std::vector<std::size_t> order(calls_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      in_order_[run_in_order(calls_, order, initial_)].push_back(order);
    } while (std::ranges::next_permutation(order).found);
    World world{.memory = initial_, .results = {}, .answers = {}, .after = {}};
    world.results.resize(calls_.size());
    world.answers.resize(calls_.size(), kNotEnded);
    world.after.resize(calls_.size());
    explore(world);
  }

  // How many runs, distinguished by their answers, words and which call ended before which began,
  // are those of no order of the calls that keeps those ended before others before them.
  std::size_t wrong() const { return wrong_; }
  // One of them.
  const Ending& example() const { return example_; }
  bool deadlocks() const { return deadlocks_; }
  const std::set<Ending>& endings() const { return endings_; }
  std::size_t worlds() const { return worlds_.size(); }

 private:
  static constexpr int kNotEnded = -1;
  struct World {
    Memory memory;
    std::vector<std::vector<std::uint64_t>> results;  // of each call's steps
    std::vector<int> answers;
    std::vector<unsigned> after;  // the calls that had ended when this one began
    auto operator<=>(const World&) const = default;
  };

  void explore(const World& world) {
    if (!worlds_.insert(world).second) return;
    bool moved = false;
    unsigned ended = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      ended |= (world.answers[i] != kNotEnded ? 1u : 0u) << i;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (world.answers[i] != kNotEnded) continue;
      World next = world;
      if (next.results[i].empty()) next.after[i] = ended;
      if (!advance(i, next)) continue;
      moved = true;
      explore(next);
    }
    if (ended == (1u << calls_.size()) - 1) {
      end(world);
    } else if (!moved) {
      deadlocks_ = true;
    }
  }

  // Takes the call's next step; false if it waits. A call ends with its last step.
  bool advance(std::size_t i, World& world) const {
    if (const auto next = next_step(i, world)) {
      if (!take(*next, world.memory, world.results[i])) return false;
    }
    if (!next_step(i, world)) {
      Steps steps(world.results[i]);
      world.answers[i] = calls_[i](steps);
      world.results[i] = {0};  // no longer of interest
    }
    return true;
  }
  std::optional<Steps::Step> next_step(std::size_t i, const World& world) const {
    Steps steps(world.results[i]);
    try {
      calls_[i](steps);
    } catch (const Steps::Suspended& suspended) {
      return suspended.step;
    }
    return {};
  }

  void end(const World& world) {
    const Ending ending{.answers = world.answers, .words = world.memory.words};
    endings_.insert(ending);
    const auto orders = in_order_.find(ending);
    if (orders != in_order_.end()) {
      for (const auto& order : orders->second) {
        if (keeps(order, world.after)) return;
      }
    }
    ++wrong_;
    example_ = ending;
  }

  static bool keeps(const std::vector<std::size_t>& order, const std::vector<unsigned>& after) {
    unsigned done = 0;
    for (const std::size_t i : order) {
      if ((after[i] & ~done) != 0) return false;
      done |= 1u << i;
    }
    return true;
  }

  std::vector<Call> calls_;
  Memory initial_;
  std::map<Ending, std::vector<std::vector<std::size_t>>> in_order_;
  std::set<World> worlds_;
  std::set<Ending> endings_;
  std::size_t wrong_ = 0;
  Ending example_;
  bool deadlocks_ = false;
};

}  // namespace trawl::test
