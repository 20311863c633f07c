#include "crawler/cli/crawl_session.h"

#include <atomic>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/progress_report.h"
#include "crawler/cli/say.h"
#include "crawler/explain/running_crawl_source.h"

namespace trawl::cli {

namespace {

constexpr std::chrono::milliseconds kTick{10};

// Counts SIGINT and SIGTERM: the first drains, the second aborts, the third quits.
class Interruption {
 public:
  void handle(Crawl& crawl) {
    ++signals_;
    if (signals_ == 1) {
      spdlog::warn("finishing the requests in flight; interrupt again to drop them");
      crawl.drain();
    } else if (signals_ == 2) {
      spdlog::warn(
          "dropping the requests in flight and writing a checkpoint; interrupt again to quit "
          "without it");
      crawl.abort();
    } else {
      ::_exit(kForced);
    }
  }
  // As `trawl stop` asks, perhaps repeatedly: never quits.
  void stop(Crawl& crawl, bool now) {
    if (signals_ == 0) handle(crawl);
    if (now && signals_ == 1) handle(crawl);
  }
  bool requested() const { return signals_ > 0; }

 private:
  int signals_ = 0;
};

// What `trawl stop` and the status page ask for, on another thread.
class StopRequest {
 public:
  enum Wanted { kNone, kDrain, kNow };
  void ask(bool now) { wanted_.store(now ? kNow : kDrain, std::memory_order_relaxed); }
  Wanted take() { return wanted_.exchange(kNone, std::memory_order_relaxed); }

 private:
  std::atomic<Wanted> wanted_{kNone};
};

// Whichever way the session ends: the server uses what is in it.
class StopServer {
 public:
  explicit StopServer(StatusServer& server) : server_(server) {}
  StopServer(const StopServer&) = delete;
  StopServer& operator=(const StopServer&) = delete;
  ~StopServer() { server_.stop(); }

 private:
  StatusServer& server_;
};

void report_opening(const OpenReport& opened) {
  for (const std::string& warning : opened.warnings)
    spdlog::warn("{}", warning);
  if (!opened.resumed) return;
  spdlog::info("resumed: {}, {} admissions replayed",
               opened.checkpoint.empty() ? "no checkpoint" : "checkpoint " + opened.checkpoint,
               opened.replayed);
}

void print_resume(const std::string& resume_command) {
  if (!resume_command.empty()) say("to resume: {}\n", resume_command);
}

// Explains a run that had nothing to fetch.
void explain_idle_run(const Crawl& crawl, const std::string& resume_command) {
  const FrontierStats stats = crawl.progress().frontier;
  say("nothing to fetch: all {} URLs are done\n", stats.admitted);
  if (stats.held > 0)
    say("{} more URLs are held by rules; a later run fetches them if its rules allow them\n",
        stats.held);
  if (stats.set_aside_failed > 0 && !resume_command.empty())
    say("{} URLs failed; to try them again: {} --retry-failed\n", stats.set_aside_failed,
        resume_command);
}

int conclude_incomplete(const Crawl& crawl, const std::string& why,
                        const std::string& resume_command) {
  const FrontierStats stats = crawl.progress().frontier;
  const bool refused = stats.succeeded == 0 && crawl.fetches()[FetchError::kAddressRefused] > 0;
  const bool failed = stats.set_aside_failed > 0;
  const char* const how = refused                               ? " --allow-private"
                          : failed && !crawl.has_parked_hosts() ? " --retry-failed"
                                                                : "";
  say(stderr, "trawl: incomplete: {}{}\n", why,
      resume_command.empty() ? "" : fmt::format("; to try again: {}{}", resume_command, how));
  return kIncomplete;
}

// Prints how the crawl ended and returns the exit code. Called after the state is closed.
int conclude(const Crawl& crawl, CrawlEnd end, bool interrupted,
             const std::string& resume_command) {
  if (interrupted && end != CrawlEnd::kFinished) {
    say("interrupted\n");
    print_resume(resume_command);
    return kInterrupted;
  }
  if (end == CrawlEnd::kLimit) {
    const CrawlLimit limit = *crawl.reached_limit();
    say("stopped at {}; raise the limit to continue\n", key_of(limit));
    print_resume(resume_command);
    return limit == CrawlLimit::kBytes  ? kSizeLimit
           : limit == CrawlLimit::kTime ? kTimeLimit
                                        : kDone;
  }
  if (const auto why = crawl.incomplete()) return conclude_incomplete(crawl, *why, resume_command);
  const CrawlProgress progress = crawl.progress();
  if (end == CrawlEnd::kRecrawlsWait) {
    say("done; {} pages are due later: run the same command again to fetch them then\n",
        progress.frontier.recrawls_deferred);
  } else if (end == CrawlEnd::kExhausted) {
    say("done; the URLs still queued belong to hosts that are blocked\n");
  } else if (progress.fetched_now == 0) {
    explain_idle_run(crawl, resume_command);
  }
  return kDone;
}

void report_repairs(const Crawl& crawl) {
  for (const std::string& repair : crawl.repairs())
    spdlog::warn("{}", repair);
}

}  // namespace

int run_session(Crawl& crawl, const SignalWaiter& signals, const std::string& resume_command,
                StatusServer& status, StatusCalls calls) {
  report_opening(crawl.opened());
  report_repairs(crawl);
  ProgressReport progress;
  Interruption interruption;
  StopRequest stop;
  calls.stop = [&stop](bool now) { stop.ask(now); };
  RunningCrawlSource explainer(crawl);
  calls.explain = [&explainer](const std::string& url, std::optional<std::uint32_t> depth,
                               std::optional<std::uint32_t> hops) {
    return explainer.explain({.url = url, .depth = depth, .hops = hops});
  };
  if (const auto started = status.start(crawl, std::move(calls)); !started)
    return report(started.error());
  const StopServer stop_server(status);
  if (!status.url().empty()) spdlog::info("status page: {}", status.url());
  const auto attend = [&] {
    if (const auto wanted = stop.take(); wanted != StopRequest::kNone)
      interruption.stop(crawl, wanted == StopRequest::kNow);
    if (const auto signal = signals.wait(kTick)) {
      progress.finish();
      if (*signal == SIGUSR1) {
        crawl.request_checkpoint();
      } else {
        interruption.handle(crawl);
      }
    }
    progress.update(crawl);
  };
  crawl.start();
  while (!crawl.ended())
    attend();
  // Read before close(): more URLs may fall due while it runs.
  const CrawlEnd end = crawl.why_ended();
  status.crawl_has_ended();
  // close() writes the last checkpoint, which may take seconds: signals are handled meanwhile.
  auto closing = std::async(std::launch::async, [&] { return crawl.close(); });
  while (closing.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    attend();
  const auto closed = closing.get();
  progress.finish();
  say_lines(stdout, summary(crawl));
  if (!closed) {
    const int code = report({closed.error().code, "the crawl stopped: " + closed.error().message});
    say("the state is intact: fix the cause, then resume the crawl\n");
    print_resume(resume_command);
    return code;
  }
  return conclude(crawl, end, interruption.requested(), resume_command);
}

}  // namespace trawl::cli
