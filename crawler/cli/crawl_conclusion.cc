#include "crawler/cli/crawl_conclusion.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "crawler/cli/exit_codes.h"

namespace trawl::cli {

namespace {

std::string resume_text(const NextCommand& next) {
  return next.exists() ? fmt::format("to resume: {}\n", next.resume()) : "";
}

int exit_code_of(CrawlLimit limit) {
  return limit == CrawlLimit::kBytes ? kSizeLimit : limit == CrawlLimit::kTime ? kTimeLimit : kDone;
}

CrawlConclusion at_limit(const Crawl& crawl, CrawlLimit limit, const NextCommand& next) {
  CrawlConclusion conclusion{.exit_code = exit_code_of(limit)};
  if (limit == CrawlLimit::kTime) {
    conclusion.text =
        fmt::format("stopped at {}, which each run may take\n{}", key_of(limit), resume_text(next));
    return conclusion;
  }
  const CrawlConfig::Scope scope = crawl.config().scope;
  const std::uint64_t value =
      (limit == CrawlLimit::kPages ? scope.max_pages : scope.max_bytes).value_or(0);
  conclusion.text =
      fmt::format("stopped at {} = {}; raise the limit to continue\n", key_of(limit), value);
  if (!next.exists()) return conclusion;
  // Twice as much, as an example. The config has numbers of up to 2^63 - 1.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 61;
  const std::uint64_t more = std::clamp<std::uint64_t>(2 * std::min(value, kMost), 1, kMost);
  conclusion.text +=
      fmt::format("to resume: {}\n", next.resume_with(key_of(limit), std::to_string(more)));
  return conclusion;
}

CrawlConclusion of_incomplete(const Crawl& crawl, const std::string& why, const NextCommand& next) {
  const FrontierCounters stats = crawl.progress().crawl;
  const bool refused = stats.succeeded == 0 && crawl.fetches()[FetchError::kAddressRefused] > 0;
  const bool failed = stats.set_aside_failed > 0;
  const char* const how = refused                               ? " --allow-private"
                          : failed && !crawl.has_parked_hosts() ? " --retry-failed"
                                                                : "";
  return {.exit_code = kIncomplete,
          .warning = fmt::format(
              "trawl: incomplete: {}{}\n", why,
              next.exists() ? fmt::format("; to try again: {}{}", next.resume(), how) : "")};
}

// Of a run that had nothing to fetch.
std::string idle_text(const FrontierCounters& stats, const NextCommand& next) {
  std::string text =
      fmt::format("nothing to fetch: all {} URLs are done\n", stats.admitted - stats.seen_only);
  if (stats.held > 0) {
    text += fmt::format(
        "{} more URLs are held by rules; a later run fetches them if its rules allow them\n",
        stats.held);
  }
  if (stats.set_aside_failed > 0 && next.exists()) {
    text += fmt::format("{} URLs failed; to try them again: {} --retry-failed\n",
                        stats.set_aside_failed, next.resume());
  }
  return text;
}

}  // namespace

CrawlConclusion CrawlConclusion::of(const Crawl& crawl, EndReason end, bool interrupted,
                                    const NextCommand& next) {
  if (interrupted && end != EndReason::kFinished)
    return {.exit_code = kInterrupted, .text = "interrupted\n" + resume_text(next)};
  if (end == EndReason::kLimit) return at_limit(crawl, *crawl.reached_limit(), next);
  if (const auto why = crawl.incomplete()) return of_incomplete(crawl, *why, next);
  CrawlConclusion conclusion{.exit_code = kDone};
  const FrontierCounters stats = crawl.progress().crawl;
  if (end == EndReason::kRecrawlsWait) {
    conclusion.text =
        fmt::format("done; {} pages are due later: run the same command again to fetch them then\n",
                    stats.recrawls_deferred);
  } else if (end == EndReason::kExhausted) {
    conclusion.text =
        "done; the URLs still queued belong to hosts that are blocked\n" + resume_text(next);
  } else if (crawl.tally().of_this_run().lines == 0) {
    conclusion.text = idle_text(stats, next);
  } else if (stats.set_aside_failed > 0 && next.exists()) {
    conclusion.text = fmt::format("done; to try the {} failed URLs again: {} --retry-failed\n",
                                  stats.set_aside_failed, next.resume());
  } else {
    conclusion.text = "done\n";
  }
  return conclusion;
}

CrawlConclusion CrawlConclusion::of_failed(int exit_code, const NextCommand& next) {
  return {
      .exit_code = exit_code,
      .text = "the state is intact: fix the cause, then resume the crawl\n" + resume_text(next)};
}

}  // namespace trawl::cli
