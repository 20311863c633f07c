// Pages: lease a URL, complete it with the links found.
#include <algorithm>

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

constexpr std::size_t kLinks = 10;
constexpr std::size_t kLeasesAtOnce = 64;

// Completes `pages` pages, each with `new_links` links to new pages and the others to known ones.
// URLs from number `next` on are new.
void crawl(Frontier& frontier, const UrlMaker& maker, std::uint64_t pages, std::size_t new_links,
           std::uint64_t next) {
  UrlBatch links(maker, kLinks);
  Random random(3);
  for (std::uint64_t done = 0; done < pages;) {
    const auto leases = value_or_exit(
        frontier.lease({.max = std::min<std::uint64_t>(kLeasesAtOnce, pages - done)}));
    for (const Lease& lease : leases) {
      links.clear();
      for (std::size_t i = 0; i < kLinks; ++i)
        links.add(i < new_links ? next++ : random.below(next));
      value_or_exit(frontier.complete(lease.id, {.status = 200}, links.get()));
    }
    done += leases.size();
  }
  value_or_exit(frontier.flush());
}

void measure(const Settings& settings, const char* what, std::size_t new_links, bool required) {
  const std::uint64_t queued = settings.urls / 10;
  const std::uint64_t pages = new_links > 1 ? queued / 4 : queued * 9 / 10;
  const UrlMaker maker(settings.hosts);
  EmbeddedOptions options = default_options(settings);
  FreshFrontier frontier(options);
  offer_all(*frontier, maker, {.new_urls = queued, .threads = 2});
  wait_until_quiet();
  const Usage before = Usage::now();
  crawl(*frontier, maker, pages, new_links, queued);
  const Usage used = Usage::now() - before;
  const Usage quiet = wait_until_quiet() - before;
  const auto n = static_cast<double>(pages);
  row(what, "%10.0f pages/s; CPU a page %.1f us, with compaction behind it %.1f us%s",
      n / used.wall, 1e6 * used.cpu / n, 1e6 * quiet.cpu / n,
      required ? "  must be >= 60,000" : "");
}

}  // namespace

void bench_pages(const Settings& settings) {
  heading("lease + complete with 10 links, one thread, queue of 10^6 over 100,000 hosts, no delay");
  measure(settings, "9 links known, 1 new", 1, true);
  measure(settings, "10 known", 0, false);
  measure(settings, "10 new", kLinks, false);
}

}  // namespace trawl::bench
