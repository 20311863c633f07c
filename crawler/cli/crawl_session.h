// crawl_session: runs an open crawl to its end, with signals and progress.
#pragma once

#include "crawler/cli/session_options.h"
#include "crawler/cli/signal_waiter.h"
#include "crawler/run/crawl.h"
#include "crawler/status/status_server.h"

namespace trawl::cli {

// The first SIGINT or SIGTERM finishes the requests in flight, the second drops them, the third
// ends the process; SIGUSR1 requests a checkpoint. Prints a summary, and what to type next.
// Meanwhile `status` answers; `calls` need no `stop`. Returns an exit code.
int run_session(Crawl& crawl, const SignalWaiter& signals, const SessionOptions& options,
                StatusServer& status, StatusCalls calls = {});

}  // namespace trawl::cli
