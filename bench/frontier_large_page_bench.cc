// A page with very many links: what it costs those who call the frontier meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

constexpr std::size_t kLinksOfSmallPage = 10;
constexpr std::size_t kLinksOfLargePage = 100'000;
constexpr std::uint64_t kLargePages = 10;
constexpr std::uint64_t kQueued = 200'000;

struct Times {
  std::vector<double> ms;
  void show(const char* what) {
    std::ranges::sort(ms);
    const auto at = [&](double share) {
      return ms[static_cast<std::size_t>(share * static_cast<double>(ms.size() - 1))];
    };
    row(what, "p50 %.3f ms, p99 %.3f ms, at worst %.3f ms (%zu calls)", at(0.5), at(0.99), at(1),
        ms.size());
  }
  template <class Call>
  auto measure(Call&& call) {
    const auto start = std::chrono::steady_clock::now();
    auto result = call();
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                     .count());
    return result;
  }
};

// What one thread does while `more` is true: pages of ten links, half of them new, and offers of as
// many that wait until they are durable.
void work(Frontier& frontier, const UrlMaker& maker, std::uint64_t& next,
          const std::atomic<bool>& more, const char* when) {
  Times leases, completes, offers;
  UrlBatch links(maker, kLinksOfSmallPage);
  Random random(5);
  while (more) {
    const auto leased = leases.measure([&] { return value_or_exit(frontier.lease({.max = 4})); });
    const auto make_links = [&] {
      links.clear();
      for (std::size_t i = 0; i < kLinksOfSmallPage; ++i)
        links.add(i % 2 == 0 ? next++ : random.below(next));
    };
    for (const Lease& lease : leased) {
      make_links();
      completes.measure(
          [&] { return value_or_exit(frontier.complete(lease.id, {.status = 200}, links.get())); });
    }
    make_links();
    offers.measure([&] { return value_or_exit(frontier.offer(links.get())); });
  }
  std::printf("  %s\n", when);
  leases.show("  lease");
  completes.show("  complete, 10 links");
  offers.show("  offer, 10 URLs, durable");
}

}  // namespace

void bench_large_page(const Settings& settings) {
  heading("pages of 100,000 new links, and another thread meanwhile");
  const UrlMaker maker(settings.hosts);
  FreshFrontier frontier(default_options(settings));
  offer_all(*frontier, maker, {.new_urls = kQueued, .threads = 2});
  std::uint64_t next = kQueued;
  {
    std::atomic<bool> more{true};
    std::thread other([&] { work(*frontier, maker, next, more, "alone:"); });
    std::this_thread::sleep_for(std::chrono::seconds(2));
    more = false;
    other.join();
  }
  std::atomic<bool> more{true};
  std::thread other([&] { work(*frontier, maker, next, more, "meanwhile:"); });
  Times pages;
  const UrlMaker one_host(1);
  UrlBatch links(one_host, kLinksOfLargePage);
  std::uint64_t large = 5'000'000'000;
  for (std::uint64_t page = 0; page < kLargePages; ++page) {
    links.clear();
    for (std::size_t i = 0; i < kLinksOfLargePage; ++i)
      links.add(large++);
    const auto lease = value_or_exit(frontier->lease({.max = 1})).at(0);
    pages.measure(
        [&] { return value_or_exit(frontier->complete(lease.id, {.status = 200}, links.get())); });
  }
  value_or_exit(frontier->flush());
  more = false;
  other.join();
  pages.show("complete, 100,000 links");
}

}  // namespace trawl::bench
