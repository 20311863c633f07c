// Stored URLs as DumpedUrl: what a dump prints of them.
#pragma once

#include <string_view>

#include "trawl/frontier_dump.h"
#include "trawl/set_aside.h"

#include "frontier/store/queued_url.h"

namespace trawl {

// A waiting URL in the queue with this name. Priority and state are the caller's.
DumpedUrl dumped_url(const UrlRecord& record, std::string_view queue);
// A URL set aside.
DumpedUrl dumped_url(const SetAsideUrl& url);

}  // namespace trawl
