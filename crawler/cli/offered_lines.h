// offer_lines: `trawl offer`: sends URLs to a running crawl.
#pragma once

#include <string>
#include <vector>

#include "crawler/status/control_client.h"

namespace trawl::cli {

// `inputs`: URLs, names of files, "-". Lines are sent as they are read; a wrong one is reported and
// left out. Prints the sums, as JSON if asked. Returns an exit code.
int offer_lines(const ControlClient& client, const std::vector<std::string>& inputs, bool as_json);

}  // namespace trawl::cli
