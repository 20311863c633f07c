// Durations, sizes, and names that are nearly right.
#include "crawler/config/config_values.h"

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crawler/config/nearest_name.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsNumbersWithUnits) {
  const std::vector<std::pair<std::string, std::chrono::milliseconds>> good = {
      {"500ms", 500ms},
      {"1.5s", 1500ms},
      {"2m", 2min},
      {"1h", 1h},
      {"1d", 24h},
      {"0s", 0ms},
      {"0.001s", 1ms},
      {"1.50s", 1500ms},
      {"007s", 7s},
      {"0.25m", 15s},
      {"1.0ms", 1ms},
      {"0.00001d", 864ms},
      {"36525d", 36525 * 24h},
      // As people write them.
      {"1 s", 1s},
      {" 1s", 1s},
      {"1s ", 1s},
      {"1S", 1s},
      {"1sec", 1s},
      {"2 minutes", 2min},
      {"1 hour", 1h},
      {"1h30m", 90min},
      {"1 h 30 min", 90min},
      {"2 weeks", 24h * 14},
      {"0", 0ms},
      {"1m500ms", 60'500ms}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const std::string text : {"",
                                 "s",
                                 "1",
                                 "1.s",
                                 ".5s",
                                 "-1s",
                                 "+1s",
                                 "1 s s",
                                 "1 ",
                                 "s 1",
                                 "1 fortnight",
                                 "1h 30",
                                 "1e3s",
                                 "0x1s",
                                 "1.5ms",
                                 "0.0001s",
                                 "1.0000001s",
                                 "99999999999999999999s",
                                 "18446744073709551615d",
                                 "200000d",
                                 "1,5s",
                                 "infs"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Size, ReadsNumbersWithUnits) {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"64KiB", 65536},
      {"10MiB", 10485760},
      {"1GB", 1'000'000'000},
      {"0B", 0},
      {"1.5KB", 1500},
      {"1.25MiB", 1310720},
      {"0.5TiB", 1ull << 39},
      {"7B", 7},
      {"1048576", 1048576},
      {"10M", 10u << 20},
      {"10 MB", 10'000'000},
      {"10mb", 10'000'000},
      {"64 kib", 65536},
      {"1.5 G", 3ull << 29},
      {"16777215.999999TB", 16'777'215'999'999'000'000ull}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const std::string text : {"", "M", "10 M B", "10MM", "1h", "1.5B", "0.1KiB", "MiB",
                                 "16777216TiB", "18446744073709551616B", "-1B", "1e3B"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(Count, ReadsNumbersWithUnits) {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"0", 0}, {"1000", 1000}, {"10k", 10'000}, {"1.5 M", 1'500'000}, {"2g", 2'000'000'000}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_count(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const std::string text :
       {"", "k", "1s", "1KiB", "-1", "1e3", "99999999999999999999", "1 2"}) {
    EXPECT_FALSE(parse_count(text).has_value()) << text;
  }
}

TEST(Quantities, AreReadBackAsWritten) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = random() >> (random() % 64);
    EXPECT_EQ(parse_size(format_size(number)).value(), number);
    const std::chrono::milliseconds duration(number % 3'000'000'000'000);
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration);
  }
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(48h), "2d");
  EXPECT_EQ(format_size(10u << 20), "10MiB");
  EXPECT_EQ(format_size(5'000'000), "5MB");
}

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  const std::vector<std::string_view> names = {"delay", "timeout", "threads", "max_pages"};
  EXPECT_EQ(nearest_name("delay", names), "delay");
  EXPECT_EQ(nearest_name("dealy", names), "delay");
  EXPECT_EQ(nearest_name("tiemout", names), "timeout");
  EXPECT_EQ(nearest_name("max-page", names), "max_pages");
  EXPECT_EQ(nearest_name("thread", names), "threads");
  EXPECT_EQ(nearest_name("colour", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'd'), names), "");
}

}  // namespace
}  // namespace trawl::test
