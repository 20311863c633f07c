#include "trawl/canonical_profile.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/canonicalizer.h"

#include "url/name_matcher.h"

namespace trawl {
namespace {

using Strings = std::vector<std::string>;

std::string name_of(const RulesText& text, const std::vector<HostRulesText>& hosts = {}) {
  const auto profile = Profile::from_text(text, hosts);
  return profile ? profile->name() : profile.error().message;
}

TEST(Profile, NameOfTheLosslessRulesIsShort) {
  EXPECT_EQ(Profile{}.name(), "lossless-2");
  EXPECT_EQ(name_of({}), "lossless-2");
  EXPECT_EQ(name_of({.rules = Strings{}}), "lossless-2");
  EXPECT_EQ(name_of({.rules = {{"all", "none"}}}), "lossless-2");
  EXPECT_EQ(Profile{.rules = {.parameter_names = Strings{"x"}}}, Profile{});
}

TEST(Profile, SwitchesAreNamedAsTheRules) {
  Profile profile;
  profile.rules.sort_query = profile.rules.drop_www = profile.rules.merge_slashes = true;
  EXPECT_EQ(profile.name(), "lossless-2 sort_query merge_slashes drop_www");
  EXPECT_EQ(profile, *Profile::from_text({.rules = {{"drop_www", "merge_slashes", "sort_query"}}}));
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled == nullptr) continue;
    const auto one = Profile::from_text({.rules = Strings{std::string(info.name)}});
    ASSERT_TRUE(one) << one.error().message;
    CanonicalRules expected;
    expected.*info.enabled = true;
    EXPECT_EQ(one->rules, expected) << info.name;
    EXPECT_TRUE(one->rules.*info.enabled);
  }
}

TEST(Profile, SignsAddAndTakeAway) {
  EXPECT_EQ(name_of({.rules = {{"sort_query", "+drop_www", "-sort_query"}}}),
            "lossless-2 drop_www");
  EXPECT_EQ(name_of({.rules = {{"+sort_query"}}}), "lossless-2 sort_query");
  EXPECT_EQ(name_of({.rules = {{"none", "sort_query"}}}), "lossless-2 sort_query");
  EXPECT_EQ(name_of({.rules = {{"all", "-drop_parameters", "-drop_session_ids", "-drop_index"}}}),
            "lossless-2 sort_query drop_empty_query merge_slashes drop_trailing_slash drop_www "
            "ignore_scheme lowercase_path");
}

TEST(Profile, NameTellsTheNamesInOneSpelling) {
  EXPECT_EQ(
      name_of({.rules = {{"drop_index"}}, .index_names = {{"INDEX.*", "home.htm", "index.*"}}}),
      "lossless-2 drop_index=home.htm,index.*");
  EXPECT_EQ(name_of({.rules = {{"drop_parameters"}},
                     .parameter_names = {{"a b", "a,c", "%61%5B%5d", "%2Aé", "%2Dx-", "*"}}}),
            "lossless-2 drop_parameters=%2A%C3%A9,%2Dx-,*,a%20b,a%2Cc,a[]");
  EXPECT_EQ(name_of({.rules = {{"drop_index"}}, .index_names = Strings{}}),
            "lossless-2 drop_index=");
  EXPECT_EQ(
      name_of({.rules = {{"drop_session_ids"}}, .session_id_names = {{"-sid", "+zz", "+zz"}}}),
      "lossless-2 drop_session_ids=asp.net_sessionid,aspsessionid*,cfid,cftoken,jsessionid,"
      "oscsid,phpsessid,sessid,session_id,sessionid,xtcsid,zenid,zz");
}

TEST(Profile, DefaultNamesAreInTheOneSpellingSortedAndUnique) {
  for (const Rule rule : {Rule::kDropParameters, Rule::kDropSessionIds, Rule::kDropIndex}) {
    const auto names = default_names(rule);
    ASSERT_FALSE(names.empty());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>{}), names.end());
    for (const std::string_view name : names) {
      EXPECT_EQ(normal_name(name).value_or("an error"), name);
    }
  }
  EXPECT_TRUE(default_names(Rule::kSortQuery).empty());
}

