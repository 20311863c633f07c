// A config with every key, read, written and read back.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_config.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

// No value is the default.
constexpr std::string_view kEveryKey = R"toml(
[crawl]
seeds = ["http://a.example/", "https://b.example/x?y"]
user_agent = "bot/2 (+https://b.example/)"
sitemaps = "http://a.example/map.xml"
robots_token = "bot-news_2"
state_dir = "/var/crawl"
order = "priority"
priorities = [{ match = "*/news/*", priority = 10 }, { match = "re:[?&]old=", priority = -1000 }]

[[seed]]
url = "http://a.example/"
depth = 3
scope = "domain"
priority = -5
note = "a \"note\""

[[seed]]
url = "http://C.example"

[scope]
type = "page"
rules = [
  { include = "*/keep/*", name = "what we keep" },
  { exclude = "re:\\.(zip|iso)$" },
  { include = "*", kind = ["redirect", "requisite"] },
  { exclude = "*", kind = "sitemap" },
]
exclude = ["*/calendar/*"]
include = ["cdn.example/*", "re:^https:"]
blocklist = ["/etc/spam", "/etc/hosts.txt"]
extra_hops = 2
max_depth = 0
max_pages = 5_000_000_000
max_pages_per_host = 7
max_bytes = "1GiB"
max_time = "12h"
max_url_length = 65536
max_path_segments = 9
max_repeated_segments = 2
max_query_parameters = 0
max_urls_per_host = 1_000_000
slow_pattern_after = 3
park_pattern_after = 0

[politeness]
delay = "1.5s"
domain_delay = "300ms"
ip_delay = "100ms"
adaptive_delay = 2
max_adaptive_delay = "20s"
per_host_connections = 4
respect_robots = false
max_crawl_delay = "2m"
robots_retries = 0
robots_backoff = "50ms"
robots_max_age = "6h"
host_backoff = "5s"
max_host_backoff = "1h"
max_retry_after = "2h"
host_failures = 0
park_time = "2d"
max_rate = 2.5
host = [
  { host = ".example.com", delay = "3s", connections = 2, respect_robots = false, max_pages = 10, max_urls = 20, own = true },
  { host = "a.example.com", delay = "0s" },
]

[fetch]
threads = 8
connections = 3
max_redirects = 0
retries = 5
retry_delay = "1m"
connect_timeout = "3s"
first_byte_timeout = "4s"
timeout = "1h"
min_speed = "1KiB"
min_speed_time = "30s"
limit_rate = "2MiB"
max_body = "64KiB"
max_download = "32KiB"
max_header = "8KiB"
max_memory = "32MiB"
content_types = ["text/*", "Application/XHTML+XML"]
http2 = false
ip_version = "ipv6"
dns_servers = ["127.0.0.1:5353", "192.0.2.1"]
dns_timeout = "2s"
dns_negative_age = "0s"
allow_private_addresses = true
verify_tls = false
ca_file = "/etc/ca.pem"
proxy = "http://user:pw@proxy.example:3128"
headers = ["Accept-Language: en"]
cookies = true
secret_headers = ["X-Key"]
referer = true

[[fetch.host]]
host = ".example.com"
headers = ["X-Key: \"secret\""]
basic_auth = "user:\u00e9 \"x\\"
cookies = false
proxy = ""

[[fetch.host]]
host = "b.example"
bearer_token = "abc.def"
referer = false
proxy = "socks5://127.0.0.1:1080"

[[login]]
url = "https://www.b.example/in?a=1#form"
fields = { user = "me", "pass word" = "\u00e9 \"x" }
page = "/form?login"
host = ".B.example"

[[login]]
url = "https://c.example/in"
fields = { user = "me" }

[links]
kinds = ["resource", "navigation"]
engine = "gumbo"
respect_nofollow = false
guess = "json"
requisites = true
lazy_images = false
sitemaps = true
guess_sitemaps = true
feeds = false
from_duplicates = false
canonical = "key"
rules = { include = "text/html", status = "404" }
content_types = ["text/html"]

[url]
rules = ["sort_query", "drop_parameters"]
parameter_names = ["+ref"]
session_id_names = ["token"]
index_names = []
[[url.host]]
host = ".example.com"
rules = ["-sort_query"]
[[url.host]]
host = "b.example"
index_names = ["home.html"]

[filter]
expected_urls = 1
false_positive_rate = 0.25
max_memory = "2GiB"
# These three have their defaults: others are not possible with [cluster].
mode = "bloom"

[frontier]
durability = "async"
max_memory = "1GB"
ledger = false
max_set_aside = 12345

[checkpoint]
max_replay = "20s"
interval = "250ms"
admissions = 1_000_000
max_rate = "50MiB"
keep = 100

