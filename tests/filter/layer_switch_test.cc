// Runs the real insert_through_layers() and begin_newest_layer() under every interleaving of their
// steps, with layers that are sets: each step on a layer is atomic.
#include "filter/growing/layer_switch.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

// Table 0 has layer 0 alone; tables 2 i - 1 and 2 i are those while and after layer i is begun.
constexpr std::size_t layers_of(int table) {
  return static_cast<std::size_t>((table + 1) / 2) + 1;
}
constexpr LayerPhase phase_of(int table) {
  return table % 2 == 1 ? LayerPhase::kBoth : LayerPhase::kStable;
}

enum class Kind { kEnter, kLoad, kFind, kInsert, kLeave, kPublish, kBeginWait, kEndWait };
struct Step {
  Kind kind;
  std::size_t layer = 0;
  int table = 0;
};

// Thrown when an actor needs the result of a step that has not been scheduled yet.
struct Suspended {
  Step step;
};

// Answers an actor's steps from the results recorded so far. Since an actor's next step depends on
// nothing but those, running it again from the start is resuming it.
class Replay {
 public:
  explicit Replay(const std::vector<int>& results) : results_(results) {}
  int next(Step step) {
    if (at_ == results_.size()) throw Suspended{step};
    return results_[at_++];
  }

 private:
  const std::vector<int>& results_;
  std::size_t at_ = 0;
};

// The one key that all callers insert.
class OneKey {
 public:
  explicit OneKey(Replay& steps) : steps_(steps) {}
  void drop_found_in(std::size_t layer) {
    if (left_ && steps_.next({Kind::kFind, layer}) != 0) left_ = false;
  }
  void insert_in(std::size_t layer) {
    if (left_ && steps_.next({Kind::kInsert, layer}) == 0) left_ = false;
  }
  bool left() const { return left_; }

 private:
  Replay& steps_;
  bool left_ = true;
};

bool insert(Replay& steps) {
  steps.next({Kind::kEnter});
  const int table = steps.next({Kind::kLoad});
  OneKey key(steps);
  insert_through_layers(key, layers_of(table), phase_of(table));
  steps.next({Kind::kLeave});
  return key.left();
}

struct Grower {
  Replay& steps;
  int last_table;  // that with the new layer in use
  void publish(LayerPhase phase) {
    const int table = phase == LayerPhase::kBoth ? last_table - 1 : last_table;
    steps.next({.kind = Kind::kPublish, .table = table});
  }
  void wait_for_operations() {
    steps.next({Kind::kBeginWait});
    steps.next({Kind::kEndWait});
  }
};

using Growth = std::function<void(Grower&)>;

struct World {
  int table = 0;
  std::array<bool, 4> has_key{};            // of each layer
  std::set<std::size_t> inside;             // callers that entered and have not left
  std::set<std::size_t> waited_for;         // by the grower
  std::vector<std::vector<int>> results{};  // of the callers' steps and, last, of the grower's
  auto operator<=>(const World&) const = default;

  bool in_a_layer_of_the_table() const {
    return std::any_of(has_key.begin(), has_key.begin() + layers_of(table),
                       [](bool has) { return has; });
  }
};

// Takes the step if it can be taken now, and returns whether.
bool take(const Step& step, std::size_t actor, World& world) {
  int result = 0;
  switch (step.kind) {
    case Kind::kEnter:
      world.inside.insert(actor);
      break;
    case Kind::kLeave:
      world.inside.erase(actor);
      world.waited_for.erase(actor);
      break;
    case Kind::kLoad:
      result = world.table;
      break;
    case Kind::kFind:
      result = world.has_key[step.layer] ? 1 : 0;
      break;
    case Kind::kInsert:
      result = world.has_key[step.layer] ? 0 : 1;
      world.has_key[step.layer] = true;
      break;
    case Kind::kPublish:
      world.table = step.table;
      break;
    case Kind::kBeginWait:
      world.waited_for = world.inside;
      break;
    case Kind::kEndWait:
      if (!world.waited_for.empty()) return false;
      break;
  }
  world.results[actor].push_back(result);
  return true;
}

