#include "crawler/cli/crawl_session.h"

#include <atomic>
#include <chrono>
#include <future>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "crawler/cli/config_reload.h"
#include "crawler/cli/crawl_conclusion.h"
#include "crawler/cli/crawl_summary.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/progress_report.h"
#include "crawler/cli/say.h"
#include "crawler/explain/running_crawl_source.h"

namespace trawl::cli {

namespace {

// How long to wait before the next look at a crawl that does not announce its end.
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
      spdlog::warn("dropping the requests in flight; interrupt again to quit at once");
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

void report_opening(const Crawl& crawl) {
  const OpenReport& opened = crawl.opened();
  for (const std::string& warning : opened.warnings)
    spdlog::warn("{}", warning);
  const CrawlConfig config = crawl.config();
  if (config.cluster.enabled()) {
    spdlog::info("{} the crawl {} in Redis, as {}", opened.resumed ? "joined" : "began",
                 config.cluster.name, cluster_member(config.cluster, config.crawl.state_dir));
    return;
  }
  if (!opened.resumed) return;
  spdlog::info("resumed: {}, {} admissions replayed",
               opened.checkpoint.empty() ? "no checkpoint" : "checkpoint " + opened.checkpoint,
               opened.replayed);
}

// Returns the exit code.
int print(const CrawlConclusion& conclusion, Verbosity verbosity) {
  if (verbosity != Verbosity::kQuiet) say_lines(stdout, conclusion.text);
  say_lines(stderr, conclusion.warning);
  return conclusion.exit_code;
}

void report_repairs(const Crawl& crawl) {
  for (const std::string& repair : crawl.repairs())
    spdlog::warn("{}", repair);
}

}  // namespace

int run_session(Crawl& crawl, const SignalWaiter& signals, const SessionOptions& options,
                StatusServer& status, StatusCalls calls) {
  report_opening(crawl);
  report_repairs(crawl);
  ProgressReport progress(options.verbosity);
  Interruption interruption;
  ConfigReload reload(crawl);
  StopRequest stop;
  calls.stop = [&stop](bool now) { stop.ask(now); };
  RunningCrawlSource explainer(crawl);
  calls.explain = [&explainer](const std::string& url, std::optional<std::uint32_t> depth,
                               std::optional<std::uint32_t> hops, std::optional<FoundAs> kind) {
    return explainer.explain({.url = url, .depth = depth, .hops = hops, .kind = kind});
  };
  if (const auto started = status.start(crawl, std::move(calls)); !started)
    return report(started.error());
  const StopServer stop_server(status);
  if (!status.url().empty()) spdlog::info("status page: {}", status.url());
  const auto attend = [&](std::chrono::milliseconds longest_wait) {
    if (const auto wanted = stop.take(); wanted != StopRequest::kNone)
      interruption.stop(crawl, wanted == StopRequest::kNow);
    // All that are pending: the crawl may end between two turns, and the last one quits at once.
    for (auto signal = signals.wait(longest_wait); signal;
         signal = signals.wait(std::chrono::milliseconds(0))) {
      progress.finish();
      if (*signal == SIGUSR1) {
        crawl.request_checkpoint();
      } else if (*signal == SIGHUP) {
        reload.ask();
      } else {
        interruption.handle(crawl);
      }
    }
    reload.attend();
    status.sample();
    progress.update(crawl);
  };
  status.sample();
  crawl.on_end([&signals] { signals.wake(); });
  crawl.start();
  while (!crawl.ended())
    attend(kTick);
  // Read before close(): more URLs may fall due while it runs.
  const EndReason end = crawl.why_ended();
  status.crawl_has_ended();
  // close() may write a checkpoint, which takes seconds: signals are handled meanwhile.
  auto closing = std::async(std::launch::async, [&] { return crawl.close(); });
  while (closing.wait_for(kTick) != std::future_status::ready)
    attend(std::chrono::milliseconds(0));
  const auto closed = closing.get();
  progress.finish();
  if (options.verbosity != Verbosity::kQuiet)
    say_lines(stdout, crawl_summary(crawl, options.verbosity));
  if (!closed) {
    const int code = report({closed.error().code, "the crawl stopped: " + closed.error().message});
    return print(CrawlConclusion::of_failed(code, options.next), options.verbosity);
  }
  return print(CrawlConclusion::of(crawl, end, interruption.requested(), options.next),
               options.verbosity);
}

}  // namespace trawl::cli
