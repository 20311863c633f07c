#include "crawler/config/related_keys.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"
#include "crawler/config/decoder_memory.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/listen_address.h"

namespace trawl {

namespace {

using Given = std::function<bool(std::string_view)>;

class RelatedKeysResolver {
 public:
  RelatedKeysResolver(CrawlConfig& config, const Given& given) : config_(config), given_(given) {}

  std::vector<ConfigConflict> run() && {
    resolve_body_sizes();
    resolve_patterns();
    resolve_backoff();
    resolve_recrawl();
    check_status();
    check_what_needs_another();
    check_logins();
    check_cluster();
    return std::move(conflicts_);
  }

 private:
  void conflict(std::vector<std::string_view> keys, std::string message) {
    conflicts_.push_back({std::move(keys), std::move(message)});
  }

  void resolve_body_sizes() {
    auto& fetch = config_.fetch;
    if (given_("fetch.max_body") && !given_("fetch.max_download")) {
      fetch.max_download = std::max(fetch.max_download, fetch.max_body);
    }
    const std::uint64_t least = least_body_memory(fetch);
    if (fetch.max_memory >= least) return;
    conflict({"fetch.max_memory", "fetch.max_body", "fetch.max_download"},
             fmt::format("expected at least {}, the sum of fetch.max_body = {}, fetch.max_download "
                         "= {} and {} for decompression, so that one page fits; found {}. Raise "
                         "fetch.max_memory, or lower the other keys",
                         format_size(least), format_size(fetch.max_body),
                         format_size(fetch.max_download), format_size(kMostDecoderMemory),
                         format_size(fetch.max_memory)));
  }

  void resolve_patterns() {
    const auto [slow, park] =
        std::tie(config_.scope.slow_pattern_after, config_.scope.park_pattern_after);
    if (park == 0 || slow <= park) return;
    if (!given_("scope.slow_pattern_after")) {
      slow = park;
    } else if (!given_("scope.park_pattern_after")) {
      park = slow;
    } else {
      conflict({"scope.slow_pattern_after", "scope.park_pattern_after"},
               fmt::format("expected at most scope.park_pattern_after = {}; found {}", park, slow));
    }
  }

  void resolve_backoff() {
    const auto [first, longest] =
        std::tie(config_.politeness.host_backoff, config_.politeness.max_host_backoff);
    if (first <= longest) return;
    if (!given_("politeness.host_backoff")) {
      first = longest;
    } else if (!given_("politeness.max_host_backoff")) {
      longest = first;
    } else {
      conflict({"politeness.host_backoff", "politeness.max_host_backoff"},
               fmt::format("expected at most politeness.max_host_backoff = \"{}\"; found \"{}\"",
                           format_duration(longest), format_duration(first)));
    }
  }

  void resolve_recrawl() {
    auto& recrawl = config_.recrawl;
    if (!recrawl.adaptive) return;
    std::vector<std::pair<std::string_view, std::chrono::milliseconds>> intervals;
    if (recrawl.interval) intervals.emplace_back("recrawl.interval", *recrawl.interval);
    for (const RecrawlRuleText& rule : recrawl.rules) {
      if (rule.interval) intervals.emplace_back("recrawl.rules", *rule.interval);
    }
    for (const auto& [key, interval] : intervals) {
      if (!given_("recrawl.min_interval"))
        recrawl.min_interval = std::min(recrawl.min_interval, interval);
      if (!given_("recrawl.max_interval"))
        recrawl.max_interval = std::max(recrawl.max_interval, interval);
    }
    resolve_interval_bounds();
    for (const auto& [key, interval] : intervals) {
      if (interval >= recrawl.min_interval && interval <= recrawl.max_interval) continue;
      conflict({key, "recrawl.min_interval", "recrawl.max_interval"},
               fmt::format("expected \"{}\" to \"{}\", which are recrawl.min_interval and "
                           "recrawl.max_interval; found \"{}\"",
                           format_duration(recrawl.min_interval),
                           format_duration(recrawl.max_interval), format_duration(interval)));
    }
  }

  void check_status() {
    const auto& status = config_.status;
    if (status.listen.empty() || status.token) return;
    const auto address = parse_listen_address(status.listen);
    if (!address || address->loopback) return;
    conflict({"status.listen", "status.token"},
             fmt::format("other machines can reach {}: set status.token = true, so that only those "
                         "with the token can read and steer the crawl, or listen on 127.0.0.1",
                         status.listen));
  }