[cluster]
redis = ["rediss://10.0.0.1:6379", "redis-2.example", "[::1]:7000"]
name = "crawl-1.a_B"
buckets = 4096
member = "host \u00e9"
takeover_after = "2s"
durability = "synced"
username = "us"
password_file = "/etc/redis-password"
tls = true
ca_file = "/etc/redis-ca.pem"
shared_ip_delay = true

[recrawl]
interval = "7d"
rules = [{ match = "*/news/*", interval = "2h" }, { match = "*/old/*", interval = "never" }]
by_sitemap = true
adaptive = false
failed = "3d"
min_interval = "30m"
max_interval = "60d"
wait = true

[output]
directory = "/out"
pages = false
links = true
skipped = true
digest = "sha1"
warc = true
cdxj = false
warc_prefix = "Our.crawl_1"
warc_size = "100MB"
warc_time = "1d"
respect_noarchive = true
respect_noindex = true
known = ["/old/*.cdxj"]
warc_metadata = false
warc_operator = "Us \"and\" them"
warc_description = "for \u00e9"
rules = [{ exclude = "*/*", status = [404, "5xx", "420-429"] }, { include = "image/*" }]
content_types = ["text/html", "*/*"]

min_free = "2GiB"
min_free_wait = "5m"

[log]
level = "off"
levels = ["http=debug", "frontier=warn"]
format = "json"
file = "/log.txt"
max_size = "10MiB"
keep = 3
)toml";

void set_crawl_and_scope(CrawlConfig& config) {
  config.crawl = {.seeds = {"http://a.example/", "https://b.example/x?y", "http://c.example/"},
                  .seed_file = {},
                  .seed_settings = {{.url = "http://a.example/",
                                     .depth = 3,
                                     .scope = ScopeType::kDomain,
                                     .priority = -5,
                                     .note = "a \"note\""},
                                    {.url = "http://c.example/"}},
                  .sitemaps = {"http://a.example/map.xml"},
                  .user_agent = "bot/2 (+https://b.example/)",
                  .robots_token = "bot-news_2",
                  .state_dir = "/var/crawl",
                  .order = CrawlOrder::kPriority,
                  .priorities = {{"*/news/*", 10}, {"re:[?&]old=", -1000}}};
  config.scope = {.type = ScopeType::kPage,
                  .max_depth = 0,
                  .max_pages = 5'000'000'000,
                  .max_pages_per_host = 7,
                  .max_bytes = 1u << 30,
                  .max_time = 12h,
                  .extra_hops = 2,
                  .rules = {{true, "*/keep/*", "what we keep"},
                            {false, "re:\\.(zip|iso)$", ""},
                            {true, "*", "", {FoundAs::kRequisite, FoundAs::kRedirect}},
                            {false, "*", "", {FoundAs::kSitemap}}},
                  .exclude = {"*/calendar/*"},
                  .include = {"cdn.example/*", "re:^https:"},
                  .blocklist = {"/etc/spam", "/etc/hosts.txt"},
                  .max_url_length = 65536,
                  .max_path_segments = 9,
                  .max_repeated_segments = 2,
                  .max_query_parameters = 0,
                  .max_urls_per_host = 1'000'000,
                  .slow_pattern_after = 3,
                  .park_pattern_after = 0};
  config.politeness = {1500ms,
                       300ms,
                       100ms,
                       2,
                       20s,
                       4,
                       false,
                       2min,
                       0,
                       50ms,
                       6h,
                       5,
                       60s,
                       5s,
                       1h,
                       2h,
                       0,
                       48h,
                       2.5,
                       {{.host = ".example.com",
                         .delay = 3s,
                         .connections = 2,
                         .respect_robots = false,
                         .max_pages = 10,
                         .max_urls = 20,
                         .own = true},
                        {.host = "a.example.com", .delay = 0s}}};
}

