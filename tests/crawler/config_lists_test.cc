// Lists and small tables in a config: each element that is wrong is named with its place.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> errors_in(std::string_view more) {
  return errors(minimal_with(more));
}

TEST(ConfigLists, BadPatternsAreNamedWithTheirPlace) {
  EXPECT_THAT(errors_in("[scope]\nexclude = [\"*/a/*\", \"\", \"re:(\"]\ninclude = [3, \"b c\"]\n"),
              ElementsAre(StartsWith("c.toml:5:21: scope.exclude: "),
                          AllOf(StartsWith("c.toml:5:25: scope.exclude: "), HasSubstr("re:(")),
                          AllOf(StartsWith("c.toml:6:12: scope.include: expected an array of URL "
                                           "patterns"),
                                HasSubstr("the integer 3")),
                          StartsWith("c.toml:6:15: scope.include: ")));
}

TEST(ConfigLists, OneStringOrTableIsAListOfOne) {
  const auto config = parse_config(
      R"toml(
[crawl]
seeds = "https://example.com/"
state_dir = "state"
order = "priority"
priorities = { match = "*/a/*", priority = 3 }
[scope]
exclude = "*.pdf"
blocklist = "hosts.txt"
max_pages = "10k"
[links]
kinds = "navigation"
[politeness]
delay = "1 s"
respect_robots = "no"
[filter]
expected_urls = "10M"
false_positive_rate = "1e-4"
[fetch]
max_body = "10 MB"
[output]
content_types = "text/html"
warc = "yes"
)toml",
      "c.toml", {"scope.include=*/b/*", "scope.type=Domain", "fetch.headers=A: b"});
  ASSERT_TRUE(config) << config.error().front().to_string();
  EXPECT_THAT(config->crawl.seeds, ElementsAre("https://example.com/"));
  EXPECT_EQ(config->crawl.priorities.size(), 1u);
  EXPECT_THAT(config->scope.exclude, ElementsAre("*.pdf"));
  EXPECT_THAT(config->scope.include, ElementsAre("*/b/*"));
  EXPECT_EQ(config->scope.type, ScopeType::kDomain);
  EXPECT_THAT(config->scope.blocklist, ElementsAre("hosts.txt"));
  EXPECT_EQ(config->scope.max_pages, 10'000u);
  EXPECT_TRUE(config->links.kinds.has(LinkKind::kNavigation));
  EXPECT_FALSE(config->links.kinds.has(LinkKind::kRelated));
  EXPECT_EQ(config->politeness.delay, std::chrono::seconds(1));
  EXPECT_FALSE(config->politeness.respect_robots);
  EXPECT_EQ(config->filter.expected_urls, 10'000'000u);
  EXPECT_EQ(config->filter.false_positive_rate, 1e-4);
  EXPECT_EQ(config->fetch.max_body, 10'000'000u);
  EXPECT_THAT(config->fetch.headers, ElementsAre("A: b"));
  EXPECT_TRUE(config->output.warc);
}

TEST(ConfigLists, BadScopeRulesAreNamedWithTheirPlace) {
  EXPECT_THAT(errors_in(R"toml([scope]
rules = [
  { include = "*/a/*", exclude = "*/b/*" },
  { name = "neither" },
  { include = "re:[", name = "x" },
  { exclude = 3 },
  { exclude = "*/c/*", name = 4 },
  { exclude = "*/c/*", name = "a\nb" },
  { exlude = "*/d/*" },
  "*/e/*",
  { include = "*", kind = "requisit" },
  { include = "*", kind = ["redirect", 3] },
  { include = "*", kind = [] },
]
)toml"),
              ElementsAre(AllOf(StartsWith("c.toml:6:3: scope.rules: "), HasSubstr("either")),
                          AllOf(StartsWith("c.toml:7:3: scope.rules: "), HasSubstr("either")),
                          StartsWith("c.toml:8:15: scope.rules: include: "),
                          StartsWith("c.toml:9:15: scope.rules: exclude: expected a string"),
                          StartsWith("c.toml:10:31: scope.rules: name: expected a string"),
                          StartsWith("c.toml:11:31: scope.rules: name: expected at most 200 bytes"),
                          AllOf(StartsWith("c.toml:12:14: scope.rules: unknown name \"exlude\""),
                                HasSubstr("\"exclude\"?")),
                          AllOf(StartsWith("c.toml:13:3: scope.rules: expected an array of"),
                                HasSubstr("the string")),
                          AllOf(StartsWith("c.toml:14:27: scope.rules: expected kind: one of"),
                                HasSubstr("\"requisite\"?")),
                          StartsWith("c.toml:15:40: scope.rules: expected kind: one of"),
                          StartsWith("c.toml:16:27: scope.rules: kind: expected at least one")));
}

