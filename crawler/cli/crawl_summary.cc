// The order of the lines: what went wrong with the seeds, what was fetched, why fetches failed,
// what was left out and why, what waits, what it cost, and where the output is.
#include "crawler/cli/crawl_summary.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/local_time.h"
#include "base/process_memory.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/printable_text.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kNamed = 10;
constexpr std::size_t kNamedRedirects = 3;
constexpr std::array<std::string_view, 6> kClassNames = {"no response", "1xx", "2xx",
                                                         "3xx",         "4xx", "5xx"};

std::string and_more(std::uint64_t all, std::size_t named) {
  return all > named ? fmt::format("  and {} more\n", all - named) : "";
}

// A line to act on, so it comes first.
std::string redirected_text(const Crawl& crawl) {
  const std::vector<SeedRedirect> redirects = crawl.redirected_seeds();
  std::string text;
  for (std::size_t i = 0; i < std::min(redirects.size(), kNamedRedirects); ++i) {
    const SeedRedirect& each = redirects[i];
    text += fmt::format(
        "seed {} redirects to {}, which {}\n", printable(each.seed), printable(each.target),
        each.followed ? "was followed as a seed" : "was not followed: add it to crawl.seeds");
  }
  return text + and_more(redirects.size(), kNamedRedirects);
}

std::string failed_seeds_text(const Crawl& crawl) {
  std::string text;
  for (const FailedSeeds::Seed& seed : crawl.failed_seeds().named())
    text += fmt::format("seed failed: {}: {}\n", printable(seed.url), printable(seed.why));
  if (const std::uint64_t more = crawl.failed_seeds().count(); more > FailedSeeds::kNamed)
    text += fmt::format("more seeds failed: {}\n", more - FailedSeeds::kNamed);
  return text;
}

std::string fetched_text(const TallyTotals& run, const TallyTotals& all,
                         std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  std::string text = fmt::format(
      "fetched {} URL{} in {} ({:.{}f} URLs/s), {}", run.lines, run.lines == 1 ? "" : "s",
      readable_duration(time), seconds > 0 ? run.lines / seconds : 0.0,
      seconds > 0 && run.lines / seconds < 10 ? 1 : 0, readable_bytes(run.bytes()));
  if (run.lines != all.lines) {
    text += fmt::format("; {} since the crawl began, {}", all.lines, readable_bytes(all.bytes()));
  }
  return text + "\n";
}

std::string classes_text(const TallyTotals& all) {
  std::string text;
  // Those without a response last.
  for (const std::size_t each : {2u, 3u, 4u, 5u, 1u, 0u}) {
    if (all.by_class[each] == 0) continue;
    text += fmt::format("  {:<11} {:>9}  {:>10}\n", kClassNames[each], all.by_class[each],
                        readable_bytes(all.bytes_by_class[each]));
  }
  return text;
}

std::string failure_line(const FailureTally& failure) {
  std::string line = fmt::format("  {:<24} {:>9}  {}", printable(failure.reason), failure.count,
                                 printable(failure.url));
  if (!failure.error.empty() && failure.error != failure.reason)
    line += fmt::format(": {}", printable(failure.error));
  return line + "\n";
}

// Each line of pages.jsonl that failed is in one of these lines.
std::string failures_text(const TallyTotals& all) {
  if (all.failed == 0) return "";
  std::vector<const FailureTally*> failures;
  for (const auto& [reason, failure] : all.failures)
    failures.push_back(&failure);
  std::ranges::stable_sort(failures, [](const FailureTally* one, const FailureTally* other) {
    return one->count > other->count;
  });
  std::string text = fmt::format("failed: {}, by reason with an example\n", all.failed);
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (i < 2 * kNamed)
      text += failure_line(*failures[i]);
    else
      others += failures[i]->count;
  }
  if (others > 0) text += fmt::format("  {:<24} {:>9}\n", "other reasons", others);
  return text;
}

