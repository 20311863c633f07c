// crawl_session: runs an open crawl to its end, with signals and progress.
#pragma once

#include <string>

#include "crawler/cli/signal_waiter.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

// The first SIGINT or SIGTERM finishes the requests in flight, the second drops them, the third
// ends the process; SIGUSR1 requests a checkpoint. Prints a summary, and `resume_command` if work
// is left (nothing if it is empty). Returns an exit code.
int run_session(Crawl& crawl, const SignalWaiter& signals, const std::string& resume_command);

}  // namespace trawl::cli