TEST(Profile, HostsStartFromTheRulesForAll) {
  EXPECT_EQ(name_of({.rules = {{"sort_query", "drop_index"}}, .index_names = {{"index.html"}}},
                    {{".Example.com", {.rules = {{"-sort_query"}}}},
                     {"bücher.example.", {.rules = Strings{}}},
                     {"[::0:1]", {.rules = {{"drop_www"}}}},
                     {"a.example.com", {.index_names = {{"+home.html"}}}}}),
            "lossless-2 sort_query drop_index=index.html"
            " host=.example.com drop_index=index.html"
            " host=[::1] drop_www"
            " host=a.example.com sort_query drop_index=home.html,index.html"
            " host=xn--bcher-kva.example");
}

TEST(Profile, ErrorsSayWhatIsWrong) {
  const std::string rules =
      "the rules are: sort_query, drop_parameters, drop_session_ids, drop_empty_query, "
      "merge_slashes, "
      "drop_trailing_slash, drop_index, drop_www, ignore_scheme, lowercase_path, all, none";
  EXPECT_EQ(name_of({.rules = {{"sort_querry"}}}), "\"sort_querry\" is not a rule; " + rules);
  EXPECT_EQ(name_of({.rules = {{"-sort_querry"}}}), "\"sort_querry\" is not a rule; " + rules);
  EXPECT_EQ(name_of({.rules = {{""}}}), "\"\" is not a rule; " + rules);
  EXPECT_EQ(name_of({.rules = {{"-all"}}}), "the rule \"-all\": \"all\" cannot have a sign");
  EXPECT_EQ(name_of({.rules = {{"drop_fragment"}}}),
            "the rule drop_fragment is always on and must not be listed");
  EXPECT_EQ(name_of({.parameter_names = {{""}}}), "\"\" is not a valid name: it is empty");
  EXPECT_EQ(name_of({.index_names = {{"*.html"}}}),
            "\"*.html\" is not a valid name: '*' may only be the last character; write an "
            "asterisk as %2A");
  EXPECT_EQ(
      name_of({.session_id_names = Strings{std::string(257, 'a')}}),
      fmt::format("\"{}\" is not a valid name: it is longer than 256 bytes", std::string(80, 'a')));
  EXPECT_EQ(name_of({.session_id_names = {{"-ssid"}}}),
            "\"-ssid\" removes a name that is not in the list of drop_session_ids");
  for (const auto* host : {"", ".", "..a", "http://h", "h:80", "h/a", "u@h", "*.h", "a b", "[::1",
                           "[::1]:80", "256.256.256.256", ".127.0.0.1", ".[::1]", "a?", "a#"}) {
    EXPECT_FALSE(Profile::from_text({}, std::vector<HostRulesText>{{host}})) << host;
  }
  EXPECT_EQ(
      name_of({}, {{"h:80"}}),
      "\"h:80\" is neither a host (example.com) nor a domain (.example.com): give the name alone, "
      "without scheme, port, path or '*'");
  EXPECT_EQ(name_of({}, {{"h."}, {"H"}}), "the host h is named twice");
  EXPECT_EQ(name_of({}, {{"h", {.rules = {{"+x"}}}}}),
            "rules for h: \"x\" is not a rule; " + rules);
  EXPECT_FALSE(Profile::from_text({}, std::vector<HostRulesText>{{std::string(254, 'a')}}));
  EXPECT_FALSE(Profile::from_text({}, std::vector<HostRulesText>{{std::string(1'000'000, 'a')}}));
}

TEST(Profile, NameIsReadBack) {
  for (const std::string& name :
       {std::string("lossless-2"), name_of({.rules = {{"all"}}}),
        name_of({.rules = {{"drop_parameters"}}, .parameter_names = {{"a b", "a,=c", "é", "*"}}}),
        name_of({.rules = {{"drop_index", "drop_session_ids"}}, .index_names = Strings{}}),
        name_of({.rules = {{"all"}}},
                {{".example.com"}, {"[::1]", {.rules = Strings{}}}, {"a+b;c=d,e.org"}})}) {
    const auto profile = Profile::from_name(name);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->name(), name);
  }
}

