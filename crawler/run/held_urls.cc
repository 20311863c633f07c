#include "crawler/run/held_urls.h"

#include <optional>
#include <string_view>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/mix.h"
#include "crawler/decide/url_note.h"
#include "crawler/http/fetch_error.h"

namespace trawl {

namespace {

// Never 0: that is what reasons without settings have.
std::uint64_t digest(std::uint64_t value) {
  return mix64(value + 1) | 1;
}

std::optional<SkipReason> skip_reason_of(std::string_view word) {
  for (int i = 0; i < static_cast<int>(SkipReason::kReasons); ++i) {
    if (to_string(static_cast<SkipReason>(i)) == word) return static_cast<SkipReason>(i);
  }
  return std::nullopt;
}

class Wanted {
 public:
  Wanted(const CrawlConfig& config, const CrawlRules& rules, HostUrlCounts& urls_of_hosts)
      : config_(config), rules_(rules), urls_of_hosts_(urls_of_hosts) {}

  bool operator()(const SetAsideUrl& held) const {
    const auto reason = skip_reason_of(held.reason);
    if (held.reason != kRobotsUnavailable && held.reason != kTlsRefused) {
      if (!reason && held.reason != to_string(FetchError::kAddressRefused)) return false;
      const std::uint64_t now = reason ? held_by(*reason, config_) : held_by_address(config_);
      if (held.rules != 0 && held.rules == now) return false;
    }
    const auto url = Url::parse(held.url);
    if (!url || !is_in_scope(*url, held)) return false;
    if (held.was_queued || !urls_of_hosts_.limited()) return true;
    const std::string host = politeness_group(*url);
    if (urls_of_hosts_.count(host) >= *config_.scope.max_urls_per_host) return false;
    urls_of_hosts_.note(host, held.url, Admission::kNew);
    return true;
  }

 private:
  // As Fetcher::begin() asks when its turn comes.
  bool is_in_scope(const Url& url, const SetAsideUrl& held) const {
    const UrlNote note = UrlNote::decode(held.note);
    const std::uint32_t hops = note.hops_off_scope > 0 ? note.hops_off_scope - 1 : 0;
    const ScopeVerdict verdict = rules_.scope->check(url, held.depth, hops);
    const bool own_sitemap = note.role == UrlNote::Role::kSitemap &&
                             verdict.reason == SkipReason::kOutOfScope &&
                             (note.vouched || rules_.seed_hosts.contains(politeness_group(url)));
    return verdict.in() || own_sitemap;
  }

  const CrawlConfig& config_;
  const CrawlRules& rules_;
  HostUrlCounts& urls_of_hosts_;
};

}  // namespace

std::string origin_of(std::string_view url) {
  const std::size_t authority = url.find("://");
  if (authority == std::string_view::npos) return {};
  const std::string_view front = url.substr(0, url.find('/', authority + 3));
  if (front.find('@') == std::string_view::npos) return std::string(front);
  const auto parsed = Url::parse(url);
  return parsed ? std::string(parsed->origin()) : std::string();
}

std::uint64_t held_by(SkipReason reason, const CrawlConfig& config) {
  switch (reason) {
    case SkipReason::kPatternParked:
      return digest(config.scope.park_pattern_after);
    case SkipReason::kTooManyUrlsOfHost:
      return digest(config.scope.max_urls_per_host.value_or(0));
    default:
      return 0;
  }
}

std::uint64_t held_by_address(const CrawlConfig& config) {
  return digest((config.fetch.allow_private_addresses ? 1u : 0u) +
                2 * static_cast<std::uint64_t>(config.fetch.ip_version));
}

Result<std::uint64_t> retry_held_urls(Frontier& frontier, const CrawlConfig& config,
                                      const CrawlRules& rules, HostUrlCounts& urls_of_hosts) {
  return frontier.retry(
      {.state = SetAsideState::kHeld, .wanted = Wanted(config, rules, urls_of_hosts)});
}

}  // namespace trawl