void set_fetch(CrawlConfig& config) {
  config.fetch = {
      .threads = 8,
      .connections = 3,
      .connect_timeout = 3s,
      .first_byte_timeout = 4s,
      .timeout = 1h,
      .min_speed = 1024,
      .min_speed_time = 30s,
      .limit_rate = 2u << 20,
      .max_body = 64 << 10,
      .max_download = 32 << 10,
      .max_header = 8 << 10,
      .max_memory = 32 << 20,
      .max_redirects = 0,
      .content_types = {"text/*", "application/xhtml+xml"},
      .http2 = false,
      .ip_version = IpVersion::kV6,
      .dns_servers = {"127.0.0.1:5353", "192.0.2.1"},
      .dns_timeout = 2s,
      .dns_negative_age = 0s,
      .proxy = "http://user:pw@proxy.example:3128",
      .headers = {"Accept-Language: en"},
      .cookies = true,
      .cookies_file = {},
      .secret_headers = {"X-Key"},
      .referer = true,
      .hosts = {{.host = ".example.com",
                 .headers = {"X-Key: \"secret\""},
                 .basic_auth = "user:\xc3\xa9 \"x\\",
                 .bearer_token = "",
                 .cookies = false,
                 .referer = std::nullopt,
                 .proxy = ""},
                {.host = "b.example",
                 .headers = {},
                 .basic_auth = "",
                 .bearer_token = "abc.def",
                 .cookies = std::nullopt,
                 .referer = false,
                 .proxy = "socks5://127.0.0.1:1080"}},
      .logins = {{.url = "https://www.b.example/in?a=1",
                  .fields = {{"pass word", "\xc3\xa9 \"x"}, {"user", "me"}},
                  .page = "https://www.b.example/form?login",
                  .host = ".b.example"},
                 {.url = "https://c.example/in", .fields = {{"user", "me"}}, .host = "c.example"}},
      .allow_private_addresses = true,
      .verify_tls = false,
      .ca_file = "/etc/ca.pem"};
}

CrawlConfig every_key() {
  CrawlConfig config;
  set_crawl_and_scope(config);
  set_fetch(config);
  config.links = {.kinds = {LinkKind::kNavigation, LinkKind::kResource},
                  .requisites = true,
                  .guess = {.scripts = false, .json = true},
                  .lazy_images = false,
                  .engine = LinkEngine::kGumbo,
                  .respect_nofollow = false,
                  .sitemaps = true,
                  .guess_sitemaps = true,
                  .feeds = false,
                  .from_duplicates = false,
                  .canonical = CanonicalLinks::kKey,
                  .rules = {{true, "text/html", {{404, 404}}}},
                  .content_types = {"text/html"}};
  config.url.text = {Names{"sort_query", "drop_parameters"}, Names{"+ref"}, Names{"token"},
                     Names{}};
  config.url.hosts = {{".example.com", {.rules = Names{"-sort_query"}}},
                      {"b.example", {.index_names = Names{"home.html"}}}};
  config.filter = {1, 0.25, 2ull << 30, FilterMode::kBloom};
  config.frontier = {Durability::kAsync, 1'000'000'000, false, 12'345};
  config.checkpoint = {20s, 250ms, 1'000'000, 50u << 20, 100};
  config.cluster = {.redis = {"rediss://10.0.0.1:6379", "redis-2.example", "[::1]:7000"},
                    .name = "crawl-1.a_B",
                    .buckets = 4096,
                    .member = "host \xc3\xa9",
                    .takeover_after = 2s,
                    .durability = ClusterDurability::kSynced,
                    .username = "us",
                    .password_file = "/etc/redis-password",
                    .tls = true,
                    .ca_file = "/etc/redis-ca.pem",
                    .shared_ip_delay = true};
  config.recrawl = {.interval = 24h * 7,
                    .rules = {{"*/news/*", 2h}, {"*/old/*", std::nullopt}},
                    .failed = 24h * 3,
                    .by_sitemap = true,
                    .adaptive = false,
                    .min_interval = 30min,
                    .max_interval = 24h * 60,
                    .wait = true};
  config.output = {
      .directory = "/out",
      .pages = false,
      .links = true,
      .skipped = true,
      .digest = DigestAlgorithm::kSha1,
      .warc = true,
      .cdxj = false,
      .warc_prefix = "Our.crawl_1",
      .warc_size = 100'000'000,
      .warc_time = 24h,
      .known = {"/old/*.cdxj"},
      .warc_metadata = false,
      .warc_operator = "Us \"and\" them",
      .warc_description = "for \xc3\xa9",
      .rules = {{false, "*/*", {{404, 404}, {500, 599}, {420, 429}}}, {true, "image/*", {}}},
      .content_types = {"text/html", "*/*"},
      .respect_noarchive = true,
      .respect_noindex = true,
      .min_free = 2ull << 30,
      .min_free_wait = 5min};
  config.log = {
      "off", {{"frontier", "warn"}, {"http", "debug"}}, LogFormat::kJson, "/log.txt", 10u << 20, 3};
  return config;
}

TEST(Config, ReadsEveryKey) {
  EXPECT_EQ(accepted(kEveryKey), every_key());
}

TEST(Config, WrittenAsTomlItIsReadBackTheSame) {
  const CrawlConfig defaults = accepted(minimal_with(""), {"crawl.state_dir=/state"});
  EXPECT_EQ(accepted(to_toml(defaults)), defaults);
  const CrawlConfig changed = every_key();
  EXPECT_EQ(accepted(to_toml(changed)), changed);
}

