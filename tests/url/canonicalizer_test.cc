#include "trawl/canonicalizer.h"

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/url/url_test_data.h"

namespace trawl {
namespace {

std::string key(std::string_view input) {
  const auto url = Url::parse(input);
  return url ? Canonicalizer().key(*url) : url.error().message;
}

// A key is a URL, serialised, whose key is the key.
void expect_stable(const Url& url) {
  const Canonicalizer canonical{Profile{}};
  const std::string key = canonical.key(url);
  const auto parsed = Url::parse(key);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->href(), key);
  ASSERT_EQ(canonical.key(*parsed), key);
}

TEST(Canonicalizer, DropsTheFragment) {
  EXPECT_EQ(key("http://h/a?b#c"), "http://h/a?b");
  EXPECT_EQ(key("http://h/a#%41"), "http://h/a");
  EXPECT_EQ(key("http://h/a?#"), "http://h/a?");
}

TEST(Canonicalizer, WritesEscapesInUpperCase) {
  EXPECT_EQ(key("http://h/%2f%c3%a9?%2f%c3"), "http://h/%2F%C3%A9?%2F%C3");
  EXPECT_EQ(key("http://%c3%a9:%3a@h/"), "http://%C3%A9:%3A@h/");
}

TEST(Canonicalizer, DecodesUnreservedCharactersInPathAndQuery) {
  EXPECT_EQ(key("http://h/%41%7a%30%2D%5f%7E?%61%2e"), "http://h/Az0-_~?a.");
  EXPECT_EQ(key("http://h/a%2eb"), "http://h/a.b");
  EXPECT_EQ(key("http://%41:%42@h/"), "http://%41:%42@h/") << "not in the userinfo";
}

TEST(Canonicalizer, KeepsWhatMayMeanSomething) {
  for (const auto* same :
       {"http://h/?", "http://h//a//", "http://h/a/?b=2&a=1&a=1", "http://h/%2F%3F%23%25%20%00",
        "http://h/!$&'()*+,;=:@", "http://www.h/index.html?utm_source=x"}) {
    EXPECT_EQ(key(same), same);
  }
}

TEST(Canonicalizer, DecodingNeverMakesANewEscape) {
  EXPECT_EQ(key("http://h/%%34%31"), "http://h/%%341");
  EXPECT_EQ(key("http://h/%4%31"), "http://h/%4%31");
  EXPECT_EQ(key("http://h/%%32e/x"), "http://h/%%32e/x");
  EXPECT_EQ(key("http://h/%%%34%31"), "http://h/%%%341");
  EXPECT_EQ(key("http://h/%2541"), "http://h/%2541");
  EXPECT_EQ(key("http://h/%%7a%41"), "http://h/%zA");
}

TEST(Canonicalizer, KeyIntoReplacesTheBuffer) {
  std::string out = "before";
  const Canonicalizer canonical;
  canonical.key_into(*Url::parse("http://h/a"), out);
  EXPECT_EQ(out, "http://h/a");
  canonical.key_into(*Url::parse("http://h/%61"), out);
  EXPECT_EQ(out, "http://h/a");
}

TEST(Canonicalizer, TellsTheRulesThatFired) {
  const Canonicalizer canonical;
  const auto fired = [&](std::string_view input) {
    std::string out = "before";
    RuleSet rules;
    rules.insert(Rule::kSortQuery);
    const auto url = Url::parse(input);
    if (!url) return url.error().message;
    canonical.key_into(*url, out, rules);
    EXPECT_EQ(out, canonical.key(*url));
    return fmt::format("{}", fmt::join(rules.names(), " "));
  };
  EXPECT_EQ(fired("http://h/a?b"), "");
  EXPECT_EQ(fired("http://h/%2F%C3?%2F"), "");
  EXPECT_EQ(fired("http://h/#"), "drop_fragment");
  EXPECT_EQ(fired("http://h/#%2f%41"), "drop_fragment");
  EXPECT_EQ(fired("http://u%c3@h/"), "uppercase_escapes");
  EXPECT_EQ(fired("http://h/%2F?%2f"), "uppercase_escapes");
  EXPECT_EQ(fired("http://h/?%7e"), "decode_unreserved");
  EXPECT_EQ(fired("http://h/%%34%31"), "decode_unreserved");
  EXPECT_EQ(fired("http://h/%C3%a9%41#x"), "drop_fragment uppercase_escapes decode_unreserved");
}

TEST(Canonicalizer, IsSharedByThreads) {
  Profile profile;
  profile.rules.sort_query = profile.rules.drop_www = profile.rules.drop_index = true;
  const Canonicalizer shared(profile);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([shared, &by_reference = shared, t] {
      std::string out;
      for (int i = 0; i < 500; ++i) {
        const auto url = Url::parse(fmt::format("http://www.h{}.org/index.html?b&a={}", i, t));
        ASSERT_TRUE(url);
        by_reference.key_into(*url, out);
        EXPECT_EQ(out, fmt::format("http://h{}.org/?a={}&b", i, t));
        EXPECT_EQ(out, shared.key(*url));
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(Canonicalizer, ProfileHasANameAndCompares) {
  EXPECT_EQ(Canonicalizer().profile(), Profile{});
  EXPECT_EQ(Profile{}.name(), "lossless-2");
}

TEST(Canonicalizer, KeysOfRandomEscapesAreStable) {
  const std::vector<std::string> pieces = {"%",  "%",  "4",   "1",   "2",  "e",   ".",   "/",
                                           "?",  "#",  "%2e", "%25", "%3", "%34", "%31", "%41",
                                           "%2", "%f", "%c3", ":",   "@",  "a",   "\\",  "%7E"};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5'000; ++i) {
      std::string input = i % 4 == 0 ? "http://u:" : "http://h/";
      for (std::uint64_t length = random() % 12; length > 0; --length) {
        input += pieces[random() % pieces.size()];
      }
      if (i % 4 == 0) input += "@h/";
      SCOPED_TRACE(input);
      if (const auto url = Url::parse(input)) expect_stable(*url);
      if (HasFatalFailure()) return;
    }
  }
}

class CanonicalizerCorpus : public RealLinks {};

TEST_F(CanonicalizerCorpus, KeysOfRealLinksAreStable) {
  std::size_t parsed = 0;
  for (const std::string& line : lines_) {
    SCOPED_TRACE(line);
    const auto url = Url::parse(line);
    if (!url) continue;
    ++parsed;
    expect_stable(*url);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(parsed, lines_.size() * 9 / 10);
}

TEST_F(CanonicalizerCorpus, KeysOfMutatedLinksAreStable) {
  constexpr std::uint64_t kSeed = 20260101;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  const std::string_view bytes = "%%%%/.?#@:\\[]&=;0123456789abcdefABCDEF \t\"<>|^`{}'~_-\x80\xC3";
  std::size_t parsed = 0;
  for (const std::string& line : lines_) {
    std::string mutated = line;
    for (std::uint64_t edits = 1 + random() % 6; edits > 0; --edits) {
      const std::size_t where = random() % (mutated.size() + 1);
      const std::size_t drop = random() % 3;
      mutated.replace(where, drop, 1 + random() % 2, bytes[random() % bytes.size()]);
    }
    SCOPED_TRACE(mutated);
    const auto url = Url::parse(mutated);
    if (!url) continue;
    ++parsed;
    expect_stable(*url);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(parsed, lines_.size() / 4);
}

}  // namespace
}  // namespace trawl
