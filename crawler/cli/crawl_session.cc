#include "crawler/cli/crawl_session.h"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/progress_report.h"

namespace trawl::cli {

namespace {

constexpr std::chrono::milliseconds kTick{50};

// What SIGINT and SIGTERM have asked for so far.
class Interruption {
 public:
  void handle(Crawl& crawl) {
    ++signals_;
    if (signals_ == 1) {
      spdlog::warn("finishing what is in flight; interrupt again to stop at once");
      crawl.drain();
    } else if (signals_ == 2) {
      spdlog::warn("stopping at once, with a checkpoint; interrupt again to quit without");
      crawl.abort();
    }
  }
  bool requested() const { return signals_ > 0; }

  // Once nobody waits for signals any more: another one ends the process.
  static void force_on_next_signal() {
    for (const int signal : {SIGINT, SIGTERM}) {
      std::signal(signal, [](int) { ::_exit(kForced); });
    }
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
  }

 private:
  int signals_ = 0;
};

void report_opening(const OpenReport& opened) {
  for (const std::string& warning : opened.warnings)
    spdlog::warn("{}", warning);
  if (!opened.resumed) return;
  spdlog::info("resumed: {}, {} admissions replayed",
               opened.checkpoint.empty() ? "no checkpoint" : "checkpoint " + opened.checkpoint,
               opened.replayed);
}

// What the end of the crawl means, once its state is closed.
int conclude(const Crawl& crawl, bool interrupted, const std::string& resume_command) {
  if (crawl.finished()) {
    if (const auto example = crawl.nothing_answered()) {
      spdlog::error("nothing could be fetched, no request was answered: {}", *example);
      return kFailed;
    }
    return kDone;
  }
  if (!interrupted && crawl.reached_max_pages()) {
    fmt::print("stopped at scope.max_pages; to go on, raise it and run: {}\n", resume_command);
    return kDone;
  }
  fmt::print("interrupted; to go on: {}\n", resume_command);
  return kInterrupted;
}

}  // namespace

Result<void> set_up_logging(const CrawlConfig::Log& config) {
  try {
    auto logger =
        config.file.empty()
            ? std::make_shared<spdlog::logger>(
                  "trawl", std::make_shared<spdlog::sinks::stderr_color_sink_mt>())
            : std::make_shared<spdlog::logger>(
                  "trawl",
                  std::make_shared<spdlog::sinks::basic_file_sink_mt>(config.file.string()));
    logger->set_level(spdlog::level::from_str(config.level));
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& error) {
    return fail(ErrorCode::kIo, fmt::format("cannot open log.file: {}", error.what()));
  }
  return {};
}

int run_session(Crawl& crawl, const SignalWaiter& signals, const std::string& resume_command) {
  report_opening(crawl.opened());
  ProgressReport report;
  Interruption interruption;
  crawl.start();
  while (!crawl.ended()) {
    if (const auto signal = signals.wait(kTick)) {
      report.finish();
      if (*signal == SIGUSR1) {
        crawl.request_checkpoint();
      } else {
        interruption.handle(crawl);
      }
    }
    report.update(crawl);
  }
  if (interruption.requested()) Interruption::force_on_next_signal();
  const auto closed = crawl.close();
  report.finish();
  fmt::print("{}", summary(crawl));
  if (!closed) {
    spdlog::error("the crawl stopped: {}", closed.error().message);
    fmt::print("its state is intact; to go on once the cause is gone: {}\n", resume_command);
    return exit_code_of(closed.error());
  }
  return conclude(crawl, interruption.requested(), resume_command);
}

}  // namespace trawl::cli
