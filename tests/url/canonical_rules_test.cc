// What each rule does to real URLs, and when it must not.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "trawl/canonicalizer.h"

namespace trawl {
namespace {

Profile profile_of(const std::vector<std::string>& rules) {
  const auto profile = Profile::from_text({.rules = rules});
  EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  return profile.value_or(Profile{});
}

// "rule: key", the rule that fired and the key; "-" for none.
std::string outcome(const Canonicalizer& canonical, std::string_view input) {
  const auto url = Url::parse(input);
  if (!url) return url.error().message;
  std::string key;
  RuleSet fired;
  canonical.key_into(*url, key, fired);
  EXPECT_EQ(canonical.key(*url), key);
  const auto again = Url::parse(key);
  EXPECT_TRUE(again && again->href() == key && canonical.key(*again) == key) << key;
  return fmt::format("{}: {}",
                     fired.empty() ? "-" : fmt::format("{}", fmt::join(fired.names(), " ")), key);
}

struct Example {
  std::string_view before;
  std::string_view after;  // empty: no rule may fire
};

void expect_examples(const std::vector<std::string>& rules, const std::vector<Example>& examples) {
  const Canonicalizer canonical(profile_of(rules));
  for (const auto& [before, after] : examples) {
    SCOPED_TRACE(before);
    if (after.empty()) {
      EXPECT_EQ(outcome(canonical, before), fmt::format("-: {}", before));
    } else {
      EXPECT_EQ(outcome(canonical, before), fmt::format("{}: {}", rules[0], after));
    }
  }
}

TEST(CanonicalRules, EveryRulesOwnExample) {
  ASSERT_EQ(rule_infos().size(), 14u);
  for (std::size_t i = 0; i < rule_infos().size(); ++i) {
    const RuleInfo& info = rule_infos()[i];
    SCOPED_TRACE(info.name);
    EXPECT_EQ(static_cast<std::size_t>(info.rule), i);
    EXPECT_EQ(rule_info(info.rule).name, info.name);
    const Canonicalizer canonical(info.enabled == nullptr ? Profile{}
                                                          : profile_of({std::string(info.name)}));
    EXPECT_EQ(outcome(canonical, info.before), fmt::format("{}: {}", info.name, info.after));
    if (info.enabled != nullptr) {
      EXPECT_EQ(outcome(Canonicalizer(), info.before), fmt::format("-: {}", info.before));
    }
  }
}

TEST(CanonicalRules, SortQuery) {
  expect_examples({"sort_query"}, {{"http://h/p?id=7&cat=2", "http://h/p?cat=2&id=7"},
                                   {"http://h/p?b&a=&a", "http://h/p?a=&a&b"},
                                   {"http://h/p?tag=z&tag=a&q=1", "http://h/p?q=1&tag=z&tag=a"},
                                   {"http://h/p?a=1&&b=2&", "http://h/p?a=1&b=2"},
                                   {"http://h/p?&", "http://h/p?"},
                                   {"http://h/p?a-b=1&a=2", "http://h/p?a=2&a-b=1"},
                                   {"http://h/p?aa=1&a=2&B=3", "http://h/p?B=3&a=2&aa=1"},
                                   {"http://h/p?=x&a", ""},
                                   {"http://h/p?b;a", ""},
                                   {"http://h/p?tag=b&tag=a", ""},
                                   {"http://h/p?a=1&b=2", ""},
                                   {"http://h/b&a", ""},
                                   {"http://h/?", ""}});
}

TEST(CanonicalRules, DropParameters) {
  expect_examples(
      {"drop_parameters"},
      {{"https://shop.example/p?id=7&utm_source=news&utm_medium=email",
        "https://shop.example/p?id=7"},
       {"https://shop.example/p?gclid=Cj0&id=7&fbclid=IwAR", "https://shop.example/p?id=7"},
       {"http://h/?utm_campaign=x", "http://h/"},
       {"http://h/?UTM_Campaign=x&MSCLKID", "http://h/"},
       {"http://h/?a&utm_=x&b", "http://h/?a&b"},
       {"http://h/?&utm_id=x", "http://h/"},
       {"http://h/?a&&utm_id=x", "http://h/?a&"},
       {"http://h/?utm_term=%zz", "http://h/"},
       {"http://h/?utm%20x=1", ""},
       {"http://h/?mc_cid=1&_ga=2.1&yclid=3&mkt_tok=4&b=5", "http://h/?b=5"},
       {"http://h/?utm=x", ""},
       {"http://h/?gclids=x&xgclid=y&redirect=gclid=1", ""},
       {"http://h/?q=utm_source", ""},
       {"http://h/utm_source=x?q", ""},
       {"http://h/?=gclid&", ""},
       {"http://h/?a;utm_source=x", ""}});
}

TEST(CanonicalRules, DropSessionIds) {
  expect_examples(
      {"drop_session_ids"},
      {{"http://h/shop/cart.do;jsessionid=0A1B2C.node1?item=4", "http://h/shop/cart.do?item=4"},
       {"http://h/shop;JSESSIONID=0A1B/cart", "http://h/shop/cart"},
       {"http://h/a;v=1;jsessionid=2;w=3", "http://h/a;v=1;w=3"},
       {"http://h/f/viewtopic.php?t=5&sid=8f14e45fceea167a", "http://h/f/viewtopic.php?t=5"},
       {"http://h/?PHPSESSID=abc", "http://h/"},
       {"http://h/?CFID=1&x=2&CFTOKEN=3", "http://h/?x=2"},
       {"http://h/x.asp?ASPSESSIONIDQQABCDEF=1", "http://h/x.asp"},
       {"http://h/app/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "http://h/app/orders.aspx"},
       {"http://h/(s(LIT3PY55T21Z5V55VLM25S55))", "http://h/"},
       {"http://h/(S(lit3py55t21z5v55vlm25s55));sid=1/a", "http://h/a"},
       {"http://h/;jsessionid=1", "http://h/"},
       {"http://h/a/;jsessionid=1/b", "http://h/a//b"},
       {"http://h/..;jsessionid=1/b", ""},
       {"http://h/a/.;jsessionid=1;b", ""},
       {"http://h/(S(short))/orders.aspx", ""},
       {"http://h/(S(lit3py55t21z5v55vlm25s55))x/a", ""},
       {"http://h/jsessionid=1/sid", ""},
       {"http://h/?inside=1&sidebar=2", ""},
       {"http://h/a;type=sid?q=jsessionid", ""}});
}

TEST(CanonicalRules, DropEmptyQuery) {
  expect_examples({"drop_empty_query"}, {{"http://h/?", "http://h/"},
                                         {"http://h/a.php?", "http://h/a.php"},
                                         {"http://h/a/?", "http://h/a/"},
                                         {"http://h/%3F?", "http://h/%3F"},
                                         {"http://h/?&", ""},
                                         {"http://h/?=", ""},
                                         {"http://h/a", ""},
                                         {"http://h/a%3F", ""}});
}

TEST(CanonicalRules, MergeSlashes) {
  expect_examples({"merge_slashes"}, {{"http://h//", "http://h/"},
                                      {"http://h/a//b.html", "http://h/a/b.html"},
                                      {"http://h////a///", "http://h/a/"},
                                      {"http://h/a//b//c?x//y", "http://h/a/b/c?x//y"},
                                      {"http://h/?u=http://x//y", ""},
                                      {"http://h/a%2F%2Fb", ""},
                                      {"http://h/a/%2F/b", ""},
                                      {"http://h/a/b/", ""}});
}

TEST(CanonicalRules, DropTrailingSlash) {
  expect_examples({"drop_trailing_slash"}, {{"http://h/blog/", "http://h/blog"},
                                            {"http://h/blog/?p=1", "http://h/blog?p=1"},
                                            {"http://h/a//", "http://h/a"},
                                            {"http://h//", "http://h/"},
                                            {"http://h//a/", "http://h//a"},
                                            {"http://h/", ""},
                                            {"http://h/?q=/", ""},
                                            {"http://h/a%2F", ""},
                                            {"http://h/a/;", ""}});
}

TEST(CanonicalRules, DropIndex) {
  expect_examples({"drop_index"}, {{"http://h/index.html", "http://h/"},
                                   {"http://h/docs/index.htm", "http://h/docs/"},
                                   {"http://h/Default.aspx", "http://h/"},
                                   {"http://h/wiki/INDEX.PHP?title=A", "http://h/wiki/?title=A"},
                                   {"http://h/a//index.php", "http://h/a//"},
                                   {"http://h/index.html/index.html", "http://h/index.html/"},
                                   {"http://h/myindex.html", ""},
                                   {"http://h/index.html.bak", ""},
                                   {"http://h/index.php/Main_Page", ""},
                                   {"http://h/index.html/", ""},
                                   {"http://h/index", ""},
                                   {"http://h/?index.html", ""},
                                   {"http://h/index%2Fhtml", ""}});
}

TEST(CanonicalRules, DropTrailingDot) {
  for (const auto& rules : {std::vector<std::string>{}, std::vector<std::string>{"sort_query"}}) {
    const Canonicalizer canonical(rules.empty() ? Profile{} : profile_of(rules));
    EXPECT_EQ(outcome(canonical, "http://h./x"), "drop_trailing_dot: http://h/x");
    EXPECT_EQ(outcome(canonical, "http://example.com.:8080"),
              "drop_trailing_dot: http://example.com:8080/");
    EXPECT_EQ(outcome(canonical, "https://u.:p.@h.?a"), "drop_trailing_dot: https://u.:p.@h/?a");
    EXPECT_EQ(outcome(canonical, "http://h%2e/%41"),
              "decode_unreserved drop_trailing_dot: http://h/A");
    for (const std::string same : {"http://h/x.", "http://h/./x?h.", "http://h.h/", "http://u.@h/"})
      EXPECT_EQ(outcome(canonical, Url::parse(same)->href()),
                fmt::format("-: {}", Url::parse(same)->href()));
  }
  EXPECT_EQ(outcome(Canonicalizer(profile_of({"drop_www"})), "http://WWW.shop.example.com./"),
            "drop_trailing_dot drop_www: http://shop.example.com/");
}

TEST(CanonicalRules, DropWww) {
  expect_examples({"drop_www"},
                  {{"http://www.example.com/a", "http://example.com/a"},
                   {"https://u:p@www.example.co.uk:8443/", "https://u:p@example.co.uk:8443/"},
                   {"http://www.www.example.com/", "http://example.com/"},
                   {"http://www.www.com/", "http://www.com/"},
                   {"http://www.alice.github.io/", "http://alice.github.io/"},
                   {"http://www.xn--bcher-kva.example/", "http://xn--bcher-kva.example/"},
                   {"http://www.com/", ""},
                   {"http://www.co.uk/", ""},
                   {"http://www.github.io/", ""},
                   {"http://www.ck/", ""},
                   {"http://www.localhost/", ""},
                   {"http://www../", ""},
                   {"http://www/", ""},
                   {"http://www..example.com/", ""},
                   {"http://www2.example.com/", ""},
                   {"http://wwwexample.com/", ""},
                   {"http://example.com/www.", ""},
                   {"http://example.www.com/", ""},
                   {"http://[::1]/", ""},
                   {"http://127.0.0.1/", ""}});
}

TEST(CanonicalRules, IgnoreScheme) {
  expect_examples({"ignore_scheme"}, {{"https://h/", "http://h/"},
                                      {"https://h:8080/a", "http://h:8080/a"},
                                      {"https://u:p@[::1]:8443/?a", "http://u:p@[::1]:8443/?a"},
                                      {"https://h:8/", "http://h:8/"},
                                      {"https://h:80/", ""},
                                      {"http://h:443/", ""},
                                      {"http://h:8080/a", ""},
                                      {"http://h/?u=https://x/", ""}});
}

TEST(CanonicalRules, LowercasePath) {
  expect_examples({"lowercase_path"}, {{"http://h/About.ASPX", "http://h/about.aspx"},
                                       {"http://h/A/b?Q=R", "http://h/a/b?Q=R"},
                                       {"http://h/%C3%89T%C3%89", "http://h/%C3%89t%C3%89"},
                                       {"http://h/%%AB", ""},
                                       {"http://h/%A", "http://h/%a"},
                                       {"http://U:P@h/A", "http://U:P@h/a"},
                                       {"http://h/a-b_c", ""},
                                       {"http://h/%2F", ""},
                                       {"http://h/?ABC", ""}});
}

// Rules that bring up work for each other.
TEST(CanonicalRules, All) {
  const Canonicalizer all(profile_of({"all"}));
  for (const auto& [before, after] :
       std::vector<Example>{{"https://www.Example.com//Shop/;jsessionid=1//Index.html?utm_id=1#x",
                             "http://example.com/shop"},
                            {"http://h/index.php/index.html", "http://h/"},
                            {"http://h/index.php/(S(lit3py55t21z5v55vlm25s55))/", "http://h/"},
                            {"http://h/a/index.html;jsessionid=2?", "http://h/a"},
                            {"http://h/a?&sid=1&&gclid=2&", "http://h/a"},
                            {"http://h/a?b&sid=1&a", "http://h/a?a&b"},
                            {"http://h/INDEX.PHP//;SID=1/default.asp", "http://h/"},
                            {"https://www.www.example.org:80/", "https://example.org:80/"},
                            {"http://h/%49ndex.html?%75tm_x=1", "http://h/"}}) {
    SCOPED_TRACE(before);
    const std::string result = outcome(all, before);
    EXPECT_EQ(result.substr(result.find(": ") + 2), after);
  }
  EXPECT_EQ(outcome(all, "https://www.example.com/Index.html/?sid=1&b&a#f"),
            "drop_fragment sort_query drop_session_ids drop_trailing_slash drop_index drop_www "
            "ignore_scheme lowercase_path: http://example.com/?a&b");
}

TEST(CanonicalRules, NamesOfOnesOwn) {
  const auto profile =
      Profile::from_text({.rules = {{"drop_parameters", "drop_session_ids", "drop_index"}},
                          .parameter_names = {{"ref", "a[]", "pre-*", "%2A", "%2Bx", "caf%C3%A9"}},
                          .session_id_names = {{"+token", "-sid"}},
                          .index_names = {{"home.*"}}});
  ASSERT_TRUE(profile) << profile.error().message;
  const Canonicalizer canonical(*profile);
  EXPECT_EQ(outcome(canonical, "http://h/home.html?REF=1&a%5b%5D=2&pre-=3&*=4&+x=5&café=6&b"),
            "uppercase_escapes drop_parameters drop_index: http://h/?b");
  EXPECT_EQ(outcome(canonical, "http://h/index.html;TOKEN=1?sid=2&utm_id=3&refs=4&token&phpsessid"),
            "drop_session_ids: http://h/index.html?sid=2&utm_id=3&refs=4");
  const auto everything =
      Profile::from_text({.rules = {{"drop_parameters"}}, .parameter_names = {{"*"}}});
  ASSERT_TRUE(everything);
  for (const auto* url : {"http://h/?a=1&&=2", "http://h/?&", "http://h/?"}) {
    EXPECT_EQ(outcome(Canonicalizer(*everything), url), "drop_parameters: http://h/") << url;
  }
}

TEST(CanonicalRules, HostsOfTheirOwn) {
  const auto profile = Profile::from_text(
      {.rules = {{"sort_query", "drop_www"}}},
      std::vector<HostRulesText>{{".Example.COM", {.rules = {{"+lowercase_path"}}}},
                                 {"bücher.example.", {.rules = {{"none"}}}},
                                 {"a.b.example.com", {.rules = {{"merge_slashes"}}}},
                                 {".b.example.com", {.rules = {{"-sort_query"}}}},
                                 {"www.kept.org", {.rules = {{"sort_query"}}}},
                                 {"[::0:1]", {.rules = {{"lowercase_path"}}}},
                                 {"127.1", {.rules = {{"lowercase_path"}}}}});
  ASSERT_TRUE(profile) << profile.error().message;
  const Canonicalizer canonical(*profile);
  const auto key_of = [&](std::string_view input) {
    const std::string result = outcome(canonical, input);
    return result.substr(result.find(": ") + 2);
  };
  EXPECT_EQ(key_of("http://www.h.org/A//?b&a"), "http://h.org/A//?a&b");
  EXPECT_EQ(key_of("http://example.com/A//?b&a"), "http://example.com/a//?a&b");
  EXPECT_EQ(key_of("http://www.x.example.com./A//?b&a"), "http://x.example.com/a//?a&b");
  EXPECT_EQ(key_of("http://www.b.example.com/A//?b&a"), "http://b.example.com/A//?b&a");
  EXPECT_EQ(key_of("http://a.b.example.com/A//?b&a"), "http://a.b.example.com/A/?b&a");
  EXPECT_EQ(key_of("http://www.a.b.example.com/A//?b&a"), "http://a.b.example.com/A/?b&a")
      << "the key's host decides";
  EXPECT_EQ(key_of("http://notexample.com/A?b&a"), "http://notexample.com/A?a&b");
  EXPECT_EQ(key_of("http://xn--bcher-kva.example/?b&a"), "http://xn--bcher-kva.example/?b&a");
  EXPECT_EQ(key_of("http://www.kept.org/?b&a"), "http://www.kept.org/?a&b");
  EXPECT_EQ(key_of("http://www.www.kept.org/?b&a"), "http://www.kept.org/?a&b");
  EXPECT_EQ(key_of("http://[::1]:81/A?b&a"), "http://[::1]:81/a?b&a");
  EXPECT_EQ(key_of("http://127.0.0.1/A?b&a"), "http://127.0.0.1/a?b&a");
}

}  // namespace
}  // namespace trawl
