// The compiled rules against what they mean, on random files and URLs and on hostile ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/robots.h"

#include "crawler/parse/robots/robots_file.h"
#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/robots_rule_set.h"
#include "crawler/parse/robots/text_index.h"
#include "tests/crawler/parse/robots_files.h"
#include "tests/crawler/parse/robots_reference.h"

namespace trawl {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t end) { return engine_() % end; }

  // Up to `most` of the alphabet's pieces.
  std::string text(const std::vector<std::string_view>& alphabet, std::size_t most) {
    std::string text;
    for (std::size_t count = below(most + 1); count > 0; --count)
      text += alphabet[below(alphabet.size())];
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string_view> kPlainPattern = {"a", "a", "b", "/", "*", "*", "aab"};
const std::vector<std::string_view> kPlainPath = {"a", "a", "b", "/", "aab"};
const std::vector<std::string_view> kEscapedPattern = {"a",    "b",   "%61", "*",  "$",   "%24",
                                                       "%2A",  "%2a", "%",   "%2", "%7e", "~",
                                                       "\xC3", "%c3", "%C3", "'"};
const std::vector<std::string_view> kEscapedPath = {"a",   "b",   "%61", "*",   "$",   "%24", "%2A",
                                                    "%2a", "%",   "%2",  "%7E", "~",   "%c3", "%C3",
                                                    "'",   "%27", "?",   "|",   "%2Fa"};

// The index of the rule that decides if no piece is searched for but in a TextIndex.
std::size_t decision_by_index(const std::string& robots, const Url& url) {
  const RobotsFile file(robots, {});
  const RobotsRuleSet rules(file, file.agents_for("trawl"));
  RobotsMatchCost work{.direct_steps = 0};
  return std::min(rules.find(RobotsPath(url), work), file.rules.size());
}

// `robots` and the index must agree with the reference on which rule decides over `path`.
void expect_agreement(const std::vector<ReferenceRule>& rules, const std::string& text,
                      const std::string& path) {
  const Robots robots = Robots::parse(text);
  const Url url = *Url::parse("http://site.example" + path);
  std::string fetched(url.path());
  if (url.has_query()) fetched += "?" + std::string(url.query());
  const std::size_t expected = reference_decision(rules, fetched);
  const RobotsDecision decision = robots.decide("trawl", url);
  if (expected == rules.size()) {
    ASSERT_EQ(decision.reason, RobotsReason::kNoRuleMatches) << decision.text << " on " << path;
  } else {
    ASSERT_EQ(decision.line, expected + 2) << rules[expected].pattern << " on " << path;
    ASSERT_EQ(decision.allowed, rules[expected].allow);
  }
  ASSERT_EQ(robots.allowed("trawl", url), decision.allowed);
  ASSERT_EQ(decision_by_index(text, url), expected) << path;
}

std::string file_of(const std::vector<ReferenceRule>& rules) {
  std::string text = "User-agent: trawl\n";
  for (const auto& [pattern, allow] : rules) {
    text += fmt::format("{}: {}\n", allow ? "Allow" : "Disallow", pattern);
  }
  return text;
}

void compare_random_files(const std::vector<std::string_view>& pattern_alphabet,
                          const std::vector<std::string_view>& path_alphabet) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  for (int file = 0; file < 3'000; ++file) {
    std::vector<ReferenceRule> rules;
    for (std::size_t count = 1 + random.below(8); count > 0; --count) {
      rules.push_back({.pattern = (random.below(9) == 0 ? "*" : "/") +
                                  random.text(pattern_alphabet, 6) +
                                  (random.below(4) == 0 ? "$" : ""),
                       .allow = random.below(3) == 0});
    }
    const std::string robots = file_of(rules);
    for (int i = 0; i < 8; ++i) {
      expect_agreement(rules, robots, "/" + random.text(path_alphabet, 9));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// 3,000 files of 4.5 rules with 8 URLs each: over 100,000 pairs in each of the two.
TEST(RobotsMatching, AgreesWithTheReferenceOnLettersAndStars) {
  compare_random_files(kPlainPattern, kPlainPath);
}

TEST(RobotsMatching, AgreesWithTheReferenceOnEscapes) {
  compare_random_files(kEscapedPattern, kEscapedPath);
}

TEST(RobotsMatching, AgreesWithTheReferenceOnManyNestedPrefixes) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  std::vector<ReferenceRule> rules;
  for (int i = 0; i < 400; ++i) {
    rules.push_back({.pattern = "/" + random.text({"a", "b", "abab", "aaaaaaaaa"}, 6) +
                                std::string(random.below(4), '*') +
                                (random.below(5) == 0 ? "$" : ""),
                     .allow = random.below(2) == 0});
  }
  const std::string robots = file_of(rules);
  for (int i = 0; i < 300; ++i) {
    expect_agreement(rules, robots, "/" + random.text({"a", "b", "abab", "aaaaaaaaa"}, 8));
    if (HasFatalFailure()) return;
  }
}

TEST(RobotsMatching, AnIndexFindsWhatASearchDoes) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  const std::vector<std::string_view> kinds[] = {
      {"a"}, {"a", "b"}, {"abc", "abd"}, {"a", "b", "c", "d", "e", "f", "g", "\xFF"}};
  for (int round = 0; round < 400; ++round) {
    const auto& alphabet = kinds[round % 4];
    const std::string text = "/" + random.text(alphabet, round % 10 == 0 ? 2'000 : 200);
    TextIndex index(text);
    for (int i = 0; i < 100; ++i) {
      std::string piece = random.text(alphabet, 20);
      if (random.below(2) == 0) piece = text.substr(random.below(text.size()), random.below(40));
      if (piece.empty()) piece = "a";
      const std::size_t from = random.below(text.size() + 1);
      ASSERT_EQ(index.find(piece, from), text.find(piece, from)) << piece << " in " << text;
    }
  }
}

std::uint64_t steps_of(const RobotsRuleSet& rules, const std::string& path) {
  const Url url = *Url::parse("http://site.example" + path);
  RobotsMatchCost work;
  rules.find(RobotsPath(url), work);
  return work.steps;
}

// Steps are worth about a nanosecond. Searching the URL for every rule takes up to 200 for each
// byte of these files.
TEST(RobotsMatching, NoFileMakesAVerdictSlow) {
  for (const HostileRobots& hostile : hostile_robots()) {
    const std::size_t bytes = hostile.text.size();
    ASSERT_LE(bytes, 500u << 10);
    ASSERT_GT(bytes, 480u << 10);
    const RobotsFile file(hostile.text, {});
    const RobotsRuleSet rules(file, file.agents_for("trawl"));
    EXPECT_LT(steps_of(rules, hostile.path), 8 * bytes) << hostile.name;
    // A URL four times as long may take four times the steps.
    const std::string twice = hostile.path + hostile.path;
    EXPECT_LT(steps_of(rules, twice + twice), 4 * 8 * bytes) << hostile.name;
  }
}

TEST(RobotsMatching, HostileFilesGetTheirVerdicts) {
  std::size_t matched = 0;
  for (const HostileRobots& file : hostile_robots(2u << 10)) {
    SCOPED_TRACE(file.name);
    std::vector<ReferenceRule> rules;
    const RobotsFile parsed(file.text, {});
    for (const RobotsRule& rule : parsed.rules)
      rules.push_back({.pattern = std::string(parsed.view(rule.pattern)), .allow = rule.allow});
    const std::string start = file.path.substr(0, 150);
    for (const std::string& path : {start, start + start.substr(2) + "~b!aab"}) {
      expect_agreement(rules, file.text, path);
      if (HasFatalFailure()) return;
      matched += reference_decision(rules, path) < rules.size();
    }
  }
  EXPECT_GT(matched, 10u);
}

}  // namespace
}  // namespace trawl
