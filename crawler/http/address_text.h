// IP addresses as text.
#pragma once

#include <string>

#include <sys/socket.h>

namespace trawl {

// The numbers of an address into a socket address of its family, whose port stays. False if it is
// no address of that family.
bool write_address(const std::string& text, int family, sockaddr* to);

// Whether a host is an address; IPv4 is then written the usual way, which it need not have been.
bool normalize_address(std::string& host);

// Whether it is one of those that are no public host's, or a name of the machine itself.
bool is_private_text(const std::string& address);

}  // namespace trawl
