// crawl_session: runs an open crawl to its end, with signals and progress.
#pragma once

#include <string>

#include "crawler/cli/signal_waiter.h"
#include "crawler/run/crawl.h"
#include "crawler/status/status_server.h"

namespace trawl::cli {

// The first SIGINT or SIGTERM finishes the requests in flight, the second drops them, the third
// ends the process; SIGUSR1 requests a checkpoint. Prints a summary, and `resume_command` if work
// is left (nothing if it is empty). Meanwhile `status` answers; `calls` need no `stop`. Returns an
// exit code.
int run_session(Crawl& crawl, const SignalWaiter& signals, const std::string& resume_command,
                StatusServer& status, StatusCalls calls = {});

}  // namespace trawl::cli
