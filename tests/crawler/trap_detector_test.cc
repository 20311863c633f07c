#include "crawler/decide/trap_detector.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

CrawlConfig::Scope limits(std::uint32_t slow, std::uint32_t park) {
  CrawlConfig::Scope config;
  config.slow_pattern_after = slow;
  config.park_pattern_after = park;
  return config;
}

Url calendar(int day) {
  return *Url::parse("http://h.test/calendar/" + std::to_string(day) + "?view=day");
}

TEST(TrapDetector, PagesWithoutNewContentSlowAPatternAndParkIt) {
  TrapDetector traps(limits(3, 5));
  EXPECT_EQ(traps.state(calendar(0)), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(1), false), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(2), false), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(3), false), PatternState::kSlow);
  EXPECT_EQ(traps.state(calendar(99)), PatternState::kSlow);
  EXPECT_EQ(traps.on_page(calendar(4), false), PatternState::kSlow);
  EXPECT_EQ(traps.on_page(calendar(5), false), PatternState::kParked);
  EXPECT_EQ(traps.state(calendar(99)), PatternState::kParked);
  EXPECT_EQ(traps.slowed(), 1u);
  EXPECT_EQ(traps.parked(), 1u);
}

TEST(TrapDetector, OtherPatternsGoOn) {
  TrapDetector traps(limits(1, 2));
  traps.on_page(calendar(1), false);
  traps.on_page(calendar(2), false);
  for (const char* other :
       {"http://h.test/calendar/", "http://h.test/about/1?view=day",
        "http://h.test/calendar/1?view=day&x", "http://other.test/calendar/1?view=day",
        "http://h.test:8080/calendar/1?view=day"})
    EXPECT_EQ(traps.state(*Url::parse(other)), PatternState::kOk) << other;
  EXPECT_EQ(traps.state(*Url::parse("https://h.test/calendar/77?view=week")),
            PatternState::kParked);
}

TEST(TrapDetector, NewContentHalvesTheCount) {
  TrapDetector traps(limits(4, 100));
  for (int i = 0; i < 4; ++i)
    traps.on_page(calendar(i), false);
  EXPECT_EQ(traps.state(calendar(0)), PatternState::kSlow);
  EXPECT_EQ(traps.on_page(calendar(5), true), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(6), false), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(7), false), PatternState::kSlow) << "two were left";
  EXPECT_EQ(traps.slowed(), 2u);
}

TEST(TrapDetector, APatternOfNewPagesIsNeverSlow) {
  TrapDetector traps(limits(2, 3));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(traps.on_page(calendar(i), true), PatternState::kOk);
    EXPECT_EQ(traps.on_page(calendar(i), i % 2 == 0), PatternState::kOk);
  }
  EXPECT_EQ(traps.slowed(), 0u);
}

TEST(TrapDetector, AFewNewPagesDoNotHideATrap) {
  TrapDetector traps(limits(20, 100));
  int pages = 0;
  while (traps.state(calendar(0)) != PatternState::kParked && pages < 10'000) {
    traps.on_page(calendar(pages), pages % 300 == 0);
    ++pages;
  }
  EXPECT_LT(pages, 300);
}

TEST(TrapDetector, ParkedStaysParked) {
  TrapDetector traps(limits(1, 2), 4);
  traps.on_page(calendar(1), false);
  traps.on_page(calendar(2), false);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(traps.on_page(calendar(i), true), PatternState::kParked);
    // Many others, so that what was met long ago is forgotten.
    traps.on_page(*Url::parse(fmt::format("http://h{}.test/", i)), true);
  }
  EXPECT_EQ(traps.state(calendar(3)), PatternState::kParked);
}

TEST(TrapDetector, EitherLimitMayBeOff) {
  TrapDetector never_slow(limits(0, 3));
  EXPECT_EQ(never_slow.on_page(calendar(1), false), PatternState::kOk);
  EXPECT_EQ(never_slow.on_page(calendar(2), false), PatternState::kOk);
  EXPECT_EQ(never_slow.on_page(calendar(3), false), PatternState::kParked);
  TrapDetector never_parked(limits(2, 0));
  for (int i = 0; i < 1000; ++i)
    never_parked.on_page(calendar(i), false);
  EXPECT_EQ(never_parked.state(calendar(0)), PatternState::kSlow);
  EXPECT_EQ(never_parked.on_page(calendar(0), true), PatternState::kOk) << "counted no further";
  TrapDetector off(limits(0, 0));
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(off.on_page(calendar(i), false), PatternState::kOk);
  EXPECT_EQ(off.patterns(), 0u);
}

TEST(TrapDetector, ParkingBeforeSlowingNeedsNoSlowing) {
  TrapDetector traps(limits(5, 2));
  EXPECT_EQ(traps.on_page(calendar(1), false), PatternState::kOk);
  EXPECT_EQ(traps.on_page(calendar(2), false), PatternState::kParked);
  EXPECT_EQ(traps.slowed(), 0u);
}

TEST(TrapDetector, RemembersOnlyPatternsThatHaveACount) {
  TrapDetector traps(limits(2, 9));
  for (int i = 0; i < 100; ++i)
    traps.on_page(calendar(i), true);
  EXPECT_EQ(traps.patterns(), 0u);
  for (int i = 0; i < 3; ++i)
    traps.on_page(calendar(i), false);
  EXPECT_EQ(traps.patterns(), 1u);
  EXPECT_EQ(traps.on_page(*Url::parse("http://other.test/"), true), PatternState::kOk);
  EXPECT_EQ(traps.patterns(), 1u);
  EXPECT_EQ(traps.on_page(calendar(0), true), PatternState::kOk) << "three are one";
  EXPECT_EQ(traps.on_page(calendar(1), true), PatternState::kOk) << "and none";
  EXPECT_EQ(traps.patterns(), 0u);
}

TEST(TrapDetector, RemembersSoManyPatternsAndNoMore) {
  TrapDetector traps(limits(1, 3), 10, 5);
  const auto url = [](int host) { return *Url::parse(fmt::format("http://h{}.test/x", host)); };
  for (int i = 0; i < 1000; ++i)
    traps.on_page(url(i), false);
  EXPECT_EQ(traps.patterns(), 10u);
  EXPECT_EQ(traps.state(url(999)), PatternState::kSlow);
  EXPECT_EQ(traps.state(url(0)), PatternState::kOk) << "forgotten";
  for (int i = 0; i < 100; ++i) {
    for (int n = 0; n < 3; ++n)
      traps.on_page(url(i), false);
  }
  EXPECT_LE(traps.patterns(), 15u);
  EXPECT_EQ(traps.state(url(99)), PatternState::kParked);
  EXPECT_EQ(traps.state(url(0)), PatternState::kOk) << "a parked one is forgotten, too, at last";
}

}  // namespace
}  // namespace trawl
