#include "base/rfc3339.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace trawl {
namespace {

SystemTime at(std::int64_t milliseconds) {
  return SystemTime(std::chrono::milliseconds(milliseconds));
}

TEST(Rfc3339, IsUtcWithMillisecondsRoundedDown) {
  EXPECT_EQ(to_rfc3339(at(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_rfc3339(at(1'700'000'000'042)), "2023-11-14T22:13:20.042Z");
  EXPECT_EQ(to_rfc3339(at(1'709'251'199'999) + std::chrono::microseconds(999)),
            "2024-02-29T23:59:59.999Z");
  EXPECT_EQ(to_rfc3339(at(-1)), "1969-12-31T23:59:59.999Z");
  using Clock = std::chrono::system_clock;
  EXPECT_EQ(to_rfc3339(Clock::time_point::min()), "1677-09-21T00:12:43.145Z");
  EXPECT_EQ(to_rfc3339(Clock::time_point::max()), "2262-04-11T23:47:16.854Z");
}

TEST(Rfc3339, HasTheDigitsAskedFor) {
  const SystemTime time = at(1'700'000'000'042) + std::chrono::microseconds(678);
  EXPECT_EQ(to_rfc3339(time, 0), "2023-11-14T22:13:20Z");
  EXPECT_EQ(to_rfc3339(time, 1), "2023-11-14T22:13:20.0Z");
  EXPECT_EQ(to_rfc3339(time, 6), "2023-11-14T22:13:20.042678Z");
  const std::chrono::sys_seconds late = std::chrono::sys_days(std::chrono::year(9999) / 12 / 31);
  EXPECT_EQ(to_rfc3339(SystemMicroseconds(late), 0), "9999-12-31T00:00:00Z");
}

TEST(Rfc3339, IsReadWithAnyOffsetAndFraction) {
  const SystemTime time = at(1'700'000'000'042);
  EXPECT_EQ(parse_rfc3339("2023-11-14T22:13:20.042Z"), time);
  EXPECT_EQ(parse_rfc3339("2023-11-14 22:13:20.042999999z"), time);
  EXPECT_EQ(parse_rfc3339("2023-11-15T00:13:20.042+02:00"), time);
  EXPECT_EQ(parse_rfc3339("2023-11-14T16:43:20.042-05:30"), time);
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2017-01-01T00:00:00Z"));
}

TEST(Rfc3339, WhatIsNoTimeIsNothing) {
  for (const char* text : {"", "2023", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13Z",
                           "2023-02-29T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:60:20Z",
                           "2023-11-14T22:13:61Z", "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20Zx",
                           "2023-11-14T22:13:20+24:00", "2023-11-14T22:13:20+0200",
                           "23-11-14T22:13:20Z", " 2023-11-14T22:13:20Z", "1677-12-31T23:59:59Z",
                           "2262-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

TEST(Rfc3339, WhatIsWrittenIsReadBack) {
  std::mt19937_64 random(20260101);
  std::uniform_int_distribution<std::int64_t> times(-9'214'560'000'000, 9'214'646'399'999);
  for (int i = 0; i < 10'000; ++i) {
    const SystemTime time = at(times(random));
    EXPECT_EQ(parse_rfc3339(to_rfc3339(time)), time) << to_rfc3339(time);
  }
}

}  // namespace
}  // namespace trawl
