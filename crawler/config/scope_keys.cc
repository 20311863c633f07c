// The keys of [scope].
#include <array>
#include <limits>
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
using config_key::integer;
using config_key::Word;

constexpr std::int64_t kNoScopeLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kAnyU32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxNameBytes = 200;

constexpr std::array kScopeTypes = {
    Word<ScopeType>{"page", ScopeType::kPage}, Word<ScopeType>{"prefix", ScopeType::kPrefix},
    Word<ScopeType>{"host", ScopeType::kHost}, Word<ScopeType>{"domain", ScopeType::kDomain},
    Word<ScopeType>{"any", ScopeType::kAny}};

std::optional<ScopeRuleText> read_scope_rule(const toml::table& table,
                                             const ConfigComplaint& complain) {
  if (!config_key::only_names(table, {"include", "exclude", "name"}, complain)) return std::nullopt;
  const bool include = table.contains("include");
  if (include == table.contains("exclude")) {
    complain(table, "expected either include or exclude, a URL pattern such as \"*/news/*\"");
    return std::nullopt;
  }
  auto pattern = config_key::pattern_at(table, include ? "include" : "exclude", complain);
  auto name = config_key::text_at(table, "name", complain);
  if (name && (name->size() > kMaxNameBytes || config_key::has_control_character(*name))) {
    complain(*table.get("name"),
             fmt::format("name: expected at most {} bytes without control characters; found {}",
                         kMaxNameBytes, describe(*table.get("name"))));
    return std::nullopt;
  }
  if (!pattern || (!name && table.contains("name"))) return std::nullopt;
  return ScopeRuleText{include, std::move(*pattern), std::move(name).value_or("")};
}

std::string write_scope_rule(const ScopeRuleText& rule) {
  std::string out =
      fmt::format("{{ {} = {}", rule.include ? "include" : "exclude", toml_string(rule.pattern));
  if (!rule.name.empty()) out += ", name = " + toml_string(rule.name);
  return out + " }";
}

template <class Field>
ConfigKey patterns(std::string name, Field field, std::string doc) {
  return config_key::list(std::move(name), std::string(config_key::kPatternsType), std::move(doc),
                          field, config_key::check_pattern, toml_string);
}

ConfigKey blocklist_key() {
  return config_key::list(
      "scope.blocklist", "an array of paths such as [\"spam.trawl-filter\", \"hosts.txt\"]",
      "files of URLs, hosts or domains that are not fetched: filters made by `trawl filter build`, "
      "or texts with one a line",
      TRAWL_FIELD(scope.blocklist),
      [](std::string_view text) -> Result<std::filesystem::path> {
        if (text.empty() || text.find('\0') != std::string_view::npos) {
          return error(ErrorCode::kInvalidArgument,
                       fmt::format("expected a path; found {}", shown(text)));
        }
        auto expanded = expand_home(text);
        if (expanded) return std::move(*expanded);
        return error(ErrorCode::kInvalidArgument,
                     fmt::format("{}: {}", shown(text), expanded.error()));
      },
      config_key::toml_path);
}

void add_scope_limits(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("scope.max_depth", "links", 0, kAnyU32, TRAWL_FIELD(scope.max_depth),
                         "how many links away from a seed a page may be; unset: no limit"));
  keys.push_back(
      integer("scope.max_pages", "fetches", 1, kNoScopeLimit, TRAWL_FIELD(scope.max_pages),
              "the crawl ends after so many finished fetches, those of pages fetched again "
              "included; unset: no limit"));
  keys.push_back(integer("scope.max_pages_per_host", "fetches", 1, kNoScopeLimit,
                         TRAWL_FIELD(scope.max_pages_per_host),
                         "a host is left alone after so many finished fetches; unset: no limit"));
  keys.push_back(config_key::size(
      "scope.max_bytes", 1, 1ull << 60, TRAWL_FIELD(scope.max_bytes),
      "the crawl ends when all bodies together, as they came over the network, have so many bytes; "
      "unset: no limit"));
  keys.push_back(config_key::duration("scope.max_time", 1ms, kMaxDelay, TRAWL_FIELD(scope.max_time),
                                      "a run ends after so long; unset: no limit"));
}

void add_traps(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("scope.max_url_length", "bytes", 32, 65536,
                         TRAWL_FIELD(scope.max_url_length), "longer URLs are dropped"));
  keys.push_back(integer("scope.max_path_segments", "segments", 1, 65536,
                         TRAWL_FIELD(scope.max_path_segments),
                         "URLs with more parts between slashes are dropped"));
  keys.push_back(integer("scope.max_repeated_segments", "times", 1, 65536,
                         TRAWL_FIELD(scope.max_repeated_segments),
                         "URLs with a segment, or a run of them, more often in a row are dropped"));
  keys.push_back(integer("scope.max_query_parameters", "parameters", 0, 65536,
                         TRAWL_FIELD(scope.max_query_parameters),
                         "URLs with more query parameters are dropped"));
  keys.push_back(integer(
      "scope.max_urls_per_host", "URLs", 1, kNoScopeLimit, TRAWL_FIELD(scope.max_urls_per_host),
      "so many URLs of a host are queued at most in a run, those that wait when "
      "it begins included; further ones are held for a later run; unset: no limit"));
  keys.push_back(integer("scope.slow_pattern_after", "pages", 0, kAnyU32,
                         TRAWL_FIELD(scope.slow_pattern_after),
                         "after so many pages without new content, of which one with new content "
                         "takes back half, the URLs of the same "
                         "pattern (as a calendar has them) wait behind all others; 0: never"));
  keys.push_back(integer("scope.park_pattern_after", "pages", 0, kAnyU32,
                         TRAWL_FIELD(scope.park_pattern_after),
                         "after so many they are left alone; 0: never"));
}

}  // namespace

void add_scope_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(config_key::one_of(
      "scope.type", kScopeTypes, TRAWL_FIELD(scope.type),
      "which links are followed: none (the seeds alone), below a seed's folder, on a seed's host, "
      "on its registrable domain, or all"));
  keys.push_back(config_key::tables(
      "scope.rules", "an array of { include or exclude = URL pattern, name = \"...\" }",
      "the first rule that matches decides whether a link is followed, whatever the type says; "
      "its name is for `trawl explain` and skipped.jsonl",
      TRAWL_FIELD(scope.rules), read_scope_rule, write_scope_rule));
  keys.push_back(patterns("scope.exclude", TRAWL_FIELD(scope.exclude),
                          "URLs that are not followed, if no rule says so or otherwise"));
  keys.push_back(patterns("scope.include", TRAWL_FIELD(scope.include),
                          "URLs that are followed beside those of the type, if no rule and no "
                          "`exclude` is against it"));
  keys.push_back(blocklist_key());
  keys.push_back(integer("scope.extra_hops", "links", 0, 100, TRAWL_FIELD(scope.extra_hops),
                         "how many links in a row may lead out of scope"));
  add_scope_limits(keys);
  add_traps(keys);
}

}  // namespace trawl