// What must be set besides for the key to mean anything.
std::vector<std::string> needed_by(const ConfigKey& key) {
  if (key.name == "crawl.priorities") return {"crawl.order=priority"};
  if (key.table() == "cluster") {
    std::vector<std::string> needed = {"cluster.redis=10.0.0.1:6379", "cluster.name=c1"};
    if (key.name == "cluster.username") needed.emplace_back("cluster.password_file=/password");
    if (key.name == "cluster.ca_file") needed.emplace_back("cluster.tls=true");
    if (key.name == "cluster.shared_ip_delay") needed.emplace_back("politeness.ip_delay=1s");
    return needed;
  }
  if (key.table() == "output" && key.name != "output.warc") return {"output.warc=true"};
  return {};
}

// A value of the key other than its default: its example, or the first of many that it accepts.
std::string other_value(const ConfigKey& key) {
  std::vector<std::string> values = {std::string(key.example),
                                     "true",
                                     "false",
                                     "7",
                                     "2",
                                     "77",
                                     "0.5",
                                     "\"7s\"",
                                     "\"77MiB\"",
                                     "\"77KiB\"",
                                     "\"a-text\"",
                                     "[\"form\"]"};
  for (const ConfigChoice& choice : key.choices)
    values.push_back(fmt::format("\"{}\"", choice.word));
  for (const std::string& value : values) {
    if (value.empty()) continue;
    const auto config = parse_config(with_value(key, value), "c.toml", needed_by(key));
    if (config && key.write(*config) != key.write(CrawlConfig{})) return value;
  }
  ADD_FAILURE() << key.name << " has no value except its default: give it an example";
  return {};
}

// So that a new key cannot be left out, bound to another key's field, or not written.
TEST(Config, EachKeyChangesItsFieldAloneAndIsReadBackTheSame) {
  // Others follow these: see related_keys.h.
  const std::set<std::string_view> leads = {"scope.park_pattern_after", "fetch.max_body",
                                            "recrawl.interval", "recrawl.rules",
                                            "recrawl.max_interval"};
  for (const ConfigKey& key : config_keys()) {
    // Their seeds are written with the others; the file's name is not.
    if (key.name == "crawl.seed_file" || key.name == "crawl.seed" ||
        key.name == "fetch.cookies_file")  // whose file is read
      continue;
    if (key.name == "cluster.redis" || key.name == "cluster.name") continue;  // need each other
    SCOPED_TRACE(key.name);
    const CrawlConfig base = accepted(kMinimal, needed_by(key));
    const CrawlConfig changed = accepted(with_value(key, other_value(key)), needed_by(key));
    EXPECT_NE(key.write(changed), key.write(base));
    for (const ConfigKey& other : config_keys()) {
      if (other.name == key.name || leads.contains(key.name)) continue;
      EXPECT_EQ(other.write(changed), other.write(base)) << other.name;
    }
    EXPECT_EQ(to_toml(accepted(to_toml(changed))), to_toml(changed));
  }
}

TEST(Config, AnyTextIsReadBackTheSame) {
  CrawlConfig config = every_key();
  config.crawl.user_agent = "bot \"2\" \\ \xC3\xA9";
  config.crawl.state_dir = "/var/\"x\" \t\\y\x1b\x7f";
  config.scope.rules = {{false, "re:\"\\\\'\\t", "a \"name\" \\"}};
  config.scope.blocklist = {"/\x01\n\"'"};
  config.output.warc_description = "''' \"\"\" \\";
  EXPECT_EQ(accepted(to_toml(config)), config);
}

TEST(Config, LongListsAreReadBackTheSame) {
  CrawlConfig config = every_key();
  for (int i = 0; i < 500; ++i) {
    config.scope.exclude.push_back(fmt::format("*/{}/*", i));
    config.scope.rules.push_back({i % 2 == 0, fmt::format("*/{}/*", i), fmt::format("rule {}", i)});
    config.crawl.priorities.push_back({fmt::format("*/{}/*", i), i});
    config.recrawl.rules.push_back({fmt::format("*/{}/*", i), std::chrono::hours(i + 1)});
    HostRequestsText host;
    host.host = fmt::format("h{}.example", i);
    host.bearer_token = host.host;
    config.fetch.hosts.push_back(host);
  }
  EXPECT_EQ(accepted(to_toml(config)), config);
}

TEST(Config, AnyNumberIsReadBackTheSame) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> exponent(-300, -1e-9);
  CrawlConfig config = every_key();
  for (int i = 0; i < 300; ++i) {
    config.filter.false_positive_rate = std::pow(10.0, exponent(random));
    config.politeness.adaptive_delay = std::pow(10.0, 3 * exponent(random) / 300);
    ASSERT_EQ(accepted(to_toml(config)), config);
  }
}

}  // namespace
}  // namespace trawl::test
