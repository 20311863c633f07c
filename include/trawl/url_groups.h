// Which hosts belong together: by registration, and for politeness.
#pragma once

#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// The URL's host name as hosts are compared: in lower case and IDNA's A-labels, as Url::hostname()
// has it, without a trailing dot. IPv6 keeps its brackets. Empty for a default Url alone.
std::string_view group_host(const Url& url) noexcept;

// The registrable domain of a host name as Url::hostname() gives it: the public suffix
// (https://publicsuffix.org) and one label more, "example.co.uk" for "www.example.co.uk". Suffixes
// from the list's private part count, as they do for what browsers call a site: alice.github.io and
// bob.github.io are two domains. A view into `hostname`, without its trailing dot. An IP address, a
// host that is itself a public suffix, and one of a single label stand for themselves.
// Thread-safe.
std::string_view registrable_domain(std::string_view hostname);

// True if `hostname` is a registrable domain or a subdomain of one: not an IP address, not a public
// suffix, not a single label.
bool has_registrable_domain(std::string_view hostname);

enum class PolitenessGroup {
  kHost,    // each host and port of its own, but for 80 and 443
  kDomain,  // all hosts and ports of a registrable domain together; IP addresses one by one
};

// The name of the URL's politeness group. By host: group_host(), then ":port" unless that is 80 or
// 443, whichever the scheme: http and https share a group, and one port is never in two. Equal for
// equal groups, for hosts and domains alike. Empty for a default Url alone.
std::string politeness_group(const Url& url, PolitenessGroup by = PolitenessGroup::kHost);

}  // namespace trawl
