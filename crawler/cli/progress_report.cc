#include "crawler/cli/progress_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/local_time.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/printable_text.h"

namespace trawl::cli {

namespace {

using std::chrono::duration;

constexpr std::chrono::milliseconds kLiveInterval{500};
constexpr std::chrono::seconds kLogInterval{10};
// Rates are those of this time: shorter ones jump, longer ones hide a stop.
constexpr std::chrono::seconds kWindow{10};

// A line longer than this would wrap.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

// Whether standard error is a terminal that knows more than characters.
bool has_live_line() {
  if (::isatty(STDERR_FILENO) == 0) return false;
  const char* const term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

// The first `width` characters of UTF-8.
std::string_view shortened(std::string_view line, std::size_t width) {
  std::size_t end = 0;
  for (std::size_t shown = 0; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0) != 0x80;
    if (begins && shown++ == width) break;
  }
  return line.substr(0, end);
}

std::string rate_text(double pages) {
  return pages > 0 && pages < 10 ? fmt::format("{:.1f} pages/s", pages)
                                 : fmt::format("{:.0f} pages/s", pages);
}

std::string waiting_for(const std::vector<HostTrouble>& troubles, std::size_t failing) {
  const HostTrouble& next = troubles.front();
  const SystemTime now = std::chrono::system_clock::now();
  std::string text = fmt::format("waiting for {}: {}, {} in a row, ", printable(next.host),
                                 printable(next.why), next.failures);
  if (next.until) {
    text += *next.until > now ? "next try in " + readable_duration(*next.until - now) : "trying";
  } else {
    text += "parked";
  }
  if (failing > 1) text += fmt::format(", and for {} more hosts", failing - 1);
  return text;
}

// The time until the first of the limits is reached at these rates; nothing if there is none.
std::optional<std::chrono::nanoseconds> time_to_limit(const CrawlProgress& progress,
                                                      CrawlRates rates) {
  std::optional<double> least;
  const auto consider = [&least](double seconds) {
    least = std::min(least.value_or(seconds), seconds);
  };
  if (progress.pages_left && rates.pages > 0)
    consider(static_cast<double>(*progress.pages_left) / rates.pages);
  if (progress.bytes_left && rates.bytes > 0)
    consider(static_cast<double>(*progress.bytes_left) / rates.bytes);
  if (progress.time_left) consider(duration<double>(*progress.time_left).count());
  constexpr double kTooLong = 1e9;  // seconds
  if (!least || *least > kTooLong) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration<double>(*least));
}

std::string hosts_text(const CrawlProgress& progress, std::size_t failing) {
  const FrontierStats& stats = progress.frontier;
  const std::uint64_t waiting = std::min(
      stats.hosts, std::max<std::uint64_t>(stats.hosts_blocked + stats.hosts_parked, failing));
  std::string text = fmt::format("hosts {} active", stats.hosts - waiting);
  if (waiting > 0) text += fmt::format(", {} waiting", waiting);
  const auto now = std::chrono::steady_clock::now();
  // Otherwise requests are under way, or about to start.
  if (progress.in_flight > 0 || !progress.next_start || *progress.next_start <= now) return text;
  // Only a host that a call blocked waits for longer.
  constexpr std::chrono::days kLongestWait{180};
  if (*progress.next_start > now + kLongestWait)
    text += " (blocked by a call: unblock them to go on)";
  else
    text += fmt::format(" (next in {})", readable_duration(*progress.next_start - now));
  return text;
}

}  // namespace

std::string progress_line(const CrawlProgress& progress, const TallyTotals& totals,
                          CrawlRates rates, const std::vector<HostTrouble>& troubles,
                          std::size_t failing) {
  const FrontierStats& stats = progress.frontier;
  const bool all_fail = !troubles.empty() && failing >= stats.hosts;
  std::string line = readable_duration(std::chrono::floor<std::chrono::seconds>(progress.elapsed));
  line += all_fail ? "  " + waiting_for(troubles, failing)
                   : fmt::format("  {}, {}/s", rate_text(rates.pages),
                                 readable_bytes(static_cast<std::uint64_t>(rates.bytes)));
  line += fmt::format(", {} pages, {}, {} queued, {} failed", totals.lines,
                      readable_bytes(totals.bytes()), stats.queued, totals.failed);
  if (!all_fail) line += ", " + hosts_text(progress, failing);
  if (const auto left = time_to_limit(progress, rates))
    line += fmt::format(", ETA {}", readable_duration(*left));
  return line;
}

ProgressReport::ProgressReport(Verbosity verbosity)
    : verbosity_(verbosity), live_(has_live_line()), last_(Clock::now()) {}

CrawlRates ProgressReport::rates_now(Clock::time_point now, const TallyTotals& totals) {
  samples_.push_back({now, totals.lines, totals.bytes()});
  while (samples_.size() > 2 && samples_[1].time <= now - kWindow)
    samples_.pop_front();
  const Sample& first = samples_.front();
  const double time = duration<double>(now - first.time).count();
  if (time <= 0) return {};
  return {.pages = static_cast<double>(totals.lines - first.pages) / time,
          .bytes = static_cast<double>(totals.bytes() - first.bytes) / time};
}

void ProgressReport::update(const Crawl& crawl) {
  if (verbosity_ == Verbosity::kQuiet) return;
  const auto now = Clock::now();
  if (samples_.empty()) {
    rates_now(now, crawl.tally().totals());
    return;
  }
  if (now - last_ < (live_ ? Clock::duration(kLiveInterval) : Clock::duration(kLogInterval)))
    return;
  last_ = now;
  const TallyTotals totals = crawl.tally().totals();
  const std::vector<HostTrouble> troubles = crawl.host_troubles().first(1);
  const std::string line = progress_line(crawl.progress(), totals, rates_now(now, totals), troubles,
                                         crawl.host_troubles().count());
  if (!live_) {
    spdlog::info("{}", line);
    return;
  }
  // Rewrites the line and clears the rest of a longer one. Errors are ignored: a closed terminal
  // must not end the crawl.
  const std::string shown = fmt::format("\r{}\x1b[K", shortened(line, terminal_width() - 1));
  std::fputs(shown.c_str(), stderr);
  std::fflush(stderr);
  line_open_ = true;
}

void ProgressReport::finish() {
  if (line_open_) std::fputs("\n", stderr);
  line_open_ = false;
}

}  // namespace trawl::cli
