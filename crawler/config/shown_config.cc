#include "crawler/config/shown_config.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/utf8.h"
#include "crawler/config/config_keys.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

constexpr std::size_t kMostShown = 4096;  // bytes of a value

constexpr std::array<std::string_view, 4> kSecret = {"fetch.host", "fetch.headers", "fetch.login",
                                                     "fetch.proxy"};
constexpr std::array<std::string_view, 4> kTablesOfThisMachine = {"log", "status", "checkpoint",
                                                                  "frontier"};
constexpr std::array<std::string_view, 7> kPaths = {
    "output.known",       "crawl.state_dir", "crawl.seed_file", "fetch.ca_file",
    "fetch.cookies_file", "scope.blocklist", "output.directory"};

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Arrays are written with an entry on each line.
std::string on_one_line(std::string_view value) {
  std::string line;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\n') {
      line += value[i];
      continue;
    }
    while (i + 1 < value.size() && value[i + 1] == ' ')
      ++i;
    line += ' ';
  }
  return line;
}

std::string cut(std::string value) {
  if (value.size() <= kMostShown) return value;
  return fmt::format("{}... ({} bytes)", cut_utf8(value, kMostShown), value.size());
}

}  // namespace

bool is_secret_key(std::string_view key) {
  return contains(kSecret, key);
}

void each_start_url(CrawlConfig& config, const std::function<void(std::string& url)>& use) {
  std::ranges::for_each(config.crawl.seeds, use);
  std::ranges::for_each(config.crawl.seed_settings, use, &SeedText::url);
  std::ranges::for_each(config.crawl.sitemaps, use);
}

CrawlConfig without_passwords(const CrawlConfig& config) {
  CrawlConfig shown = config;
  each_start_url(shown, [](std::string& url) { url = without_credentials(url); });
  return shown;
}

std::vector<std::string> shown_config(const CrawlConfig& config) {
  const CrawlConfig shown = without_passwords(config);
  const CrawlConfig defaults;
  std::vector<std::string> lines;
  for (const ConfigKey& key : config_keys()) {
    if (contains(kTablesOfThisMachine, key.table()) || contains(kPaths, key.name)) continue;
    const std::string value = key.write(shown);
    if (value.empty() || value == key.write(defaults)) continue;
    lines.push_back(fmt::format("{} = {}", key.name,
                                is_secret_key(key.name) ? "(not shown)" : cut(on_one_line(value))));
  }
  return lines;
}

}  // namespace trawl
