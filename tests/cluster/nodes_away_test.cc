// NodesAway: who is asked again, when, and how long that may take.
#include "frontier/shared/nodes_away.h"

#include <chrono>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;
using Ask = NodesAway::Ask;

const NodesAway::Node kNode = RedisAddress{.host = "127.0.0.1", .port = 7000};
const NodesAway::Node kOther = RedisAddress{.host = "127.0.0.1", .port = 7001};

class NodesAwayTest : public testing::Test {
 protected:
  void pass(milliseconds time) { now_ += time; }
  // Asks, and hears nothing, if it may ask.
  Ask ask_in_vain() {
    const Ask ask = away_.may_ask(kNode, now_);
    if (ask != Ask::kNot) away_.note_away(kNode, "it is away", now_);
    return ask;
  }

  NodesAway away_;
  NodesAway::Time now_{std::chrono::hours(1)};
};

TEST_F(NodesAwayTest, ANodeThatIsAwayIsAskedByOneAtGrowingIntervals) {
  EXPECT_EQ(ask_in_vain(), Ask::kBriefly);
  for (const int pause : {250, 500, 1000, 2000, 2000}) {
    pass(milliseconds(pause - 1));
    EXPECT_EQ(away_.may_ask(kNode, now_), Ask::kNot) << pause;
    EXPECT_EQ(away_.may_ask(kOther, now_), Ask::kBriefly);
    pass(milliseconds(1));
    EXPECT_EQ(ask_in_vain(), Ask::kBriefly) << pause;
    EXPECT_EQ(away_.may_ask(kNode, now_), Ask::kNot) << "one asks";
  }
  away_.note_answer(kNode);
  EXPECT_EQ(away_.may_ask(kNode, now_), Ask::kBriefly);
  EXPECT_EQ(away_.may_ask(kNode, now_), Ask::kBriefly) << "all ask";
}

TEST_F(NodesAwayTest, EachTenSecondsTheAnswerIsWaitedForLonger) {
  int asked = 0, patiently = 0;
  for (int i = 0; i < 310; ++i, pass(milliseconds(100))) {
    const Ask ask = ask_in_vain();
    asked += ask == Ask::kNot ? 0 : 1;
    patiently += ask == Ask::kPatiently ? 1 : 0;
  }
  EXPECT_GE(asked, 15);
  EXPECT_EQ(patiently, 2) << "after 10 s or a little more, and again";
}

TEST_F(NodesAwayTest, AReaderWaitsWhenItHasAskedForMoreThanAMoment) {
  ask_in_vain();
  EXPECT_EQ(away_.waits_for(now_), "");
  for (int i = 0; i < 40; ++i, pass(milliseconds(100)))
    ask_in_vain();
  EXPECT_EQ(away_.waits_for(now_), "it is away");
  pass(milliseconds(7000));
  EXPECT_EQ(away_.waits_for(now_), "") << "nobody has asked for long";
  ask_in_vain();
  EXPECT_EQ(away_.waits_for(now_), "") << "it is away another time";
  pass(milliseconds(250));
  EXPECT_EQ(ask_in_vain(), Ask::kBriefly) << "after the first pause, not the longest";
}

}  // namespace
}  // namespace trawl