TEST(ConfigLists, BadRulesOnResponsesAreNamedWithTheirPlace) {
  EXPECT_THAT(errors_in(R"toml([output]
rules = [
  { include = "image/*", exclude = "*/*" },
  { status = 404 },
  { include = "image" },
  { exclude = "*/*", status = 99 },
  { exclude = "*/*", status = "6yy" },
  { exclude = "*/*", status = "503-500" },
  { exclude = "*/*", status = [] },
  { exclude = "*/*", status = [404, true] },
  { exclude = "*/*", statuses = 404 },
]
)toml"),
              ElementsAre(AllOf(StartsWith("c.toml:6:3: output.rules: "), HasSubstr("either")),
                          AllOf(StartsWith("c.toml:7:3: output.rules: "), HasSubstr("either")),
                          StartsWith("c.toml:8:15: output.rules: include: expected a content type"),
                          StartsWith("c.toml:9:31: output.rules: status: expected a status such"),
                          StartsWith("c.toml:10:31: output.rules: status: expected a status such"),
                          StartsWith("c.toml:11:31: output.rules: status: expected a status such"),
                          StartsWith("c.toml:12:31: output.rules: status: expected at least one"),
                          StartsWith("c.toml:13:37: output.rules: status: expected a status such"),
                          AllOf(StartsWith("c.toml:14:33: output.rules: unknown name"),
                                HasSubstr("\"status\"?"))));
}

TEST(ConfigLists, BadHostPolitenessIsNamedWithItsPlace) {
  EXPECT_THAT(errors_in(R"toml([[politeness.host]]
host = "a b"
[[politeness.host]]
delay = "1s"
[[politeness.host]]
host = "c.example"
delay = "25h"
connections = 0
respect_robots = "no"
max_pages = 0
wait = 1
)toml"),
              testing::UnorderedElementsAre(
                  StartsWith("c.toml:4:1: politeness.host: "),
                  AllOf(StartsWith("c.toml:6:1: politeness.host: "), HasSubstr("host is missing")),
                  StartsWith("c.toml:10:9: politeness.host: delay: expected "),
                  StartsWith("c.toml:11:15: politeness.host: connections: expected "),
                  StartsWith("c.toml:12:18: politeness.host: respect_robots: expected "),
                  StartsWith("c.toml:13:13: politeness.host: max_pages: expected "),
                  StartsWith("c.toml:14:8: politeness.host: unknown name \"wait\"")));
  EXPECT_THAT(
      errors_in("[politeness]\nhost = [{ host = \"a.example\" }, { host = \"A.example\" }]\n"),
      ElementsAre(HasSubstr("a.example is named twice")));
}

TEST(ConfigLists, LogLevelsAreATableOrStrings) {
  const std::vector<LogRoomLevel> expected = {{"frontier", "warn"}, {"http", "debug"}};
  for (const char* const written :
       {"{ http = \"debug\", frontier = \"warn\" }", "[\"http=debug\", \"frontier=warn\"]",
        "[\"http = debug, frontier=warn\"]", "\"http=debug,frontier=warn\""}) {
    EXPECT_EQ(accepted(minimal_with(std::string("[log]\nlevels = ") + written + "\n")).log.levels,
              expected)
        << written;
  }
  EXPECT_EQ(
      accepted(minimal_with("[log.levels]\nhttp = \"debug\"\nfrontier = \"warn\"\n")).log.levels,
      expected);
  EXPECT_THAT(errors_in("[log]\nlevels = { htp = \"debug\" }\n"),
              ElementsAre(AllOf(StartsWith("c.toml:5:18: log.levels: "), HasSubstr("\"http\"?"))));
  EXPECT_THAT(errors_in("[log]\nlevels = { http = \"loud\" }\n"), ElementsAre(HasSubstr("loud")));
  EXPECT_THAT(errors_in("[log]\nlevels = [\"http=info\", \"http=warn\"]\n"),
              ElementsAre(HasSubstr("twice")));
}

