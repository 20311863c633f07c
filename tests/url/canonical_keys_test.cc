// Keys under random profiles: always URLs, always their own keys.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/canonicalizer.h"

#include "tests/url/url_test_data.h"

namespace trawl {
namespace {

using Random = std::mt19937_64;

CanonicalRules random_rules(Random& random) {
  CanonicalRules rules;
  const std::uint64_t bits = random();
  const bool all = bits >> 60 == 0;
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled != nullptr)
      rules.*info.enabled = all || (bits >> static_cast<int>(info.rule) & 1) != 0;
  }
  if (bits >> 40 & 1) rules.parameter_names = {{"a", "utm_*", "id", "p*", "%25"}};
  if (bits >> 41 & 1) rules.session_id_names = {{"sid", "s*", "..", "x"}};
  if (bits >> 42 & 1) rules.index_names = {{"index.*", "a", "b*", "..."}};
  if (bits >> 43 & 1 && bits >> 44 & 1) rules.index_names = {{"*"}};
  return rules;
}

Profile random_profile(Random& random) {
  Profile profile{.rules = random_rules(random)};
  if (random() % 2 == 0) return profile;
  for (const auto* host : {".example.com", "www.example.com", "www.www.example.com", "h", ".com",
                           "a.example.com", "[::1]", ".gov", "www.sec.gov", ".co.uk"}) {
    if (random() % 3 == 0) profile.hosts.push_back({host, random_rules(random)});
  }
  return profile;
}

void expect_key_is_its_own(const Canonicalizer& canonical, const Url& url) {
  std::string key;
  RuleSet fired;
  canonical.key_into(url, key, fired);
  ASSERT_EQ(canonical.key(url), key);
  ASSERT_EQ(fired.empty(), key == url.href()) << key;
  const auto parsed = Url::parse(key);
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->href(), key);
  std::string again;
  canonical.key_into(*parsed, again, fired);
  ASSERT_EQ(again, key);
  ASSERT_TRUE(fired.empty()) << fired.names()[0];
}

TEST(CanonicalKeys, OfRandomPiecesAreTheirOwn) {
  const std::vector<std::string> hosts = {"h",
                                          "www.example.com",
                                          "www.www.example.com.",
                                          "www.com",
                                          "www.co.uk",
                                          "[::1]:443",
                                          "a.example.com:80",
                                          "h:443",
                                          "www..example.com",
                                          "u:%zz%4a@www.a.example.com:8080",
                                          "www.www.www.gov.uk",
                                          "www.www.ck",
                                          "1.2.3.4"};
  const std::vector<std::string> pieces = {"/",
                                           "/",
                                           "//",
                                           "..",
                                           ".",
                                           "%2e",
                                           "index.html",
                                           "INDEX.php",
                                           "default.asp",
                                           "a",
                                           "B",
                                           "b",
                                           ";jsessionid=1",
                                           ";sid",
                                           ";x=1",
                                           ";",
                                           "(S(lit3py55t21z5v55vlm25s55))",
                                           "%2F",
                                           "%",
                                           "%4",
                                           "41",
                                           "%41",
                                           "%c3%A9",
                                           "?",
                                           "?",
                                           "&",
                                           "&",
                                           "=",
                                           "sid=1",
                                           "utm_source=x",
                                           "id=7",
                                           "p",
                                           "z=1",
                                           "...",
                                           "%26",
                                           "%3D",
                                           "#",
                                           "%23",
                                           "%%",
                                           "+",
                                           "%20",
                                           "\\",
                                           "s",
                                           "x",
                                           "*"};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const Canonicalizer canonical(random_profile(random));
    SCOPED_TRACE(canonical.profile().name());
    for (int i = 0; i < 300; ++i) {
      std::string input = random() % 2 == 0 ? "http://" : "https://";
      input += hosts[random() % hosts.size()] + "/";
      for (std::uint64_t length = random() % 14; length > 0; --length)
        input += pieces[random() % pieces.size()];
      SCOPED_TRACE(input);
      if (const auto url = Url::parse(input)) expect_key_is_its_own(canonical, *url);
      if (HasFatalFailure()) return;
    }
  }
}

// Each subset of the rules there is, on URLs that all rules have something to do with.
TEST(CanonicalKeys, UnderEverySubsetOfTheRulesAreTheirOwn) {
  const std::vector<Url> urls = {
      *Url::parse("https://www.www.example.com//A/%7e/index.html/;jsessionid=1//Index.PHP/?"),
      *Url::parse("https://www.example.com:80/a/(S(lit3py55t21z5v55vlm25s55))//?b&&sid=1&a&"),
      *Url::parse("http://www.co.uk/..;sid=1/B/index.html;sid=2?utm_id=1#x"),
      *Url::parse("http://www.example.com./index.asp//?gclid&sid#"), *Url::parse("https://h//")};
  for (std::uint32_t bits = 0; bits < 1u << rule_infos().size(); ++bits) {
    CanonicalRules rules;
    for (const RuleInfo& info : rule_infos()) {
      if (info.enabled != nullptr)
        rules.*info.enabled = (bits >> static_cast<int>(info.rule) & 1) != 0;
    }
    if ((bits & 15) != 0) continue;  // the lossless ones have no switch
    const Canonicalizer canonical(Profile{.rules = rules});
    SCOPED_TRACE(canonical.profile().name());
    for (const Url& url : urls) {
      expect_key_is_its_own(canonical, url);
      if (HasFatalFailure()) return;
    }
  }
}

class CanonicalKeysCorpus : public RealLinks {};

