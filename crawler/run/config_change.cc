#include "crawler/run/config_change.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/shown_config.h"
#include "crawler/decide/limit_by_host.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

// A longer value is cut in a report.
constexpr std::size_t kMostShown = 200;

// Tables whose keys may change while a crawl runs, and keys of them that may not: the frontier, or
// each thread, is made with these.
constexpr std::array<std::string_view, 3> kReloadedTables = {"scope", "politeness", "log"};
constexpr std::array<std::string_view, 5> kNotReloaded = {
    "scope.max_pages_per_host", "scope.max_urls_per_host", "scope.max_url_length",
    "scope.slow_pattern_after", "scope.park_pattern_after"};
constexpr std::array<std::string_view, 9> kReloadedKeys = {
    "crawl.seeds",      "crawl.seed_file",  "crawl.seed",    "crawl.sitemaps",   "crawl.order",
    "crawl.priorities", "fetch.limit_rate", "fetch.retries", "fetch.retry_delay"};

bool contains(const auto& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

std::string shown_value(std::string_view value) {
  if (value.empty()) return "unset";
  if (value.size() <= kMostShown) return std::string(value);
  return std::string(cut_utf8(value, kMostShown)) + "...";
}

// The entries of a list of tables as ConfigKey::write() gives it: one on each line.
std::vector<std::string> entries_of(std::string_view value) {
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find('\n', begin), value.size());
    std::string_view line = value.substr(begin, end - begin);
    begin = end + 1;
    while (line.starts_with(' '))
      line.remove_prefix(1);
    if (line.ends_with(',')) line.remove_suffix(1);
    if (line != "[" && line != "]" && !line.empty()) entries.emplace_back(line);
  }
  return entries;
}

// Those of `entries` that are not in `others`.
std::string only_in(const std::vector<std::string>& entries,
                    const std::vector<std::string>& others) {
  std::string text;
  for (const std::string& entry : entries) {
    if (!contains(others, std::string_view(entry))) text += (text.empty() ? "" : ", ") + entry;
  }
  return text;
}

std::string shown_change(const std::string& was, const std::string& is) {
  if (was.find('\n') == std::string::npos && is.find('\n') == std::string::npos)
    return fmt::format("{} -> {}", shown_value(was), shown_value(is));
  const auto before = entries_of(was), now = entries_of(is);
  const std::string gone = only_in(before, now), fresh = only_in(now, before);
  if (gone.empty() && fresh.empty()) return "another order";
  return fmt::format("{} -> {}", gone.empty() ? "added" : shown_value(gone),
                     fresh.empty() ? "removed" : shown_value(fresh));
}

bool is_switched(std::chrono::milliseconds before, std::chrono::milliseconds now) {
  return (before.count() > 0) != (now.count() > 0);
}

}  // namespace

bool is_reloaded(std::string_view key) {
  if (contains(kNotReloaded, key)) return false;
  return contains(kReloadedKeys, key) || contains(kReloadedTables, key.substr(0, key.find('.')));
}

ConfigChange config_change(const CrawlConfig& now, const CrawlConfig& before,
                           const CrawlConfig& read, bool sets_log) {
  ConfigChange change{.next = now, .changed = {}, .needs_restart = {}};
  CrawlConfig& next = change.next;
  next.crawl.seeds = read.crawl.seeds;
  next.crawl.seed_file = read.crawl.seed_file;
  next.crawl.seed_settings = read.crawl.seed_settings;
  next.crawl.sitemaps = read.crawl.sitemaps;
  next.crawl.order = read.crawl.order;
  next.crawl.priorities = read.crawl.priorities;
  next.scope = read.scope;
  next.scope.max_pages_per_host = now.scope.max_pages_per_host;
  next.scope.max_urls_per_host = now.scope.max_urls_per_host;
  next.scope.max_url_length = now.scope.max_url_length;
  next.scope.slow_pattern_after = now.scope.slow_pattern_after;
  next.scope.park_pattern_after = now.scope.park_pattern_after;
  next.politeness = read.politeness;
  // See Frontier::set_politeness().
  const bool domain_stays = is_switched(now.politeness.domain_delay, read.politeness.domain_delay);
  const bool ip_stays = is_switched(now.politeness.ip_delay, read.politeness.ip_delay);
  if (domain_stays) next.politeness.domain_delay = now.politeness.domain_delay;
  if (ip_stays) next.politeness.ip_delay = now.politeness.ip_delay;
  next.fetch.limit_rate = read.fetch.limit_rate;
  if (sets_log) next.log = read.log;
  const CrawlConfig shown_before = without_secrets(before), shown_read = without_secrets(read);
  for (const ConfigKey& key : config_keys()) {
    const std::string was = key.write(before);
    const std::string is = key.write(read);
    if (was == is) continue;
    const bool stays = !is_reloaded(key.name) || (key.table() == "log" && !sets_log) ||
                       (key.name == "politeness.domain_delay" && domain_stays) ||
                       (key.name == "politeness.ip_delay" && ip_stays);
    const std::string shown_was = key.write(shown_before), shown_is = key.write(shown_read);
    const bool secret = shown_was == shown_is;
    (stays ? change.needs_restart : change.changed)
        .push_back(secret ? fmt::format("{}: changed (not shown)", key.name)
                          : fmt::format("{}: {}", key.name, shown_change(shown_was, shown_is)));
  }
  // The limits of single hosts, which are counted as those of all hosts are.
  if (LimitByHost::pages(next) != LimitByHost::pages(now) ||
      LimitByHost::urls(next) != LimitByHost::urls(now))
    change.needs_restart.push_back("politeness.host: max_pages and max_urls of hosts");
  return change;
}

}  // namespace trawl