TEST(ConfigLists, BadPrioritiesAndRecrawlRulesAreNamedWithTheirPlace) {
  EXPECT_THAT(errors(R"toml([crawl]
seeds = ["http://a.example/"]
state_dir = "s"
order = "priority"
priorities = [
  { match = "*" },
  { priority = 3 },
  { match = "*", priority = 1001 },
  { match = "*", priority = "1" },
]
[recrawl]
rules = [
  { match = "*" },
  { interval = "1d" },
  { match = "*", interval = "1x" },
  { match = "*", interval = "400d" },
]
)toml"),
              ElementsAre(StartsWith("c.toml:6:3: crawl.priorities: priority is missing"),
                          StartsWith("c.toml:7:3: crawl.priorities: match is missing"),
                          AllOf(StartsWith("c.toml:8:29: crawl.priorities: priority: expected a "
                                           "whole number, -1000 to 1000"),
                                HasSubstr("1001")),
                          StartsWith("c.toml:9:29: crawl.priorities: priority: expected"),
                          StartsWith("c.toml:13:3: recrawl.rules: interval is missing"),
                          StartsWith("c.toml:14:3: recrawl.rules: match is missing"),
                          AllOf(StartsWith("c.toml:15:29: recrawl.rules: interval: expected"),
                                HasSubstr("unknown unit \"x\"")),
                          StartsWith("c.toml:16:29: recrawl.rules: interval: expected")));
}

TEST(ConfigLists, BadRequestSettingsAreNamedWithTheirPlaceAndNoSecret) {
  const auto all = errors_in(R"toml([fetch]
headers = ["X-Key secret1", 3]
dns_servers = ["ns.example"]
proxy = "gopher://user:secret2@proxy.example"
[[fetch.host]]
host = "a.example"
basic_auth = "secret3-without-colon"
[[fetch.host]]
host = "b.example"
headers = ["X-Key: secret4\r\nY: z"]
bearer_token = 7
cookies = "no"
[[fetch.host]]
host = "c.example"
token = "secret5"
)toml");
  EXPECT_THAT(all, ElementsAre(StartsWith("c.toml:5:12: fetch.headers: "),
                               StartsWith("c.toml:5:29: fetch.headers: expected an array"),
                               StartsWith("c.toml:6:16: fetch.dns_servers: "),
                               StartsWith("c.toml:7:9: fetch.proxy: "),
                               StartsWith("c.toml:8:1: fetch.host: "),
                               StartsWith("c.toml:13:12: fetch.host: headers: "),
                               StartsWith("c.toml:14:16: fetch.host: bearer_token: "),
                               StartsWith("c.toml:15:11: fetch.host: cookies: "),
                               AllOf(StartsWith("c.toml:18:9: fetch.host: unknown name \"token\""),
                                     HasSubstr("bearer_token"))));
  EXPECT_THAT(all, Each(Not(HasSubstr("secret"))));
}

TEST(ConfigLists, TwoSettingsForOneHostAreAnError) {
  EXPECT_THAT(only_error(minimal_with("[fetch]\nhost = [\n{ host = \"a.example\", cookies = true "
                                      "},\n{ host = \"a.example\", referer = true },\n]\n")),
              StartsWith("c.toml:5:8: fetch.host: "));
}

