#include "crawler/parse/html/srcset.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/random_text.h"

namespace trawl {
namespace {

using Urls = std::vector<std::string>;

Urls candidates(std::string_view value) {
  Urls result;
  Srcset candidates(value);
  while (const auto url = candidates.next())
    result.emplace_back(*url);
  return result;
}

TEST(Srcset, Candidates) {
  EXPECT_EQ(candidates(""), Urls{});
  EXPECT_EQ(candidates(" ,\n, ,\t"), Urls{});
  EXPECT_EQ(candidates("a.png"), Urls{"a.png"});
  EXPECT_EQ(candidates("a.png 1x, b.png 2x"), (Urls{"a.png", "b.png"}));
  EXPECT_EQ(candidates("\f a.png  1x\n,\r b.png\t2x ,"), (Urls{"a.png", "b.png"}));
  EXPECT_EQ(candidates("a.png 100w, b.png 200w 50h,c.png 2h 3w"),
            (Urls{"a.png", "b.png", "c.png"}));
}

TEST(Srcset, CommasBelongToUrlsButAtTheEnd) {
  EXPECT_EQ(candidates("a,b.png"), Urls{"a,b.png"});
  EXPECT_EQ(candidates("a,b"), Urls{"a,b"});
  EXPECT_EQ(candidates("a,, b"), (Urls{"a", "b"}));
  EXPECT_EQ(candidates("a, b, c"), (Urls{"a", "b", "c"}));
  EXPECT_EQ(candidates(",,,a,,,,"), Urls{"a"});
  EXPECT_EQ(candidates("data:,a ( , data:,b 1x, ), data:,c"), Urls{"data:,c"});
  EXPECT_EQ(candidates("/w_1,h_2/x.png 1x,/w_3,h_4/y.png 2x"),
            (Urls{"/w_1,h_2/x.png", "/w_3,h_4/y.png"}));
}

// After the cases of web-platform-tests' html/semantics/embedded-content/the-img-element/srcset.
TEST(Srcset, CandidatesWithSenselessDescriptorsAreLeftOut) {
  for (const std::string_view good :
       {"1x", "0x", "-0x", ".5x", "1.5x", "1e2x", "1E-3x", "1e+0x", "-0.0e9x", "1w", "00001w",
        "1w 1h", "1h 1w", "99999999999999999999w"}) {
    EXPECT_EQ(candidates(fmt::format("a {}", good)), Urls{"a"}) << good;
    EXPECT_EQ(candidates(fmt::format("a {} , b", good)), (Urls{"a", "b"})) << good;
  }
  for (const std::string_view bad :
       {"1",     "x",        "w",     "h",         "+1x",   "1.x",    "-1x",
        "-1e0x", "1e1.5x",   "1ex",   "0w",        "000w",  "-1w",    "+1w",
        "1.5w",  "1h",       "0h",    "1w 0h",     "1w 1w", "1x 1x",  "1w 1x",
        "1x 1w", "1w 1x 1h", "1x 1h", "1w 1h 1h",  "1X",    "1W",     "1x(",
        "(1x)",  "1q",       "NaNx",  "Infinityx", "0x10x", "1w foo", "1w ( , ) 2x"}) {
    EXPECT_EQ(candidates(fmt::format("a {}", bad)), Urls{}) << bad;
  }
  EXPECT_EQ(candidates("a 1q, b 2x"), Urls{"b"});
}

TEST(Srcset, ParenthesesHideCommas) {
  EXPECT_EQ(candidates("a (1x, b), c"), Urls{"c"});
  EXPECT_EQ(candidates("a (, b"), Urls{});
  EXPECT_EQ(candidates("a ((), b"), Urls{"b"}) << "parentheses do not nest";
  EXPECT_EQ(candidates("a ), b"), Urls{"b"});
}

TEST(Srcset, ManyCandidates) {
  std::string value;
  for (int i = 0; i < 1'000'000; ++i)
    value += "a 1x,";
  EXPECT_EQ(candidates(value).size(), 1'000'000u);
  EXPECT_EQ(candidates(std::string(5'000'000, ',')), Urls{});
  EXPECT_EQ(candidates("a " + std::string(5'000'000, '(')), Urls{});
  std::string endings;
  for (int i = 0; i < 1000; ++i)
    endings += "b" + std::string(1000, ',') + " ";
  EXPECT_EQ(candidates(endings).size(), 1000u);
}

// The URLs are parts of the value, in order, and not white space.
TEST(Srcset, RandomValues) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kBytes = "ab1xwh, ,(). \t\n-e0";
  for (int round = 0; round < 50'000; ++round) {
    const std::string value = test::random_text(random, kBytes, random() % 30);
    Srcset candidates(value);
    const char* at = value.data();
    while (const auto url = candidates.next()) {
      ASSERT_FALSE(url->empty()) << value;
      ASSERT_GE(url->data(), at) << value;
      ASSERT_EQ(url->find_first_of(" \t\n"), std::string_view::npos) << value;
      ASSERT_NE(url->front(), ',') << value;
      ASSERT_NE(url->back(), ',') << value;
      at = url->data() + url->size();
    }
    ASSERT_LE(at, value.data() + value.size());
    ASSERT_EQ(candidates.next(), std::nullopt);
  }
}

}  // namespace
}  // namespace trawl
