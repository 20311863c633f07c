#include "crawler/config/config_reader.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"
#include "crawler/config/related_keys.h"
#include "crawler/config/seed_file.h"
#include "crawler/config/toml_document.h"

namespace trawl {
namespace {

// Further errors are only counted: a file that is not a config must not fill memory.
constexpr std::size_t kMaxErrors = 1000;

// The key that tables outside any other table, such as [[seed]], are short for; null if there is
// none.
const ConfigKey* key_of_tables(std::string_view name) {
  if (name == "seed") return find_config_key("crawl.seed");
  if (name == "login") return find_config_key("fetch.login");
  return nullptr;
}

// `; did you mean "table.key"?`, or nothing if no known key is near.
std::string suggestion_for_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ConfigKey& key : config_keys())
    names.push_back(key.name);
  std::string_view nearest = nearest_name(name, names);
  if (nearest.empty()) {
    // The key may be in the wrong table.
    const std::string_view leaf = name.substr(name.find('.') + 1);
    for (const ConfigKey& key : config_keys()) {
      if (key.leaf() == leaf) nearest = key.name;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

std::string suggestion_for_table(std::string_view name) {
  std::vector<std::string_view> tables;
  for (const ConfigKey& key : config_keys())
    tables.push_back(key.table());
  const std::string_view nearest = nearest_name(name, tables);
  return nearest.empty() ? "" : fmt::format("; did you mean [{}]?", nearest);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t'))
    text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t'))
    text.remove_suffix(1);
  return text;
}

// Parses the value of an override into a table with the single key "value": as TOML if it is a TOML
// value, else as a string.
tl::expected<toml::table, ConfigError> parse_override_value(std::string_view text,
                                                            const std::string& name) {
  auto parsed = parse_toml(fmt::format("value = {}", text), name);
  if (parsed && parsed->size() == 1) return parsed;
  return parse_toml("value = " + toml_string(text), name);
}

}  // namespace

std::string fault_of_value(const ConfigKey& key, std::string_view value) {
  const auto parsed = parse_override_value(trimmed(value), std::string(key.name));
  if (!parsed) return "neither a TOML value nor UTF-8 text";
  std::string fault;
  CrawlConfig config;
  key.read(*parsed->get("value"), config,
           [&fault](const toml::node&, const std::string& message) { fault = message; });
  return fault;
}

void ConfigReader::read_document(std::string_view toml) {
  auto parsed = parse_toml(toml, file_);
  if (!parsed) {
    document_failed_ = true;
    return report(std::move(parsed.error()));
  }
  document_ = std::move(*parsed);
  for (auto&& [name, value] : document_) {
    const std::string table(name.str());
    if (const ConfigKey* const key = key_of_tables(table); key != nullptr && !value.is_table()) {
      read_value(*key, value);
    } else if (!is_config_table(table)) {
      report_unknown_table(name, value);
    } else if (const toml::table* values = value.as_table()) {
      read_table(table, *values);
    } else {
      failed_.insert(table);
      report_at(value.source(),
                fmt::format("{0}: expected a table, [{0}]; found {1}", table, describe(value)));
    }
  }
}

void ConfigReader::report_unknown_table(const toml::key& name, const toml::node& value) {
  const std::string_view text = name.str();
  if (value.is_table()) {
    report_at(name.source(),
              fmt::format("unknown table {}{}", shown(text), suggestion_for_table(text)));
  } else {
    report_at(name.source(), fmt::format("unknown key {} outside any table{}", shown(text),
                                         suggestion_for_key(text)));
  }
}

void ConfigReader::read_table(const std::string& table, const toml::table& values) {
  for (auto&& [name, value] : values) {
    const std::string full_name = fmt::format("{}.{}", table, name.str());
    if (const ConfigKey* key = find_config_key(full_name)) {
      read_value(*key, value);
    } else {
      report_at(name.source(),
                fmt::format("unknown key {}{}", shown(full_name), suggestion_for_key(full_name)));
    }
  }
}

void ConfigReader::read_value(const ConfigKey& key, const toml::node& value) {
  given_.insert_or_assign(std::string(key.name), override_);
  key.read(value, config_, [&](const toml::node& where, const std::string& message) {
    failed_.emplace(key.name);
    report_at(where.source(), fmt::format("{}: {}", key.name, message));
  });
}

void ConfigReader::read_override(std::string_view assignment) {
  override_ = fmt::format("--set {}", assignment.substr(0, 200));
  const std::size_t equals = assignment.find('=');
  const std::string name(trimmed(assignment.substr(0, equals)));
  if (equals == std::string_view::npos) {
    report({override_, 0, 0, "expected table.key=value, such as politeness.delay=2s"});
  } else if (const ConfigKey* key = find_config_key(name); key == nullptr) {
    report(
        {override_, 0, 0, fmt::format("unknown key {}{}", shown(name), suggestion_for_key(name))});
  } else {
    auto parsed = parse_override_value(trimmed(assignment.substr(equals + 1)), override_);
    if (parsed) {
      read_value(*key, *parsed->get("value"));
    } else {
      report({override_, 0, 0, fmt::format("{}: neither a TOML value nor UTF-8 text", key->name)});
    }
  }
  override_.clear();
}

ConfigResult<CrawlConfig> ConfigReader::finish() {
  if (!document_failed_) {
    require_state_dir();
    add_seeds_with_settings();
    if (!config_.crawl.seed_file.empty()) read_seed_file();
    require_seeds();
    check_seed_lengths();
    resolve_related_keys();
  }
  if (errors_.empty()) return std::move(config_);
  // toml++ iterates in alphabetical order; errors are listed in the order of the file.
  std::ranges::stable_sort(errors_, {}, [this](const ConfigError& error) {
    return std::tuple(error.file != file_ || error.line == 0, error.file == file_ ? error.line : 0,
                      error.file == file_ ? error.column : 0);
  });
  if (unlisted_errors_ > 0) {
    errors_.push_back({file_, 0, 0, fmt::format("and {} more errors", unlisted_errors_)});
  }
  return tl::unexpected(std::move(errors_));
}

void ConfigReader::require_state_dir() {
  if (!config_.crawl.state_dir.empty() || failed("crawl.state_dir")) return;
  report_missing("crawl",
                 "crawl.state_dir: missing; set the directory for the state of the crawl, for "
                 "example state_dir = \"state\" under [crawl]");
}

void ConfigReader::read_seed_file() {
  auto seeds = trawl::read_seed_file(config_.crawl.seed_file, config_.scope.max_url_length);
  if (seeds) {
    std::ranges::move(*seeds, std::back_inserter(config_.crawl.seeds));
    return;
  }
  failed_.insert("crawl.seed_file");
  for (ConfigError& error : seeds.error().listed)
    report(std::move(error));
  unlisted_errors_ += seeds.error().unlisted;
}

// They are seeds like any other.
void ConfigReader::add_seeds_with_settings() {
  auto& seeds = config_.crawl.seeds;
  const std::unordered_set<std::string> known(seeds.begin(), seeds.end());
  for (const SeedText& seed : config_.crawl.seed_settings) {
    if (!known.contains(seed.url)) seeds.push_back(seed.url);
  }
}

void ConfigReader::require_seeds() {
  if (!config_.crawl.seeds.empty() || !config_.crawl.sitemaps.empty()) return;
  for (const char* key : {"crawl.seeds", "crawl.seed_file", "crawl.seed", "crawl.sitemaps"}) {
    if (failed(key)) return;
  }
  if (!config_.crawl.seed_file.empty()) {
    return report({config_.crawl.seed_file.string(), 0, 0,
                   "crawl.seed_file: expected at least one URL; the file has none, and crawl.seeds "
                   "is empty"});
  }
  const std::string message =
      "crawl.seeds: expected at least one URL to start from, for example "
      "seeds = [\"https://example.com/\"] under [crawl], or a seed_file";
  if (const toml::node* seeds = document_.at_path("crawl.seeds").node()) {
    return report_at(seeds->source(), message);
  }
  report_missing("crawl", message);
}

void ConfigReader::check_seed_lengths() {
  for (const std::string& seed : config_.crawl.seeds) {
    if (seed.size() <= config_.scope.max_url_length) continue;
    report(
        {file_, 0, 0,
         fmt::format("crawl.seeds: a seed has {} bytes, more than scope.max_url_length = {}: {}...",
                     seed.size(), config_.scope.max_url_length, seed.substr(0, 60))});
  }
}

void ConfigReader::resolve_related_keys() {
  const auto conflicts = trawl::resolve_related_keys(
      config_, [this](std::string_view key) { return given_.contains(key); });
  for (const ConfigConflict& conflict : conflicts) {
    const bool known_wrong = std::ranges::any_of(
        conflict.keys, [this](std::string_view key) { return failed(std::string(key)); });
    if (!known_wrong) report_for(std::string(conflict.keys.front()), conflict.message);
  }
}

void ConfigReader::report(ConfigError error) {
  if (errors_.size() < kMaxErrors) {
    errors_.push_back(std::move(error));
  } else {
    ++unlisted_errors_;
  }
}

void ConfigReader::report_at(const toml::source_region& where, std::string message) {
  if (!override_.empty()) return report({override_, 0, 0, std::move(message)});
  report({file_, where.begin.line, where.begin.column, std::move(message)});
}

void ConfigReader::report_for(const std::string& key, std::string message) {
  message = fmt::format("{}: {}", key, message);
  if (const auto given = given_.find(key); given != given_.end() && !given->second.empty()) {
    return report({given->second, 0, 0, std::move(message)});
  }
  if (const toml::node* node = document_.at_path(key).node()) {
    return report_at(node->source(), std::move(message));
  }
  report({file_, 0, 0, std::move(message)});
}

void ConfigReader::report_missing(const std::string& table, std::string message) {
  if (const toml::node* node = document_.get(table)) {
    return report_at(node->source(), std::move(message));
  }
  report({file_, 0, 0, std::move(message)});
}

bool ConfigReader::failed(const std::string& key) const {
  return failed_.contains(key) || failed_.contains(key.substr(0, key.find('.')));
}

}  // namespace trawl