// Numbers that are not 0, in one line: "of these: 2 redirects, 1 truncated".
std::string kinds_text(const TallyTotals& all) {
  struct Kind {
    std::uint64_t count;
    const char* one;
    const char* several;
  };
  const char* const truncated = "truncated: only a part of the body was received";
  const Kind kinds[] = {{all.redirects, "redirect", "redirects"},
                        {all.duplicates, "duplicate of another page", "duplicates of other pages"},
                        {all.truncated, truncated, truncated},
                        {all.recrawls, "fetched again", "fetched again"}};
  std::string text;
  for (const Kind& kind : kinds) {
    if (kind.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "of these: " : ", ", kind.count,
                        kind.count == 1 ? kind.one : kind.several);
  }
  return text.empty() ? "" : text + "\n";
}

std::string skipped_text(const Crawl& crawl) {
  std::string text;
  for (const auto& [reason, count] : crawl.skipped_in_all())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(reason), count);
  text = fmt::format("links skipped: {}\n", text.empty() ? "none" : text);
  if (const std::uint64_t guesses = crawl.fetches().guesses(); guesses > 0)
    text += fmt::format("links guessed in scripts and JSON: {}\n", guesses);
  return text;
}

std::string trouble_line(const HostTrouble& trouble) {
  const SystemTime now = std::chrono::system_clock::now();
  std::string until = trouble.until ? "until " + to_local_time(*trouble.until, now) : "";
  // The next run tries parked hosts in any case.
  if (trouble.parked) until += until.empty() ? "until the next run" : " or the next run";
  return fmt::format("  {} {} {}: {}, {} in a row\n", printable(trouble.host),
                     trouble.parked ? "is parked" : "waits", until, printable(trouble.why),
                     trouble.failures);
}

std::string waiting_text(const Crawl& crawl, const FrontierStats& stats) {
  std::string text;
  if (stats.held + stats.set_aside_failed > 0) {
    text += fmt::format("kept for a later run: {} held by rules, {} failed\n", stats.held,
                        stats.set_aside_failed);
  }
  if (stats.hosts_parked > 0) {
    text += fmt::format("hosts parked after too many failures: {}; their URLs stay queued\n",
                        stats.hosts_parked);
  }
  const HostTroubles& troubles = crawl.host_troubles();
  // A host whose queue is empty waits for nothing.
  if (stats.queued + stats.deferred == 0 && stats.hosts_parked == 0) return text;
  if (troubles.count() == 0) return text;
  text += "hosts that fail:\n";
  for (const HostTrouble& trouble : troubles.first(kNamed))
    text += trouble_line(trouble);
  return text + and_more(troubles.count(), kNamed);
}

std::string crashed_text(const std::vector<std::string>& urls) {
  if (urls.empty()) return "";
  std::string text =
      fmt::format("URLs set aside because the crawl crashed on them: {}\n", urls.size());
  for (std::size_t i = 0; i < std::min(urls.size(), kNamed); ++i)
    text += fmt::format("  {}\n", printable(urls[i]));
  return text + and_more(urls.size(), kNamed);
}

// Expected losses are usually far below one URL.
std::string lost_text(double lost) {
  return lost < 0.001 ? "under 0.001" : fmt::format("about {:.3g}", lost);
}

// Nobody has to know of the filter while it is as good as was asked for.
std::string filter_text(const FrontierStats& stats, Verbosity verbosity) {
  std::string text;
  const bool is_worse = stats.false_positive_rate > stats.filter.target_rate;
  if (is_worse || verbosity == Verbosity::kVerbose) {
    text += fmt::format(
        "filter: {} URLs, room for {}, {:.1f} MiB, false-positive rate {:.2g}{}, URLs lost to "
        "false positives: {}, not counting URLs linked only from lost pages\n",
        stats.admitted, stats.filter.capacity,
        static_cast<double>(stats.filter.memory_bytes) / (1 << 20), stats.false_positive_rate,
        is_worse ? fmt::format(" (above the {:.2g} asked for)", stats.filter.target_rate) : "",
        lost_text(stats.expected_lost));
    if (const auto advice = capacity_advice(stats.filter, "expected_urls"); !advice.empty())
      text += fmt::format("advice: frontier.{}\n", advice);
  }
  if (!stats.filter_warning.empty()) {
    text += fmt::format(
        "warning: the filter could not grow, so its false-positive rate is above "
        "filter.false_positive_rate: {}\n",
        printable(stats.filter_warning));
  }
  if (stats.seen_checked > 0 && (stats.seen_false > 0 || verbosity == Verbosity::kVerbose)) {
    text += fmt::format(
        "ledger: checked {} of the links seen before, {} of them wrongly taken for seen; measured "
        "false-positive rate {:.2g}\n",
        stats.seen_checked, stats.seen_false, stats.measured_false_positive_rate);
  }
  return text;
}

