// Groups of hosts: registrable domains and politeness groups.
#pragma once

#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// The URL's host name in the form for comparisons: Url::hostname() (lower case, IDNA A-labels, IPv6
// in brackets) without a trailing dot. Empty only for a default Url.
std::string_view group_host(const Url& url) noexcept;

// The registrable domain of a host name in the form of Url::hostname(): the public suffix
// (https://publicsuffix.org) and one more label, "example.co.uk" for "www.example.co.uk". Includes
// the list's private suffixes, as browsers do for sites: alice.github.io and bob.github.io are two
// domains. Returns a view into `hostname`, without a trailing dot. For an IP address, a public
// suffix and a single label it returns the name itself. Thread-safe.
std::string_view registrable_domain(std::string_view hostname);

// True if `hostname` is a registrable domain or a subdomain of one: not an IP address, not a public
// suffix, not a single label.
bool has_registrable_domain(std::string_view hostname);

// Which hosts share a delay.
enum class PolitenessGroup {
  kHost,    // each host and port apart; ports 80 and 443 together
  kDomain,  // all hosts and ports of a registrable domain together; each IP address apart
};

// The name of the URL's politeness group. By host: group_host(), followed by ":port" unless the
// port is 80 or 443. So http and https share a group, and no port is in two groups. Two URLs have
// the same name iff they are in the same group. Empty only for a default Url.
std::string politeness_group(const Url& url, PolitenessGroup by = PolitenessGroup::kHost);

}  // namespace trawl
