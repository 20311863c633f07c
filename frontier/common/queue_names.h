// The names of queues: those of hosts, and others.
#pragma once

#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

// The name of the host queue of a URL, politeness_group(), from its href().
std::string host_of(std::string_view href);
// The host of a URL of any scheme, as it is written but for its case; empty: it has none.
std::string host_of_any(std::string_view url);

// Whether it is a host as the URLs of its queue have it.
bool is_host_name(std::string_view name);
// Any name may be that of a queue. What looks like a host that is written otherwise than its queue
// is named, though, has to be there.
bool is_host_otherwise(std::string_view name);
// Also of one that is too long.
tl::unexpected<Error> no_queue(std::string_view name);

}  // namespace trawl
