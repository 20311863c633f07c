// The WHATWG host parser for http(s): https://url.spec.whatwg.org/#host-parsing
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// Parses `text`, the part of a URL between userinfo and port, and appends the serialised host to
// `out`: a lower-case domain in A-labels, a dotted IPv4 address, or a bracketed IPv6 address.
// Returns nullptr, or a description of the error; `out` is then unspecified after its old end.
//
// IDNA differs from the standard where libidn2 does: see domain_to_ascii() in host_parser.cc.
const char* parse_host(std::string_view text, std::string& out);

// True if `hostname`, in the form that parse_host() writes, is an IPv4 or IPv6 address.
bool is_ip_literal(std::string_view hostname);

}  // namespace trawl
