#include "crawler/config/config_keys.h"

#include <algorithm>
#include <vector>

#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

std::vector<ConfigKey> make_keys() {
  std::vector<ConfigKey> keys;
  add_crawl_keys(keys);
  add_scope_keys(keys);
  add_politeness_keys(keys);
  add_fetch_keys(keys);
  add_links_keys(keys);
  add_url_keys(keys);
  add_storage_keys(keys);
  add_recrawl_keys(keys);
  add_output_keys(keys);
  add_log_keys(keys);
  return keys;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = make_keys();
  return keys;
}

const ConfigKey* find_config_key(std::string_view name) {
  const auto keys = config_keys();
  const auto found = std::ranges::find(keys, name, &ConfigKey::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_config_table(std::string_view name) {
  return std::ranges::any_of(config_keys(),
                             [name](const ConfigKey& key) { return key.table() == name; });
}

}  // namespace trawl