TEST(Profile, NamesThatAreNoneAreRefused) {
  const auto code = [](std::string_view name) {
    const auto profile = Profile::from_name(name);
    return profile ? ErrorCode::kClosed : profile.error().code;
  };
  EXPECT_EQ(code("lossless-1 sort_query"), ErrorCode::kUnsupportedVersion) << "of before";
  EXPECT_EQ(code("lossless-2 fold_whatever"), ErrorCode::kUnsupportedVersion);
  EXPECT_EQ(code("lossless-2 sort_query=a"), ErrorCode::kUnsupportedVersion);
  for (const auto* name :
       {"", " ", "sort_query", "Lossless-2", "lossless-2 ", "lossless-2 sort_query ",
        "lossless-2 merge_slashes sort_query", "lossless-2 sort_query sort_query",
        "lossless-2 drop_index=b,a", "lossless-2 drop_index=A", "lossless-2 drop_index=,",
        "lossless-2 drop_index=a,", "lossless-2 host=b host=a",
        "lossless-2 host=", "lossless-2 host=H", "lossless-2 host=h.", "lossless-2 host=a%2Fb",
        "lossless-2 host=a host=a"}) {
    EXPECT_EQ(code(name), ErrorCode::kCorrupt) << name;
  }
  EXPECT_EQ(code("lossless-2 drop_index"), ErrorCode::kUnsupportedVersion) << "names are missing";
  EXPECT_EQ(code(std::string(1'000'000, ' ')), ErrorCode::kCorrupt);
}

TEST(Profile, MadeByHandIsChecked) {
  const auto wrong = [](const Profile& profile) {
    const auto valid = profile.validate();
    return valid ? "" : valid.error().message;
  };
  EXPECT_EQ(wrong({}), "");
  EXPECT_EQ(wrong({.rules = {.index_names = {{"INDEX.*"}}},
                   .hosts = {{"h", {.parameter_names = Strings{}}}, {".h"}, {"[::1]"}}}),
            "");
  EXPECT_EQ(wrong({.rules = {.index_names = {{"a", ""}}}}),
            "\"\" is not a valid name: it is empty");
  EXPECT_EQ(wrong({.hosts = {{"h", {.session_id_names = {{"a", ""}}}}}}),
            "\"\" is not a valid name: it is empty");
  EXPECT_EQ(wrong({.hosts = {{"Example.com."}}}),
            "the host \"Example.com.\" must be written example.com");
  EXPECT_EQ(wrong({.hosts = {{"h"}, {"i"}, {"h"}}}), "the host h is named twice");
  EXPECT_NE(wrong({.hosts = {{"h:80"}}}), "");
}

TEST(Profile, ChangesAreTold) {
  const auto made = [](const RulesText& text, const std::vector<HostRulesText>& hosts = {}) {
    return *Profile::from_text(text, hosts);
  };
  const Profile before =
      made({.rules = {{"sort_query", "drop_parameters"}}, .parameter_names = {{"b", "a", "c"}}},
           {{".example.com", {.rules = {{"sort_query"}}}}, {"old"}});
  const Profile after =
      made({.rules = {{"drop_www", "drop_parameters"}}, .parameter_names = {{"b", "x", "y"}}},
           {{".example.com", {.rules = {{"sort_query", "drop_www"}}}}, {"new"}});
  EXPECT_EQ(profile_changes(before, after),
            "sort_query is off now\n"
            "drop_parameters no longer drops: a, c\n"
            "drop_parameters also drops: x, y\n"
            "drop_www is on now\n"
            "for .example.com: drop_www is on now\n"
            "new has rules of its own now\n"
            "old has no rules of its own now");
  EXPECT_EQ(profile_changes(before, before), "");
  EXPECT_EQ(profile_changes(Profile{}, made({.rules = {{"drop_www"}}})), "drop_www is on now");
  EXPECT_EQ(profile_changes(made({}, {{"h"}}), Profile{}), "h has no rules of its own now");
  EXPECT_EQ(profile_changes(before.name(), after), profile_changes(before, after));
  EXPECT_EQ(profile_changes("lossless-2 no_such", after),
            "the profile has \"no_such\", which is not a rule of this version of Trawl");
}

TEST(Profile, ImpossibleNamesMatchNothing) {
  const Profile profile{.rules = {.drop_parameters = true, .parameter_names = {{"", "a*b", "x"}}}};
  EXPECT_EQ(profile.name(), "lossless-2 drop_parameters=x");
  EXPECT_EQ(Canonicalizer(profile).key(*Url::parse("http://h/?a*b&=&x&y")), "http://h/?a*b&=&y");
}

TEST(RuleSet, TellsItsRules) {
  RuleSet rules;
  EXPECT_TRUE(rules.empty());
  EXPECT_TRUE(rules.names().empty());
  rules.insert(Rule::kLowercasePath);
  rules.insert(Rule::kDropFragment);
  EXPECT_TRUE(rules.contains(Rule::kLowercasePath));
  EXPECT_FALSE(rules.contains(Rule::kSortQuery));
  EXPECT_EQ(rules.names(), (std::vector<std::string_view>{"drop_fragment", "lowercase_path"}));
}

}  // namespace
}  // namespace trawl
