#include "frontier/common/queue_names.h"

#include <fmt/format.h>

#include "trawl/lease.h"
#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "url/registrable_domain.h"

namespace trawl {

std::string host_of(std::string_view href) {
  const std::size_t scheme = href.find("://");
  if (scheme == std::string_view::npos) return {};
  // In the userinfo these characters are percent-encoded.
  std::string_view host = href.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  host = host.substr(host.rfind('@') + 1);
  // Skip the colons of an IPv6 address, which are in brackets.
  const std::size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : host.substr(colon + 1);
  std::string group(without_trailing_dot(host.substr(0, colon)));
  if (!port.empty() && port != "80" && port != "443") group.append(":").append(port);
  return group;
}

std::string host_of_any(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return {};
  return to_lower(host_of(url));
}

std::string_view without_port(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos || name.find(']', colon) != std::string_view::npos)
    return name;
  return name.substr(0, colon);
}

bool is_host_name(std::string_view name) {
  const auto url = Url::parse(fmt::format("http://{}/", name));
  return url && politeness_group(*url) == name;
}

bool is_noncanonical_host(std::string_view name) {
  return Url::parse(fmt::format("http://{}/", name)).has_value() && !is_host_name(name);
}

tl::unexpected<Error> no_such_queue(std::string_view name) {
  constexpr std::size_t kMostQuoted = 300;
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" is not the name of a queue: use a host in lower case, followed by "
                  "\":port\" unless the port is 80 or 443 (as in Lease::host), or a name of at "
                  "most {} bytes that UrlRequest::queue gave",
                  name.substr(0, kMostQuoted), kMaxQueueBytes));
}

}  // namespace trawl
