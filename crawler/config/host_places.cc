#include "crawler/config/host_places.h"

#include <utility>

#include "trawl/canonical_profile.h"

#include "url/compiled_profile.h"
#include "url/registrable_domain.h"

namespace trawl {

Result<std::string> HostPlaces::normal(const std::string& host) {
  const HostRulesText rules{.host = host, .text = {}};
  auto profile = Profile::from_text({}, {&rules, 1});
  if (!profile) return tl::unexpected(profile.error());
  return std::move(profile->hosts[0].host);
}

bool HostPlaces::add(std::string_view host, std::size_t place) {
  const bool is_domain = host.starts_with('.');
  if (is_domain) host.remove_prefix(1);
  return (is_domain ? domains_ : hosts_).emplace(std::string(host), place).second;
}

std::optional<std::size_t> HostPlaces::find(std::string_view hostname) const {
  std::string_view name = without_trailing_dot(hostname);
  // No entry matches a name longer than DNS allows, so its parent domains are not looked up.
  if (name.size() > kMaxHostBytes) return std::nullopt;
  if (const auto found = hosts_.find(name); found != hosts_.end()) return found->second;
  while (!domains_.empty()) {
    if (const auto found = domains_.find(name); found != domains_.end()) return found->second;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  return std::nullopt;
}

std::string_view hostname_of_queue(std::string_view queue) {
  const auto colon = queue.rfind(':');
  if (colon == std::string_view::npos || queue.find(']', colon) != std::string_view::npos)
    return queue;
  return queue.substr(0, colon);
}

}  // namespace trawl
