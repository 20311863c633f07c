// Offers and leases by several threads.
#include <algorithm>
#include <atomic>

#include "bench/frontier_bench.h"

namespace trawl::bench {

void offer_all(Frontier& frontier, const UrlMaker& maker, const OfferLoad& load) {
  const auto work = [&](unsigned thread) {
    UrlBatch batch(maker, load.batch);
    Random random(thread + 1);
    unsigned until_new = 0;
    const std::uint64_t end = load.first + load.new_urls;
    std::uint64_t next = load.first + thread;
    while (next < end) {
      batch.clear();
      for (std::size_t i = 0; i < load.batch && next < end; ++i) {
        until_new += load.new_share;
        if (until_new >= 100) {
          until_new -= 100;
          batch.add(next);
          next += load.threads;
        } else {
          batch.add(load.known + random.below(std::max<std::uint64_t>(next - load.known, 1)));
        }
      }
      value_or_exit(frontier.offer(batch.get()));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < load.threads; ++thread)
    threads.emplace_back(work, thread);
  for (auto& thread : threads)
    thread.join();
}

void complete_all(Frontier& frontier, std::uint64_t pages, unsigned threads) {
  constexpr std::size_t kLeasesAtOnce = 64;
  std::atomic<std::int64_t> left{static_cast<std::int64_t>(pages)};
  const auto work = [&] {
    while (left.load(std::memory_order_relaxed) > 0) {
      const auto leases =
          value_or_exit(frontier.lease({.max = kLeasesAtOnce, .wait = std::chrono::seconds(10)}));
      if (leases.empty()) {
        std::fputs("nothing to lease\n", stderr);
        std::exit(1);
      }
      for (const Lease& lease : leases)
        value_or_exit(frontier.complete(lease.id, {.status = 200}, {}));
      left.fetch_sub(static_cast<std::int64_t>(leases.size()), std::memory_order_relaxed);
    }
  };
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back(work);
  for (auto& thread : running)
    thread.join();
}

}  // namespace trawl::bench