TEST_F(CanonicalKeysCorpus, OfRealLinksAreTheirOwn) {
  Random random(7);
  std::size_t parsed = 0;
  for (std::size_t i = 0; i < lines_.size(); i += 200) {
    const Canonicalizer canonical(random_profile(random));
    SCOPED_TRACE(canonical.profile().name());
    for (std::size_t j = i; j < i + 800; ++j) {
      const std::string& line = lines_[j % lines_.size()];
      SCOPED_TRACE(line);
      const auto url = Url::parse(line);
      if (!url) continue;
      ++parsed;
      expect_key_is_its_own(canonical, *url);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(parsed, lines_.size() * 3);
}

TEST_F(CanonicalKeysCorpus, OfMutatedLinksAreTheirOwn) {
  constexpr std::uint64_t kSeed = 20260401;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  const std::vector<std::string> edits = {"%",
                                          "/",
                                          "//",
                                          ".",
                                          "..",
                                          "?",
                                          "#",
                                          "@",
                                          ":",
                                          "\\",
                                          "&",
                                          "=",
                                          ";",
                                          "sid=1",
                                          "&sid=1&",
                                          "A",
                                          ";jsessionid=9",
                                          "/index.html",
                                          "/INDEX.PHP/",
                                          "?utm_source=1",
                                          "&fbclid",
                                          "www.",
                                          "%2e",
                                          "%41",
                                          "%2",
                                          "f",
                                          "0",
                                          "Z",
                                          " ",
                                          "\x80",
                                          "/(S(lit3py55t21z5v55vlm25s55))",
                                          "(",
                                          ")",
                                          "s"};
  std::size_t parsed = 0;
  for (std::size_t i = 0; i < lines_.size(); i += 100) {
    const Canonicalizer canonical(random_profile(random));
    SCOPED_TRACE(canonical.profile().name());
    for (std::size_t j = i; j < i + 200; ++j) {
      std::string mutated = lines_[j % lines_.size()];
      for (std::uint64_t n = 1 + random() % 6; n > 0; --n) {
        // Most edits behind the host, where the rules work.
        const std::size_t from = random() % 8 == 0 ? 0 : mutated.size() / 2;
        const std::size_t where = from + random() % (mutated.size() - from + 1);
        mutated.replace(where, random() % 3, edits[random() % edits.size()]);
      }
      SCOPED_TRACE(mutated);
      const auto url = Url::parse(mutated);
      if (!url) continue;
      ++parsed;
      expect_key_is_its_own(canonical, *url);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(parsed, lines_.size() / 2);
}

// A profile's name is all of it: what is read back from it makes the same keys.
TEST_F(CanonicalKeysCorpus, OfAProfileReadBackAreTheSame) {
  constexpr std::uint64_t kSeed = 20260402;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random random(kSeed);
  for (int i = 0; i < 100; ++i) {
    const Profile profile = random_profile(random);
    const auto read = Profile::from_name(profile.name());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(profile_changes(profile, *read), "");
    const Canonicalizer one(profile);
    const Canonicalizer other(*read);
    for (int j = 0; j < 100; ++j) {
      const auto url = Url::parse(lines_[random() % lines_.size()]);
      if (!url) continue;
      ASSERT_EQ(one.key(*url), other.key(*url)) << profile.name();
    }
  }
}

// Work that is not linear in these would run into the test's time limit.
TEST(CanonicalKeys, OfHugeUrlsAreMadeInLinearTime) {
  constexpr int kMany = 200'000;
  const auto repeated = [](std::string_view piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i)
      text += piece;
    return text;
  };
  std::string parameters;
  for (int i = kMany; i > 0; --i)
    parameters += fmt::format("p{}=1&sid={}&", i * 7919 % kMany, i);
  const std::string id = "/(S(lit3py55t21z5v55vlm25s55))";
  Profile profile =
      *Profile::from_text({.rules = {{"all"}}},
                          std::vector<HostRulesText>{{".example.com", {.rules = {{"+drop_www"}}}}});
  const Canonicalizer all(profile);
  const Canonicalizer lossless;
  for (const std::string& input :
       {"http://h/?" + parameters, "http://h/?" + repeated("utm_a&", kMany),
        "http://h/?" + repeated("a&", kMany), "http://h/?" + repeated("&", kMany),
        "http://h/?" + repeated("=", kMany), "http://h/" + repeated(";sid", kMany),
        "http://h/" + repeated(";", kMany), "http://h/" + repeated("/", kMany),
        "http://h/" + repeated("index.html/", kMany), "http://h" + repeated(id, kMany / 4),
        "http://h/" + repeated("(S(", kMany), "http://h/" + repeated("%41", kMany),
        "http://h/" + repeated("%", kMany), "http://h/?" + repeated("utm_%41&", kMany),
        "http://h/?" + std::string(kMany, 'u') + "&" + std::string(kMany, 't'),
        "http://" + repeated("www.", kMany) + "example.com/",
        "http://" + repeated("www.", kMany) + "/", "http://" + repeated("w.", kMany) + "/"}) {
    SCOPED_TRACE(input.substr(0, 40));
    const auto url = Url::parse(input);
    ASSERT_TRUE(url) << url.error().message;
    expect_key_is_its_own(all, *url);
    expect_key_is_its_own(lossless, *url);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(all.key(*Url::parse("http://h/?" + repeated("&", kMany))), "http://h/");
  const auto url = Url::parse("http://" + repeated("www.", 50'000) + "example.com/");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(all.key(*url), "http://example.com/");
}

}  // namespace
}  // namespace trawl
