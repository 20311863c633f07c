// Compares all kinds of filters: 10^7 keys at 1e-4, one thread.
//
//   filter_family_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/classic_bloom_filter.h"
#include "trawl/counting_bloom_filter.h"
#include "trawl/cuckoo_filter.h"
#include "trawl/growing_bloom_filter.h"

#include "base/mix.h"

namespace trawl {
namespace {

constexpr std::uint64_t kCapacity = 10'000'000;
constexpr std::size_t kBatch = 1024;
constexpr std::uint64_t kHalf = kCapacity / 2;

Fingerprint nth_key(std::uint64_t n) {
  return {.high = mix64(2 * n), .low = mix64(2 * n + 1)};
}

std::vector<Fingerprint> keys_from(std::uint64_t first) {
  std::vector<Fingerprint> keys(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i)
    keys[i] = nth_key(first + i);
  return keys;
}

template <class Filter>
Filter half_full() {
  auto filter = Filter::create({.capacity = kCapacity, .false_positive_rate = 1e-4}).value();
  const auto answers = std::make_unique<bool[]>(kBatch);
  for (std::uint64_t n = 0; n < kHalf; n += kBatch)
    benchmark::DoNotOptimize(filter.insert_batch(keys_from(n), {answers.get(), kBatch}));
  return filter;
}

void report(benchmark::State& state, const FilterStats& stats) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
  state.counters["bits_per_key"] =
      8 * static_cast<double>(stats.memory_bytes) / static_cast<double>(kCapacity);
}

// From half full to full: a full filter is replaced by a new one.
template <class Filter>
void InsertBatch(benchmark::State& state) {
  auto filter = half_full<Filter>();
  std::uint64_t n = kHalf;
  const auto answers = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    if (n + kBatch > kCapacity) {
      filter = half_full<Filter>();
      n = kHalf;
    }
    const auto keys = keys_from(n);
    n += kBatch;
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.insert_batch(keys, {answers.get(), kBatch}));
  }
  report(state, filter.stats());
}

template <class Filter, bool kPresent>
void ContainsBatch(benchmark::State& state) {
  const auto filter = half_full<Filter>();
  std::uint64_t n = 0;
  const auto answers = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    // In another order, so that keys that are near each other were not inserted together.
    std::vector<Fingerprint> keys(kBatch);
    for (auto& key : keys)
      key = nth_key(kPresent ? mix64(n++) % kHalf : (1ull << 40) + n++);
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.contains_batch(keys, {answers.get(), kBatch}));
  }
  report(state, filter.stats());
}

template <class Filter>
void Erase(benchmark::State& state) {
  auto filter = half_full<Filter>();
  std::uint64_t n = 0;
  for (auto _ : state) {
    state.PauseTiming();
    if (n + kBatch > kHalf) {
      filter = half_full<Filter>();
      n = 0;
    }
    const auto keys = keys_from(n);
    n += kBatch;
    state.ResumeTiming();
    for (const Fingerprint key : keys)
      benchmark::DoNotOptimize(filter.erase(key));
  }
  report(state, filter.stats());
}

#define TRAWL_BENCH_FILTER(Filter)          \
  BENCHMARK(InsertBatch<Filter>);           \
  BENCHMARK((ContainsBatch<Filter, true>)); \
  BENCHMARK((ContainsBatch<Filter, false>))
TRAWL_BENCH_FILTER(BlockedBloomFilter);
TRAWL_BENCH_FILTER(GrowingBloomFilter);
TRAWL_BENCH_FILTER(ClassicBloomFilter);
TRAWL_BENCH_FILTER(CountingBloomFilter);
TRAWL_BENCH_FILTER(CuckooFilter);
BENCHMARK(Erase<CountingBloomFilter>);
BENCHMARK(Erase<CuckooFilter>);

}  // namespace
}  // namespace trawl