TEST(ConfigLists, BadLoginsAreNamedWithTheirPlaceAndNoSecret) {
  const auto all = errors_in(R"toml([[login]]
fields = { password = "secret1" }
[[login]]
url = "https://a.example/in"
[[login]]
url = "ftp://secret2.example/"
fields = "user=me&password=secret2"
[[login]]
url = "https://a.example/in"
fields = { password = 314159, user = ["secret3"] }
page = 3
password = "secret4"
[[login]]
url = "https://a.example/in"
fields = {}
host = "b.example"
)toml");
  EXPECT_THAT(
      all,
      ElementsAre(StartsWith("c.toml:4:1: fetch.login: url is missing: the http(s) URL"),
                  StartsWith("c.toml:6:1: fetch.login: fields is missing: what the form sends"),
                  StartsWith("c.toml:9:7: fetch.login: url: expected an http(s) URL"),
                  StartsWith("c.toml:10:10: fetch.login: fields: expected a table of strings"),
                  StartsWith("c.toml:13:23: fetch.login: fields: \"password\": expected a string"),
                  StartsWith("c.toml:13:38: fetch.login: fields: \"user\": expected a string"),
                  StartsWith("c.toml:14:8: fetch.login: page: expected an http(s) URL"),
                  StartsWith("c.toml:15:12: fetch.login: unknown name \"password\"; known are url"),
                  StartsWith("c.toml:18:10: fetch.login: fields: expected a table of strings"),
                  StartsWith("c.toml:19:8: fetch.login: host: \"b.example\" is of another site")));
  EXPECT_THAT(all, Each(AllOf(Not(HasSubstr("secret1")), Not(HasSubstr("secret2")),
                              Not(HasSubstr("secret3")), Not(HasSubstr("secret4")),
                              Not(HasSubstr("314159")))));
  for (const std::string_view text : {"\"p=secret5\"", "[\"p=secret5\"]"}) {
    EXPECT_THAT(only_error(fmt::format("login = {}\n{}", text, kMinimal)),
                AllOf(StartsWith("c.toml:1:9: fetch.login: expected tables [[login]] with a url"),
                      Not(HasSubstr("secret5"))));
  }
}

TEST(ConfigLists, LoginsHaveAHostOfTheirOwnWithCookies) {
  const std::string login = "{ url = \"https://a.example/in\", fields = { p = \"secret\" } }";
  EXPECT_THAT(only_error(minimal_with("[fetch]\nlogin = [" + login + ", " + login + "]\n")),
              StartsWith("c.toml:5:9: fetch.login: the host \"a.example\" has two logins"));
  const auto refused = AllOf(HasSubstr("fetch.login: the login for a.example needs cookies"),
                             Not(HasSubstr("secret")));
  const std::string with = "[fetch]\nlogin = " + login + "\nhost = { host = \"a.example\", ";
  EXPECT_THAT(only_error(minimal_with(with + "cookies = false }\n")), refused);
  EXPECT_THAT(only_error(minimal_with(with + "headers = [\"Cookie: secret\"] }\n")), refused);
  EXPECT_EQ(accepted(minimal_with(with + "referer = true }\n")).fetch.logins.size(), 1u);
}

TEST(ConfigLists, BadContentTypesAreNamedWithTheirPlace) {
  EXPECT_THAT(errors_in("[links]\ncontent_types = [\"text/html\", \"html\", \"text/html; a=b\", "
                        "\"*\", \"text/h*\", \"\"]\n"),
              ElementsAre(AllOf(StartsWith("c.toml:5:31: links.content_types: expected a content "
                                           "type such as"),
                                HasSubstr("\"html\"")),
                          StartsWith("c.toml:5:39: "), StartsWith("c.toml:5:57: "),
                          StartsWith("c.toml:5:62: "), StartsWith("c.toml:5:73: ")));
}

TEST(ConfigLists, OverridesTakeLists) {
  const CrawlConfig config =
      accepted(minimal_with("[scope]\nexclude = [\"*/a/*\"]\n"),
               {"scope.exclude=[\"*/b/*\"]", "scope.rules=[{ include = \"*/c/*\" }]",
                "recrawl.rules=[{ match = \"*\", interval = \"1d\" }]", "recrawl.interval=never",
                "fetch.host=[{ host = \"a.example\", cookies = true }]",
                "fetch.content_types=[\"text/*\"]"});
  EXPECT_THAT(config.scope.exclude, ElementsAre("*/b/*"));
  EXPECT_EQ(config.scope.rules.at(0), (ScopeRuleText{true, "*/c/*", ""}));
  EXPECT_EQ(config.recrawl.rules.size(), 1u);
  EXPECT_EQ(config.fetch.hosts.at(0).cookies, std::optional(true));
  EXPECT_THAT(config.fetch.content_types, ElementsAre("text/*"));
}

}  // namespace
}  // namespace trawl::test
