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

class Wanted {
 public:
  Wanted(const CrawlConfig& config, const CrawlRules& rules, HostUrlQuota& urls_of_hosts)
      : config_(config), rules_(rules), urls_of_hosts_(urls_of_hosts) {}

  bool operator()(const SetAsideUrl& held) const {
    const auto reason = skip_reason_of(held.reason);
    if (held.reason != kRobotsUnavailable && held.reason != kTlsRefused) {
      if (!reason && held.reason != to_string(FetchError::kAddressRefused)) return false;
      const std::uint64_t now = reason ? rules_.decider.held_by(*reason) : held_by_address(config_);
      if (held.rules != 0 && held.rules == now) return false;
    }
    const auto url = Url::parse(held.url);
    if (!url) return false;
    const auto origin = UrlOrigin::of(held.depth, held.redirects, UrlNote::decode(held.note));
    if (!rules_.decider.decide(*url, origin).is_fetched()) return false;
    if (held.was_queued || !urls_of_hosts_.limited()) return true;
    const std::string host = politeness_group(*url);
    const auto limit = urls_of_hosts_.limit(host);
    if (limit && urls_of_hosts_.count(host) >= *limit) return false;
    urls_of_hosts_.note(host, held.url, Admission::kNew);
    return true;
  }

 private:
  const CrawlConfig& config_;
  const CrawlRules& rules_;
  HostUrlQuota& urls_of_hosts_;
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

std::uint64_t held_by_address(const CrawlConfig& config) {
  const std::uint64_t settings = (config.fetch.allow_private_addresses ? 1u : 0u) +
                                 2 * static_cast<std::uint64_t>(config.fetch.ip_version);
  return mix64(settings + 1) | 1;  // never 0, as in UrlDecider::held_by()
}

HoldReason refused_address(const CrawlConfig& config) {
  return {.reason = to_string(FetchError::kAddressRefused), .rules = held_by_address(config)};
}

Result<std::uint64_t> retry_held_urls(Frontier& frontier, const CrawlConfig& config,
                                      const CrawlRules& rules, HostUrlQuota& urls_of_hosts) {
  return frontier.retry(
      {.state = SetAsideState::kHeld, .wanted = Wanted(config, rules, urls_of_hosts)});
}

}  // namespace trawl