  void resolve_interval_bounds() {
    const auto [least, most] = std::tie(config_.recrawl.min_interval, config_.recrawl.max_interval);
    if (least <= most) return;
    if (!given_("recrawl.min_interval")) {
      least = most;
    } else if (!given_("recrawl.max_interval")) {
      most = least;
    } else {
      conflict({"recrawl.min_interval", "recrawl.max_interval"},
               fmt::format("expected at most recrawl.max_interval = \"{}\"; found \"{}\"",
                           format_duration(most), format_duration(least)));
    }
  }

  // Reports keys that were given without the key they need. If that key is given too, switched off,
  // the user has decided; and a config that to_toml() wrote has every key.
  void check_what_needs_another() {
    static constexpr std::string_view kOfWarc[] = {"output.cdxj",
                                                   "output.warc_prefix",
                                                   "output.warc_size",
                                                   "output.warc_time",
                                                   "output.warc_metadata",
                                                   "output.warc_operator",
                                                   "output.warc_description",
                                                   "output.content_types"};
    for (const std::string_view key : kOfWarc) {
      if (given_(key) && !given_("output.warc")) {
        conflict({key, "output.warc"},
                 "has no effect without output.warc = true: set that, or remove this key");
      }
    }
    if (given_("crawl.priorities") && !given_("crawl.order")) {
      conflict({"crawl.priorities", "crawl.order"},
               "has no effect without crawl.order = \"priority\": set that, or remove this key");
    }
  }

  void check_logins() {
    if (config_.fetch.logins.empty()) return;
    const HostRequests requests(config_.fetch);
    for (const LoginText& login : config_.fetch.logins) {
      const std::string_view host = login.host;
      const auto url =
          Url::parse(fmt::format("http://{}/", host.substr(host.starts_with('.') ? 1 : 0)));
      if (!url || requests.for_url(*url).cookies) continue;
      conflict({"fetch.login", "fetch.host"},
               fmt::format("the login for {} needs cookies: remove cookies = false and the header "
                           "Cookie from [[fetch.host]]",
                           host));
    }
  }

  void check_cluster() {
    const ClusterConfig& cluster = config_.cluster;
    const CrawlConfig defaults;
    for (const ConfigKey& key : config_keys()) {
      if (key.table() != "cluster" || given_("cluster.redis") || !given_(key.name) ||
          key.write(config_) == key.write(defaults))
        continue;
      conflict({key.name, "cluster.redis"},
               "has no effect without cluster.redis: set that, or remove this key");
    }
    if (!cluster.enabled()) return;
    if (cluster.name.empty()) {
      conflict({"cluster.redis", "cluster.name"},
               "needs cluster.name, the name of the crawl, which is the same for all its crawlers");
    }
    if (const auto place = redis_place(cluster); !place) {
      conflict({"cluster.redis", "cluster.tls"}, place.error().message);
    }
    check_frontier_in_redis();
    if (!cluster.username.empty() && cluster.password_file.empty()) {
      conflict({"cluster.username", "cluster.password_file"},
               "has no effect without cluster.password_file: set that, or remove this key");
    }
  }

  // What only a frontier of the crawler's own has.
  void check_frontier_in_redis() {
    if (config_.filter.mode == FilterMode::kExact) {
      conflict({"filter.mode", "cluster.redis"},
               "\"exact\" is not possible with a frontier in Redis: remove it, or lower "
               "filter.false_positive_rate");
    }
    if (config_.frontier.ledger) {
      conflict({"frontier.ledger", "cluster.redis"},
               "is not possible with a frontier in Redis: remove it");
    }
    if (config_.frontier.durability == Durability::kSync) {
      conflict({"frontier.durability", "cluster.redis"},
               "\"sync\" is for a frontier in the state directory: remove it, and set "
               "cluster.durability = \"synced\"");
    }
  }

  CrawlConfig& config_;
  const Given& given_;
  std::vector<ConfigConflict> conflicts_;
};

}  // namespace

std::vector<ConfigConflict> resolve_related_keys(CrawlConfig& config, const Given& given) {
  return RelatedKeysResolver(config, given).run();
}

// A body is held both as received and decompressed, together with the decoder.
std::uint64_t least_body_memory(const CrawlConfig::Fetch& fetch) {
  return fetch.max_body + fetch.max_download + kMostDecoderMemory;
}

}  // namespace trawl
