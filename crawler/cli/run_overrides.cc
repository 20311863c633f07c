#include "crawler/cli/run_overrides.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/state/state_contents.h"

namespace trawl::cli {

namespace {

// The key that "key=value" sets; null if the name is unknown.
const ConfigKey* key_of(std::string_view assignment) {
  std::string_view name = assignment.substr(0, assignment.find('='));
  name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
  name.remove_suffix(name.size() - (name.find_last_not_of(" \t") + 1));
  return find_config_key(name);
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_of_the_crawl(std::string_view assignment, bool begins) {
  const ConfigKey* const key = key_of(assignment);
  if (key == nullptr) return false;
  if (begins && is_one_of(key->name, {"crawl.seeds", "crawl.seed_file"})) return true;
  return key->table() == "url" || key->table() == "cluster" ||
         is_one_of(key->name,
                   {"crawl.state_dir", "filter.expected_urls", "filter.false_positive_rate",
                    "filter.mode", "frontier.ledger", "output.directory"});
}

}  // namespace

CrawlConfig config_to_keep(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides,
                           const CrawlConfig& effective) {
  if (overrides.empty()) return effective;
  const std::filesystem::path& state_dir = effective.crawl.state_dir;
  const auto found = holds_crawl(state_dir);
  const bool begins = found && !*found;
  std::vector<std::string> kept;
  for (const std::string& assignment : overrides) {
    if (is_of_the_crawl(assignment, begins)) kept.push_back(assignment);
  }
  if (auto config = load_config(file, kept)) return std::move(*config);
  if (auto former = load_config(saved_config_path(state_dir)); former && !begins)
    return std::move(*former);
  return effective;
}

std::vector<std::string> overrides_to_repeat(const std::vector<std::string>& overrides,
                                             const CrawlConfig& effective) {
  std::vector<std::string> repeated;
  for (const std::string& assignment : overrides) {
    const ConfigKey* const key = key_of(assignment);
    if (key == nullptr ||
        is_one_of(key->name, {"crawl.state_dir", "crawl.seeds", "crawl.seed_file"})) {
      continue;
    }
    const std::string value = key->write(effective);
    const bool has_paths = key->type == "a path" || key->name == "scope.blocklist";
    repeated.push_back(has_paths && !value.empty() ? fmt::format("{}={}", key->name, value)
                                                   : assignment);
  }
  return repeated;
}

}  // namespace trawl::cli