// Of a crawl by several crawlers: the lines above are about this one.
std::string shared_text(const Crawl& crawl, const CrawlProgress& progress) {
  const auto cluster = crawl.cluster();
  // Without totals Redis was out of reach.
  if (!cluster || cluster->totals.admitted == 0) return "";
  const FrontierCounters& whole = progress.crawl;
  const std::uint64_t waiting = whole.open() - std::min(whole.open(), whole.recrawls_deferred);
  std::string text = fmt::format(
      "the crawl {} by all crawlers: {} URLs fetched, {} of them with a status of 2xx, {} still "
      "queued\n",
      crawl.config().cluster.name, whole.completed - std::min(whole.completed, whole.skipped),
      whole.succeeded, waiting);
  if (cluster->rolled_back > 0) {
    text += fmt::format("changes written again after a failover of Redis: {} batches\n",
                        cluster->rolled_back);
  }
  if (cluster->over_limit > 0) {
    text += fmt::format("links of other crawlers beyond scope.max_urls_per_host: {}\n",
                        cluster->over_limit);
  }
  return text;
}

// What is kept of the pages, which a first crawl may not expect.
std::string output_text(const Crawl& crawl) {
  const CrawlConfig::Output output = crawl.config().output;
  const std::string place = crawl.pages_path();
  if (!output.warc && !output.files) {
    if (!output.pages) return "output: none; set output.pages, files or warc to keep any\n";
    return fmt::format(
        "output: {}, a line for each URL; the pages themselves are not kept (--save keeps them as "
        "files, --warc in WARC files)\n",
        place);
  }
  std::string kept = output.pages ? "pages.jsonl, a line for each URL" : "";
  if (output.files) kept += kept.empty() ? "the pages as files" : "; the pages as files";
  if (output.warc) kept += kept.empty() ? "the pages in WARC files" : "; the pages in WARC files";
  return fmt::format("output: {}: {}\n", place.substr(0, place.rfind('/')), kept);
}

}  // namespace

std::string crawl_summary(const Crawl& crawl, Verbosity verbosity) {
  const CrawlProgress progress = crawl.progress();
  const FrontierStats& stats = progress.frontier;
  const TallyTotals all = crawl.tally().totals();
  std::string text = redirected_text(crawl) + failed_seeds_text(crawl) +
                     fetched_text(crawl.tally().of_this_run(), all, progress.elapsed) +
                     classes_text(all) + kinds_text(all) + failures_text(all);
  if (crawl.fetches().retries() > 0)
    text += fmt::format("retries: {}\n", crawl.fetches().retries());
  if (crawl.fetches().not_modified() > 0)
    text += fmt::format("pages not modified: {}\n", crawl.fetches().not_modified());
  text += skipped_text(crawl);
  if (crawl.cluster()) {
    text += shared_text(crawl, progress);
  } else {
    text += fmt::format("still queued {}, links seen before {}\n",
                        stats.queued + stats.leased + stats.deferred - stats.recrawls_deferred,
                        stats.seen);
  }
  text +=
      waiting_text(crawl, stats) + crashed_text(crawl.crashed()) + filter_text(stats, verbosity);
  text += fmt::format("peak memory: {}\n", readable_bytes(peak_memory()));
  return text + output_text(crawl);
}

}  // namespace trawl::cli
