// Depths: the cost of known URLs and leases with noted depths, before and after a restart.
#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

constexpr std::size_t kBatch = 1000;
constexpr std::size_t kLeases = 1000;
constexpr int kRounds = 9;
constexpr std::uint32_t kNone = 100;  // subtracting this gives depth 0

// Each host has URLs of all depths.
std::uint32_t depth_of(std::uint64_t url) {
  return static_cast<std::uint32_t>(url * 0x9E3779B97F4A7C15 >> 32) % 8;
}

void offer_batch(Frontier& frontier, UrlBatch& batch, std::uint64_t first, std::uint64_t step,
                 std::uint32_t less) {
  std::vector<UrlRequest> requests(batch.get().begin(), batch.get().end());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint32_t depth = depth_of(first + i * step);
    requests[i].depth = depth - std::min(less, depth);
  }
  value_or_exit(frontier.offer(requests));
}

// Offers every `step`-th of the first `urls` URLs.
void offer_every(Frontier& frontier, const UrlMaker& maker, std::uint64_t urls, std::uint64_t step,
                 std::uint32_t less) {
  UrlBatch batch(maker, kBatch);
  for (std::uint64_t url = 0; url < urls;) {
    batch.clear();
    const std::uint64_t first = url;
    for (std::size_t i = 0; i < kBatch && url < urls; ++i, url += step)
      batch.add(url);
    offer_batch(frontier, batch, first, step, less);
  }
}

struct Cost {
  double offer = 0;  // CPU s
  double bytes = 0;  // written with write(2), per URL
};

// The least of several rounds, since other programs only add to the cost.
Cost cost_of_known(Frontier& frontier, const UrlMaker& maker, std::uint64_t urls,
                   std::uint32_t less) {
  Cost cost{.offer = 1};
  const auto offers = static_cast<double>(urls / 3);
  for (int round = 0; round < kRounds; ++round) {
    const Usage before = Usage::now();
    offer_every(frontier, maker, urls, 3, less);
    const Usage used = Usage::now() - before;
    cost.offer = std::min(cost.offer, used.cpu / offers);
    cost.bytes += static_cast<double>(used.written) / kRounds / offers;
  }
  return cost;
}

// The median of several rounds, since each round leases other URLs.
double cost_of_leases(Frontier& frontier, std::uint64_t leases_a_round) {
  std::vector<double> costs;
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t n = 0;
    const Usage before = Usage::now();
    while (n < leases_a_round) {
      const auto leases = value_or_exit(frontier.lease({.max = kLeases}));
      if (leases.empty()) break;
      n += leases.size();
      for (const Lease& lease : leases)
        value_or_exit(frontier.complete(lease.id, {.status = 200}, {}));
    }
    value_or_exit(frontier.flush());
    costs.push_back((Usage::now() - before).cpu /
                    static_cast<double>(std::max<std::uint64_t>(n, 1)));
  }
  std::ranges::nth_element(costs, costs.begin() + kRounds / 2);
  return costs[kRounds / 2];
}

struct Costs {
  Cost before, after;  // a restart
  double leases_before = 0;
  double leases_after = 0;
  double opening = 0;
};

// Without `depths` all depths are 0, which cost nothing.
Costs measure(const Settings& settings, std::uint32_t hosts, bool depths) {
  Costs costs;
  const std::uint64_t urls = std::min<std::uint64_t>(settings.urls, 1'000'000);
  const UrlMaker maker(hosts);
  EmbeddedOptions options = default_options(settings);
  options.seen.expected_urls = urls;
  std::filesystem::remove_all(options.directory);
  auto frontier = value_or_exit(EmbeddedFrontier::open(options));
  const std::uint32_t less = depths ? 0 : kNone;
  offer_every(*frontier, maker, urls, 1, less);
  // One URL in a hundred is found with a smaller depth: from here on there are notes.
  offer_every(*frontier, maker, urls, 100, less + 1);
  wait_until_quiet();
  costs.before = cost_of_known(*frontier, maker, urls, less);
  costs.leases_before = cost_of_leases(*frontier, urls / 40);
  value_or_exit(frontier->close());
  frontier.reset();
  const Usage start = Usage::now();
  frontier = value_or_exit(EmbeddedFrontier::open(options));
  costs.opening = (Usage::now() - start).cpu;
  wait_until_quiet();
  costs.after = cost_of_known(*frontier, maker, urls, less);
  costs.leases_after = cost_of_leases(*frontier, urls / 40);
  frontier.reset();
  std::filesystem::remove_all(options.directory);
  return costs;
}

void bench_depths(const Settings& settings, std::uint32_t hosts) {
  const Costs none = measure(settings, hosts, false);
  const Costs costs = measure(settings, hosts, true);
  const std::string of = ", " + std::to_string(hosts) + " hosts";
  row(("CPU of a known URL at its own depth" + of).c_str(),
      "%6.0f ns; after a restart %.0f ns; ratio %.2f  must be <= %s; without depths %.0f, %.0f ns",
      1e9 * costs.before.offer, 1e9 * costs.after.offer, costs.after.offer / costs.before.offer,
      hosts > 100'000 ? "1.5" : "1.3", 1e9 * none.before.offer, 1e9 * none.after.offer);
  row("bytes written for it", "%8.2f; after a restart %.2f  must be 0", costs.before.bytes,
      costs.after.bytes);
  row(("CPU of a lease and its end" + of).c_str(),
      "%6.0f ns; after a restart %.0f ns; ratio %.2f  must be <= 1.5; without depths %.0f, %.0f ns",
      1e9 * costs.leases_before, 1e9 * costs.leases_after, costs.leases_after / costs.leases_before,
      1e9 * none.leases_before, 1e9 * none.leases_after);
  row("CPU of opening, 1,000,000 queued", "%8.2f s; without depths %.2f s", costs.opening,
      none.opening);
}

}  // namespace

void bench_depths(const Settings& settings) {
  heading("Depths from 0 to 7 on every host, 1 % found nearer later; a restart");
  bench_depths(settings, 1'000);
  bench_depths(settings, 200'000);
}

}  // namespace trawl::bench