class Explorer {
 public:
  Explorer(std::size_t callers, int switches, Growth growth)
      : callers_(callers), switches_(switches), growth_(std::move(growth)) {
    World start;
    start.results.resize(callers + 1);
    explore(start);
  }

  // How many callers were told "new", over all complete runs.
  const std::set<std::ptrdiff_t>& winners() const { return winners_; }
  // Whether there is a moment when a caller has its answer and lookups would not find the key.
  bool loses_the_key() const { return loses_the_key_; }
  std::size_t worlds() const { return worlds_.size(); }

 private:
  void explore(const World& world) {
    if (!worlds_.insert(world).second) return;
    std::ptrdiff_t told_new = 0;
    std::size_t ended = 0;
    for (std::size_t actor = 0; actor <= callers_; ++actor) {
      Replay steps(world.results[actor]);
      try {
        if (actor < callers_) {
          told_new += insert(steps) ? 1 : 0;
          loses_the_key_ |= !world.in_a_layer_of_the_table();
        } else {
          for (int i = 1; i <= switches_; ++i) {
            Grower grower{steps, 2 * i};
            growth_(grower);
          }
        }
        ++ended;
      } catch (const Suspended& suspended) {
        World next = world;
        if (take(suspended.step, actor, next)) explore(next);
      }
    }
    if (ended == callers_ + 1) winners_.insert(told_new);
  }

  std::size_t callers_;
  int switches_;
  Growth growth_;
  std::set<World> worlds_;
  std::set<std::ptrdiff_t> winners_;
  bool loses_the_key_ = false;
};

const std::set<std::ptrdiff_t> kExactlyOne{1};

void as_it_is(Grower& grower) {
  begin_newest_layer(grower);
}

TEST(LayerSwitch, A1_OfTwoCallersExactlyOneIsFirstInEveryInterleaving) {
  for (const int switches : {0, 1, 2, 3}) {
    SCOPED_TRACE(switches);
    const Explorer all(2, switches, as_it_is);
    EXPECT_EQ(all.winners(), kExactlyOne);
    EXPECT_FALSE(all.loses_the_key());
  }
}

TEST(LayerSwitch, A1_OfThreeCallersExactlyOneIsFirstInEveryInterleaving) {
  for (const int switches : {1, 2}) {
    SCOPED_TRACE(switches);
    const Explorer all(3, switches, as_it_is);
    EXPECT_EQ(all.winners(), kExactlyOne);
    EXPECT_FALSE(all.loses_the_key());
    EXPECT_GT(all.worlds(), 1000u) << "the callers and the grower do interleave";
  }
}

// The explorer must be able to find a fault.
TEST(LayerSwitch, WithoutInsertingInBothTwoCallersCanBeFirst) {
  const auto leave_out_both = [](Grower& grower) {
    grower.wait_for_operations();
    grower.publish(LayerPhase::kStable);
    grower.wait_for_operations();
  };
  EXPECT_TRUE(Explorer(2, 1, leave_out_both).winners().contains(2));
}

TEST(LayerSwitch, WithoutTheGracePeriodTwoCallersCanBeFirst) {
  const auto leave_out_wait = [](Grower& grower) {
    grower.publish(LayerPhase::kBoth);
    grower.publish(LayerPhase::kStable);
    grower.wait_for_operations();
  };
  EXPECT_TRUE(Explorer(2, 1, leave_out_wait).winners().contains(2));
}

TEST(LayerSwitch, WithAGracePeriodThatComesTooEarlyTwoCallersCanBeFirst) {
  const auto wait_first = [](Grower& grower) {
    grower.wait_for_operations();
    grower.publish(LayerPhase::kBoth);
    grower.publish(LayerPhase::kStable);
  };
  EXPECT_TRUE(Explorer(2, 1, wait_first).winners().contains(2));
}

}  // namespace
}  // namespace trawl
