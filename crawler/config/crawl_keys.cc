// The keys of [crawl].
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/config/config_key_lists.h"
#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"
#include "crawler/parse/headers/product_token.h"

namespace trawl {

namespace {

using config_key::Word;

constexpr std::array kOrders = {Word<CrawlOrder>{"bfs", CrawlOrder::kBreadthFirst},
                                Word<CrawlOrder>{"dfs", CrawlOrder::kDepthFirst},
                                Word<CrawlOrder>{"priority", CrawlOrder::kPriority}};
constexpr std::int64_t kMaxPriority = 1000;

// Each seed is checked by itself, so that each bad one is named with its place.
ConfigKey seeds_key() {
  ConfigKey key;
  key.name = "crawl.seeds";
  key.type = "an array of http(s) URLs such as [\"https://example.com/\"]";
  key.doc = "where the crawl starts; may be left out if `seed_file` names some";
  key.read = [type = key.type](const toml::node& node, CrawlConfig& config,
                               const ConfigComplaint& complain) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return complain(node, config_key::mismatch(type, "", node));
    config.crawl.seeds.clear();
    for (const toml::node& element : *array) {
      const auto text = element.value_exact<std::string_view>();
      const auto url = text ? Url::parse(*text) : error(ErrorCode::kInvalidUrl, "");
      if (url) {
        config.crawl.seeds.emplace_back(url->href());
      } else {
        complain(element, config_key::mismatch("each seed to be an http(s) URL", "", element,
                                               url.error().message));
      }
    }
  };
  key.write = [](const CrawlConfig& config) {
    std::string out = "[";
    for (const std::string& seed : config.crawl.seeds)
      out += "\n  " + toml_string(seed) + ",";
    return out + (config.crawl.seeds.empty() ? "]" : "\n]");
  };
  return key;
}

// A seed file's seeds are written with the others, so that the file itself need not be there.
ConfigKey seed_file_key() {
  ConfigKey key =
      config_key::path("crawl.seed_file", TRAWL_FIELD(crawl.seed_file),
                       "a file of more seeds, one URL a line; blank lines, and what follows a # at "
                       "the beginning or behind a blank, are skipped");
  key.write = [](const CrawlConfig&) { return std::string(); };
  return key;
}

ConfigKey user_agent_key() {
  return config_key::text("crawl.user_agent", 1, 512, TRAWL_FIELD(crawl.user_agent),
                          "what servers are told who crawls; a contact address in it is good "
                          "manners");
}

ConfigKey robots_token_key() {
  constexpr std::size_t kMostBytes = 64;
  return config_key::scalar(
      "crawl.robots_token", "a name of letters, digits, '-' and '_'",
      fmt::format("at most {} bytes", kMostBytes), TRAWL_FIELD(crawl.robots_token),
      "whose rules in robots.txt, X-Robots-Tag and robots meta tags are obeyed; empty: the first "
      "name in `user_agent` or, if that begins with \"Mozilla\", the one in its \"(compatible; "
      "NAME/1.0)\"",
      [](const toml::node& node, std::string&) -> std::optional<std::string> {
        const auto value = node.value_exact<std::string_view>();
        if (!value || value->size() > kMostBytes || product_token(*value) != *value)
          return std::nullopt;
        return std::string(*value);
      },
      [](const std::string& value) { return value.empty() ? value : toml_string(value); });
}

std::optional<PriorityRuleText> read_priority(const toml::table& table,
                                              const ConfigComplaint& complain) {
  if (!config_key::only_names(table, {"match", "priority"}, complain)) return std::nullopt;
  auto pattern = config_key::pattern_at(table, "match", complain);
  const toml::node* node = table.get("priority");
  const auto* number = node == nullptr ? nullptr : node->as_integer();
  if (number == nullptr || **number < -kMaxPriority || **number > kMaxPriority) {
    const std::string range = fmt::format("{} to {}", -kMaxPriority, kMaxPriority);
    if (node == nullptr) {
      complain(table, "priority is missing: a whole number, " + range);
    } else {
      complain(*node, "priority: " + config_key::mismatch("a whole number", range, *node));
    }
    return std::nullopt;
  }
  if (!pattern) return std::nullopt;
  return PriorityRuleText{std::move(*pattern), static_cast<std::int32_t>(**number)};
}

ConfigKey priorities_key() {
  return config_key::tables(
      "crawl.priorities", "an array of { match = URL pattern, priority = -1000 to 1000 }",
      "with order = \"priority\": the first pattern that matches gives a URL's priority",
      TRAWL_FIELD(crawl.priorities), read_priority, [](const PriorityRuleText& rule) {
        return fmt::format("{{ match = {}, priority = {} }}", toml_string(rule.pattern),
                           rule.priority);
      });
}

}  // namespace

void add_crawl_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(seeds_key());
  keys.push_back(seed_file_key());
  keys.push_back(user_agent_key());
  keys.push_back(robots_token_key());
  keys.push_back(config_key::path("crawl.state_dir", TRAWL_FIELD(crawl.state_dir),
                                  "the directory that holds the state of the crawl, which `trawl "
                                  "resume` goes on from; must be given"));
  keys.push_back(config_key::one_of(
      "crawl.order", kOrders, TRAWL_FIELD(crawl.order),
      "which of a host's URLs is fetched first: \"bfs\" the one fewest links from a seed, \"dfs\" "
      "the one most links away, \"priority\" the one with the highest priority by `priorities`, or "
      "else by the priority in a sitemap, which counts from -10 to 10"));
  keys.push_back(priorities_key());
}

}  // namespace trawl
