// Names of queues: those of hosts, and names that the caller gives.
#pragma once

#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

// The name of a URL's host queue: politeness_group(), computed from href().
std::string host_of(std::string_view href);
// The host of a URL of any scheme, as written but in lower case; empty if it has none.
std::string host_of_any(std::string_view url);

// The name of a host queue without its port.
std::string_view without_port(std::string_view name);

// Whether `name` is the name of a host queue, in its canonical form.
bool is_host_name(std::string_view name);
// Whether `name` looks like a host but is not in the canonical form. Any name may be that of a
// queue, but such a name is accepted only if the queue exists.
bool is_noncanonical_host(std::string_view name);
// The error for an invalid or too long name.
tl::unexpected<Error> no_such_queue(std::string_view name);

}  // namespace trawl
