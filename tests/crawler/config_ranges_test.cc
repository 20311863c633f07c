// The values of keys: all are read, and those out of range are refused.
#include <chrono>
#include <cstdint>
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

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Config, EveryKeyRefusesAValueOfAnotherType) {
  const std::set<std::string_view> kTables = {"crawl.priorities", "crawl.seed",   "scope.rules",
                                              "links.rules",      "output.rules", "politeness.host",
                                              "fetch.host",       "fetch.login",  "url.host",
                                              "recrawl.rules",    "log.levels"};
  for (const ConfigKey& key : config_keys()) {
    for (const std::string_view value : {"2001-02-03", "{ a = 1 }", "[[]]"}) {
      if (kTables.contains(key.name) && value.starts_with('{')) continue;  // a table is right
      SCOPED_TRACE(fmt::format("{} = {}", key.name, value));
      EXPECT_THAT(only_error(with_value(key, value)),
                  AllOf(StartsWith("c.toml:"), HasSubstr(fmt::format(": {}: expected ", key.name)),
                        HasSubstr("found a")));
    }
  }
}

TEST(Config, RangesAreChecked) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> refused = {
      {"crawl.user_agent", {"\"\"", R"("a\nb")", R"("a\u0085b")", R"("a\u007F")", "3"}},
      {"crawl.robots_token",
       {"\"*\"", "\"bot/1.0\"", "\"my bot\"", "\"b\u00f6t\"", "3",
        '"' + std::string(65, 'a') + '"'}},
      {"crawl.state_dir", {R"("a\u0000b")", "1"}},
      {"scope.max_depth", {"-1", "4294967296", "1.0", "\"1s\"", "\"5G\""}},
      {"scope.max_pages", {"0", "-5"}},
      {"scope.max_pages_per_host", {"0", "-1"}},
      {"scope.max_bytes", {"0", "-1", "\"0B\"", "\"x\""}},
      {"scope.max_time", {"\"0s\"", "\"366d\"", "60"}},
      {"scope.extra_hops", {"-1", "101"}},
      {"scope.max_url_length", {"31", "65537"}},
      {"scope.max_path_segments", {"0", "65537"}},
      {"scope.max_repeated_segments", {"0", "65537"}},
      {"scope.max_query_parameters", {"-1", "65537"}},
      {"scope.max_urls_per_host", {"0"}},
      {"scope.slow_pattern_after", {"-1", "4294967296"}},
      {"scope.park_pattern_after", {"-1", "4294967296"}},
      {"politeness.delay", {"\"-1s\"", "\"25h\"", "1", "1.5", "\"1\"", "\"\"", "\"1 s s\""}},
      {"politeness.domain_delay", {"\"-1ms\"", "\"25h\"", "2"}},
      {"politeness.ip_delay", {"\"1001d\"", "true"}},
      {"politeness.adaptive_delay",
       {"-1", "-0.1", "1000.5", "1001", "nan", "inf", "-inf", "\"2x\"", "\"\"", "true"}},
      {"politeness.max_adaptive_delay", {"\"25h\"", "60"}},
      {"politeness.per_host_connections", {"0", "1025"}},
      {"politeness.respect_robots", {"\"maybe\"", "1"}},
      {"politeness.max_crawl_delay", {"\"2d\""}},
      {"politeness.robots_retries", {"-1", "101", "\"4x\""}},
      {"politeness.robots_backoff", {"\"25h\"", "1"}},
      {"politeness.robots_max_age", {"\"0s\"", "\"25h\""}},
      {"politeness.host_backoff", {"\"25h\"", "1"}},
      {"politeness.max_host_backoff", {"\"8d\"", "1"}},
      {"politeness.max_retry_after", {"\"8d\"", "1"}},
      {"politeness.host_failures", {"-1", "1000001"}},
      {"politeness.park_time", {"\"31d\"", "1"}},
      {"fetch.threads", {"0", "1025", "-1", "9223372036854775807"}},
      {"fetch.connections", {"0", "65537"}},
      {"fetch.timeout", {"\"0s\"", "\"2d\""}},
      {"fetch.max_body", {"0", "-1", "\"5GiB\"", "\"1XB\"", "1.5", "9223372036854775807"}},
      {"fetch.max_download", {"0", "\"5GiB\""}},
      {"fetch.max_header", {"1023", "\"17MiB\""}},
      {"fetch.max_memory", {"65535", "\"1025TiB\""}},
      {"fetch.connect_timeout", {"\"0s\"", "\"2d\""}},
      {"fetch.first_byte_timeout", {"\"0s\"", "\"2d\""}},
      {"fetch.min_speed", {"-1", "\"2TiB\""}},
      {"fetch.min_speed_time", {"\"0s\"", "\"2d\""}},
      {"fetch.max_redirects", {"-1", "101"}},
      {"fetch.retries", {"-1", "101"}},
      {"fetch.retry_delay", {"\"25h\"", "1"}},
      {"fetch.ip_version", {"\"4\"", "4", "\"\""}},
      {"fetch.dns_timeout", {"\"0s\"", "\"2h\""}},
      {"fetch.dns_negative_age", {"\"25h\""}},
      {"crawl.order", {"\"random\"", "1"}},
      {"links.canonical", {"\"follow\"", "true"}},
      {"recrawl.interval", {"\"0s\"", "\"366d\"", "\"Never\"", "1"}},
      {"recrawl.failed", {"\"0s\"", "\"366d\"", "\"Never\"", "1"}},
      {"recrawl.min_interval", {"\"0s\"", "\"366d\"", "\"never\""}},
      {"recrawl.max_interval", {"\"0s\"", "\"366d\""}},
      {"output.warc_prefix",
       {"\"\"", "\"a/b\"", "\".a\"", "\"-a\"", "\"a b\"", "\"\\u00e9\"", "1"}},
      {"output.warc_size", {"1023", "\"1025TiB\""}},
      {"output.warc_time", {"\"366d\"", "1"}},
      {"output.warc_operator", {R"("a\r\nb")", "1"}},
      {"output.warc_description", {R"("a\nb")"}},
      {"links.engine", {"\"lexbor\"", "1"}},
      {"links.kinds", {"[\"images\"]", "\"navigatoin\"", "[1]"}},
      {"filter.expected_urls", {"0", "-1", "1000000000001"}},
      {"filter.false_positive_rate", {"0.0", "1.0", "-0.5", "nan", "inf", "-inf", "1"}},
      {"filter.mode", {"\"blooms\"", "\"\"", "true"}},
      {"frontier.durability", {"\"\"", "\"synced\"", "true"}},
      {"frontier.max_memory", {"0", "\"63MiB\"", "67108863", "\"1025TiB\"", "-1"}},
      {"frontier.ledger", {"\"y\"", "1"}},
      {"frontier.max_set_aside", {"-1", "\"x\""}},
      {"checkpoint.interval", {"\"0ms\"", "\"8d\""}},
      {"checkpoint.admissions", {"-1", "\"one\"", "1.5"}},
      {"checkpoint.max_rate", {"-1", "\"1025TiB\"", "\"10MiB/s\""}},
      {"checkpoint.keep", {"0", "101"}},
      {"log.level", {"\"verbose\"", "\"infos\""}},
      {"log.levels", {"1", "[1]", "[\"http\"]"}},
      {"log.format", {"\"xml\"", "1"}},
      {"log.max_size", {"-1", "\"1025TiB\""}},
      {"log.keep", {"0", "1001"}},
      {"fetch.limit_rate", {"-1", "\"2MiB/s\""}},
      {"politeness.max_rate", {"-1.0", "nan", "1000001.0", "\"five\""}},
      {"output.min_free", {"-1", "\"5%\""}},
      {"output.min_free_wait", {"1", "\"366d\""}},
  };
  for (const auto& [name, values] : refused) {
    for (const std::string& value : values) {
      SCOPED_TRACE(fmt::format("{} = {}", name, value));
      ASSERT_NE(find_config_key(name), nullptr);
      EXPECT_THAT(only_error(with_value(*find_config_key(name), value)),
                  HasSubstr(fmt::format(": {}: expected ", name)));
    }
  }
}

