// SessionOptions: how a crawl is run, apart from its config.
#pragma once

#include "crawler/cli/next_command.h"
#include "crawler/cli/verbosity.h"

namespace trawl::cli {

struct SessionOptions {
  NextCommand next = {};  // to resume the crawl
  Verbosity verbosity = Verbosity::kNormal;
};

}  // namespace trawl::cli
