// The keys of [recrawl].
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/frontier.h"

#include "crawler/config/config_key_lists.h"
#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

using namespace std::chrono_literals;
using Interval = std::optional<std::chrono::milliseconds>;

constexpr std::string_view kNever = "never";
constexpr std::string_view kIntervalType = "a duration such as \"12h\" or \"7d\", or \"never\"";

std::string interval_range() {
  return fmt::format("\"1ms\" to \"{}\"", format_duration(kMaxDelay));
}

// Nothing if it is none; then `why` may say what is wrong.
std::optional<Interval> read_interval(const toml::node& node, std::string& why) {
  const auto text = node.value_exact<std::string_view>();
  if (!text) return std::nullopt;
  if (*text == kNever) return Interval();
  const auto value = parse_duration(*text);
  if (!value) {
    why = value.error();
    return std::nullopt;
  }
  if (*value < 1ms || *value > kMaxDelay) return std::nullopt;
  return Interval(*value);
}

std::string write_interval(Interval interval) {
  return fmt::format("\"{}\"", interval ? format_duration(*interval) : std::string(kNever));
}

ConfigKey interval_key(std::string_view name, Interval CrawlConfig::Recrawl::*field,
                       std::string_view doc) {
  ConfigKey key;
  key.name = name;
  key.type = kIntervalType;
  key.range = interval_range();
  key.doc = doc;
  key.read = [field, type = key.type, range = key.range](
                 const toml::node& node, CrawlConfig& config, const ConfigComplaint& complain) {
    std::string why;
    const auto interval = read_interval(node, why);
    if (!interval) return complain(node, config_key::mismatch(type, range, node, why));
    config.recrawl.*field = *interval;
  };
  key.write = [field](const CrawlConfig& config) { return write_interval(config.recrawl.*field); };
  return key;
}

std::optional<RecrawlRuleText> read_recrawl_rule(const toml::table& table,
                                                 const ConfigComplaint& complain) {
  if (!config_key::only_names(table, {"match", "interval"}, complain)) return std::nullopt;
  auto pattern = config_key::pattern_at(table, "match", complain);
  const toml::node* node = table.get("interval");
  if (node == nullptr) {
    complain(table, fmt::format("interval is missing: {}", kIntervalType));
    return std::nullopt;
  }
  std::string why;
  const auto interval = read_interval(*node, why);
  if (!interval) {
    complain(*node,
             "interval: " + config_key::mismatch(kIntervalType, interval_range(), *node, why));
    return std::nullopt;
  }
  if (!pattern) return std::nullopt;
  return RecrawlRuleText{std::move(*pattern), *interval};
}

}  // namespace

void add_recrawl_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(interval_key("recrawl.interval", &CrawlConfig::Recrawl::interval,
                              "how long after its first fetch a page is fetched again"));
  keys.push_back(config_key::tables(
      "recrawl.rules", "an array of { match = URL pattern, interval = \"1d\" or \"never\" }",
      "the first pattern that matches gives a page's interval, in place of `interval`",
      TRAWL_FIELD(recrawl.rules), read_recrawl_rule, [](const RecrawlRuleText& rule) {
        return fmt::format("{{ match = {}, interval = {} }}", toml_string(rule.pattern),
                           write_interval(rule.interval));
      }));
  keys.push_back(
      interval_key("recrawl.failed", &CrawlConfig::Recrawl::failed,
                   "how long after a fetch that brought no page (a failure, a missing page, a "
                   "redirect) the URL is fetched again"));
  keys.push_back(config_key::boolean("recrawl.adaptive", TRAWL_FIELD(recrawl.adaptive),
                                     "halve a page's interval each time it has changed, and double "
                                     "it each time it has not"));
  keys.push_back(config_key::duration("recrawl.min_interval", 1ms, kMaxDelay,
                                      TRAWL_FIELD(recrawl.min_interval),
                                      "the shortest interval that comes of halving; unless it is "
                                      "set, not more than the intervals above"));
  keys.push_back(config_key::duration("recrawl.max_interval", 1ms, kMaxDelay,
                                      TRAWL_FIELD(recrawl.max_interval),
                                      "the longest interval that comes of doubling; unless it is "
                                      "set, not less than the intervals above"));
  keys.push_back(config_key::boolean("recrawl.wait", TRAWL_FIELD(recrawl.wait),
                                     "wait for pages that are to be fetched again later, instead "
                                     "of ending when all others are done"));
}

}  // namespace trawl