TEST(Config, BoundsThemselvesAreAccepted) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> good = {
      {"scope.max_depth", {"0", "4294967295"}},
      {"scope.max_pages", {"1", "9223372036854775807"}},
      {"scope.max_url_length", {"32", "65536"}},
      {"politeness.delay", {"\"0s\"", "\"0ms\"", "\"1d\"", "\"24h\""}},
      {"politeness.domain_delay", {"\"0s\"", "\"1d\""}},
      {"politeness.ip_delay", {"\"0s\"", "\"1d\""}},
      {"politeness.adaptive_delay", {"0", "0.0", "-0.0", "1e-300", "1000", "1000.0"}},
      {"politeness.robots_retries", {"0", "100"}},
      {"politeness.robots_backoff", {"\"0s\"", "\"1d\""}},
      {"politeness.robots_max_age", {"\"1ms\"", "\"1d\""}},
      {"fetch.threads", {"1", "1024"}},
      {"fetch.connections", {"1", "65536"}},
      {"fetch.max_body", {"1", "\"100MiB\"", "\"0.5KiB\""}},
      {"fetch.max_header", {"1024", "\"16MiB\""}},
      {"fetch.min_speed", {"0", "\"1TiB\""}},
      {"fetch.retries", {"0", "100"}},
      {"politeness.host_failures", {"0", "1000000"}},
      {"scope.max_time", {"\"1ms\"", "\"365d\""}},
      {"scope.max_query_parameters", {"0", "65536"}},
      {"scope.extra_hops", {"0", "100"}},
      {"recrawl.interval", {"\"never\"", "\"1ms\"", "\"365d\""}},
      {"links.kinds", {"[]", "[\"form\", \"form\"]"}},
      {"filter.false_positive_rate", {"5e-324", "0.9999999999999999"}},
      {"frontier.max_memory", {"67108864", "\"64MiB\"", "\"1024TiB\""}},
      {"checkpoint.admissions", {"0", "9223372036854775807"}},
      {"checkpoint.max_rate", {"0", "1", "\"1024TiB\""}},
      {"checkpoint.keep", {"1", "100"}},
      {"log.file", {"\"\""}},
  };
  for (const auto& [name, values] : good) {
    for (const std::string& value : values) {
      SCOPED_TRACE(fmt::format("{} = {}", name, value));
      ASSERT_NE(find_config_key(name), nullptr);
      EXPECT_THAT(errors(with_value(*find_config_key(name), value)), ElementsAre());
    }
  }
}

}  // namespace
}  // namespace trawl::test
