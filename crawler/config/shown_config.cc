#include "crawler/config/shown_config.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "crawler/config/config_keys.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

constexpr std::size_t kMostShown = 4096;  // bytes of a value

constexpr std::string_view kHidden = "(hidden)";
constexpr std::array<std::string_view, 5> kTablesOfThisMachine = {"log", "status", "checkpoint",
                                                                  "frontier", "cluster"};
constexpr std::array<std::string_view, 8> kOfThisMachine = {
    "output.known",       "crawl.state_dir", "crawl.seed_file",  "fetch.ca_file",
    "fetch.cookies_file", "scope.blocklist", "output.directory", "fetch.proxy"};

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

void hide_values(std::vector<std::string>& headers) {
  for (std::string& header : headers)
    header = fmt::format("{}: {}", header.substr(0, header.find(':')), kHidden);
}

// A proxy's URL has no path.
void hide_in_proxy(std::string& proxy) {
  const std::size_t scheme = proxy.find("://");
  const std::size_t at = proxy.rfind('@');
  if (at == std::string::npos) return;
  const std::size_t begin = scheme == std::string::npos || scheme > at ? 0 : scheme + 3;
  proxy.replace(begin, at - begin, kHidden);
}

void hide_in_url(std::string& url) {
  std::string shown = without_credentials(url);
  if (shown == url) return;
  const std::size_t scheme = shown.find("://");
  shown.insert(scheme == std::string::npos ? 0 : scheme + 3, std::string(kHidden) + "@");
  url = std::move(shown);
}

void hide_query(std::string& url) {
  const std::size_t query = url.find('?');
  if (query != std::string::npos) url.replace(query + 1, std::string::npos, kHidden);
}

}  // namespace

CrawlConfig without_secrets(CrawlConfig config) {
  std::ranges::for_each(config.crawl.seeds, hide_in_url);
  std::ranges::for_each(config.crawl.seed_settings, hide_in_url, &SeedText::url);
  std::ranges::for_each(config.crawl.sitemaps, hide_in_url);
  hide_values(config.fetch.headers);
  hide_in_proxy(config.fetch.proxy);
  for (HostRequestsText& host : config.fetch.hosts) {
    hide_values(host.headers);
    if (!host.basic_auth.empty()) host.basic_auth = kHidden;
    if (!host.bearer_token.empty()) host.bearer_token = kHidden;
    if (host.proxy) hide_in_proxy(*host.proxy);
  }
  for (LoginText& login : config.fetch.logins) {
    hide_in_url(login.url);
    hide_in_url(login.page);
    hide_query(login.url);
    hide_query(login.page);
    for (auto& [name, value] : login.fields)
      value = kHidden;
  }
  return config;
}

std::vector<std::string> shown_config(const CrawlConfig& config) {
  CrawlConfig shown = without_secrets(config);
  for (HostRequestsText& host : shown.fetch.hosts)
    host.proxy.reset();
  const CrawlConfig defaults;
  std::vector<std::string> lines;
  for (const ConfigKey& key : config_keys()) {
    if (contains(kTablesOfThisMachine, key.table()) || contains(kOfThisMachine, key.name)) continue;
    const std::string value = key.write(shown);
    if (value.empty() || value == key.write(defaults)) continue;
    lines.push_back(fmt::format("{} = {}", key.name, cut(on_one_line(value))));
  }
  return lines;
}

}  // namespace trawl
