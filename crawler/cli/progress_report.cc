#include "crawler/cli/progress_report.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "crawler/cli/filter_report.h"
#include "crawler/cli/printable_text.h"

namespace trawl::cli {

namespace {

constexpr std::chrono::milliseconds kLiveInterval{500};
constexpr std::chrono::seconds kLogInterval{10};

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Expected losses are usually far below one URL.
std::string lost_text(double lost) {
  return lost < 0.001 ? "under 0.001" : fmt::format("about {:.3g}", lost);
}

std::string crashed_text(const std::vector<std::string>& urls) {
  constexpr std::size_t kNamed = 10;
  if (urls.empty()) return "";
  std::string text =
      fmt::format("URLs set aside because the crawl crashed on them: {}", urls.size());
  for (std::size_t i = 0; i < std::min(urls.size(), kNamed); ++i)
    text += fmt::format("\n  {}", urls[i]);
  if (urls.size() > kNamed) text += fmt::format("\n  and {} more", urls.size() - kNamed);
  return text + "\n";
}

// A line longer than this would wrap.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

}  // namespace

std::string progress_line(const CrawlProgress& progress, double pages_per_second) {
  const FrontierStats& stats = progress.frontier;
  return fmt::format("{:.0f} pages/s, {} fetched, {} queued, {} seen, {} failed, hosts {}, lost {}",
                     pages_per_second, progress.fetched, stats.queued, stats.seen, stats.failed,
                     stats.hosts, lost_text(stats.expected_lost));
}

std::string summary(const Crawl& crawl) {
  const CrawlProgress progress = crawl.progress();
  const FrontierStats& stats = progress.frontier;
  const double time = seconds(progress.elapsed);
  std::string text =
      fmt::format("fetched {} URLs in {:.1f} s ({:.0f} URLs/s)", progress.fetched_now, time,
                  time > 0 ? static_cast<double>(progress.fetched_now) / time : 0.0);
  if (progress.fetched != progress.fetched_now) {
    text += fmt::format(", {} since the crawl began", progress.fetched);
  }
  text += fmt::format("\nfailed {}, still queued {}, links seen before {}\n", stats.failed,
                      stats.queued + stats.leased + stats.deferred - stats.recrawls_deferred,
                      stats.seen);
  if (stats.held + stats.set_aside_failed > 0) {
    text += fmt::format("kept for a later run: {} held by rules, {} failed\n", stats.held,
                        stats.set_aside_failed);
  }
  for (const FailedSeeds::Seed& seed : crawl.failed_seeds().named())
    text += fmt::format("seed failed: {}: {}\n", printable(seed.url), printable(seed.why));
  if (const std::uint64_t more = crawl.failed_seeds().count(); more > FailedSeeds::kNamed)
    text += fmt::format("more seeds failed: {}\n", more - FailedSeeds::kNamed);
  std::string skipped;
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    const auto reason = static_cast<SkipReason>(i);
    if (const auto n = crawl.skipped()[reason]; n > 0) {
      skipped += fmt::format("{}{} {}", skipped.empty() ? "" : ", ", to_string(reason), n);
    }
  }
  std::string failures;
  for (std::size_t i = 0; i < kFetchErrors; ++i) {
    const auto error = static_cast<FetchError>(i);
    if (const auto n = crawl.fetches()[error]; n > 0)
      failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", to_string(error), n);
  }
  if (!failures.empty()) text += fmt::format("fetch errors: {}\n", failures);
  if (crawl.fetches().retries() > 0)
    text += fmt::format("retries: {}\n", crawl.fetches().retries());
  if (progress.truncated > 0) {
    text += fmt::format(
        "truncated: {} since the crawl began: only a part of the body was received, and kept; not "
        "counted as fetched\n",
        progress.truncated);
  }
  if (crawl.fetches().not_modified() > 0)
    text += fmt::format("pages not modified: {}\n", crawl.fetches().not_modified());
  text += fmt::format("links skipped: {}\n", skipped.empty() ? "none" : skipped);
  text += fmt::format(
      "filter: {} URLs, room for {}, {:.1f} MiB, false-positive rate {:.2g}, URLs lost to false "
      "positives: {}, not counting URLs linked only from lost pages\n",
      stats.admitted, stats.filter.capacity,
      static_cast<double>(stats.filter.memory_bytes) / (1 << 20), stats.false_positive_rate,
      lost_text(stats.expected_lost));
  if (const auto advice = capacity_advice(stats.filter, "expected_urls"); !advice.empty())
    text += fmt::format("advice: frontier.{}\n", advice);
  if (!stats.filter_warning.empty()) {
    text += fmt::format(
        "warning: the filter could not grow, so its false-positive rate is above "
        "filter.false_positive_rate: {}\n",
        stats.filter_warning);
  }
  if (stats.seen_checked > 0) {
    text += fmt::format(
        "ledger: checked {} of the links seen before, {} of them wrongly taken for seen; measured "
        "false-positive rate {:.2g}\n",
        stats.seen_checked, stats.seen_false, stats.measured_false_positive_rate);
  }
  if (stats.hosts_parked > 0) {
    text += fmt::format("hosts parked after too many failures: {}; their URLs stay queued\n",
                        stats.hosts_parked);
  }
  text += crashed_text(crawl.crashed());
  text += fmt::format("output: {}\n", crawl.pages_path());
  return text;
}

ProgressReport::ProgressReport() : terminal_(::isatty(STDERR_FILENO) != 0), last_(Clock::now()) {}

void ProgressReport::update(const Crawl& crawl) {
  const auto now = Clock::now();
  if (now - last_ < (terminal_ ? Clock::duration(kLiveInterval) : Clock::duration(kLogInterval))) {
    return;
  }
  const CrawlProgress progress = crawl.progress();
  const std::uint64_t fetched =
      progress.fetched_now - std::min(progress.fetched_now, last_fetched_);
  const double rate = static_cast<double>(fetched) / seconds(now - last_);
  last_ = now;
  last_fetched_ = progress.fetched_now;
  const std::string line = progress_line(progress, rate);
  if (!terminal_) {
    spdlog::info("{}", line);
    return;
  }
  // Rewrites the line and clears the rest of a longer one. Errors are ignored: a closed terminal
  // must not end the crawl.
  const std::string shown =
      fmt::format("\r{}\x1b[K", std::string_view(line).substr(0, terminal_width() - 1));
  std::fputs(shown.c_str(), stderr);
  std::fflush(stderr);
  line_open_ = true;
}

void ProgressReport::finish() {
  if (line_open_) std::fputs("\n", stderr);
  line_open_ = false;
}

}  // namespace trawl::cli
