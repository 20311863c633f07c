// Offers and leases by several threads, and what they cost without the frontier.
#include <algorithm>

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

double cost_of_making_a_url(const UrlMaker& maker) {
  constexpr std::size_t kBatch = 1000;
  constexpr int kBatches = 2000;
  UrlBatch batch(maker, kBatch);
  Random random(1);
  const Usage before = Usage::now();
  for (int i = 0; i < kBatches; ++i) {
    batch.clear();
    for (std::size_t j = 0; j < kBatch; ++j)
      batch.add(random.below(10'000'000));
  }
  return (Usage::now() - before).cpu / (kBatches * static_cast<double>(kBatch));
}

void heading(const char* text) {
  std::printf("\n%s\n", text);
}

void complete_all(Frontier& frontier, std::uint64_t pages, unsigned threads) {
  constexpr std::size_t kLeasesAtOnce = 64;
  const auto work = [&](std::uint64_t share) {
    for (std::uint64_t done = 0; done < share;) {
      const auto leases =
          value_or_exit(frontier.lease({.max = std::min<std::uint64_t>(kLeasesAtOnce, share - done),
                                        .wait = std::chrono::seconds(10)}));
      if (leases.empty()) {
        std::fputs("nothing to lease\n", stderr);
        std::exit(1);
      }
      for (const Lease& lease : leases)
        value_or_exit(frontier.complete(lease.id, {.status = 200}, {}));
      done += leases.size();
    }
  };
  std::vector<std::thread> running;
  for (unsigned thread = 0; thread < threads; ++thread)
    running.emplace_back(work, pages / threads);
  for (auto& thread : running)
    thread.join();
}

}  // namespace trawl::bench
