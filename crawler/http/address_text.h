// Functions on IP addresses as text.
#pragma once

#include <string>

#include <sys/socket.h>

namespace trawl {

// Writes an address into a socket address of its family, whose port is kept. Returns false if
// `text` is not an address of that family.
bool write_address(const std::string& text, int family, sockaddr* to);

// Returns whether `host` is an address, and if so rewrites it in its usual form.
bool normalize_address(std::string& host);

// Whether it is not the address of a public host, or is a name of this machine.
bool is_private_text(const std::string& address);

}  // namespace trawl
