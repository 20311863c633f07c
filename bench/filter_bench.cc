// The blocked filter against the limits of memory: random reads and read-modify-writes of the same
// number of cache lines, with the same prefetch distance, over the same amount of memory.
//
//   filter_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include "trawl/blocked_bloom_filter.h"

#include "base/mix.h"

namespace trawl {
namespace {

constexpr std::uint64_t kCapacity = 100'000'000;
constexpr double kRate = 1e-4;
constexpr std::size_t kBatch = 1024;
constexpr std::size_t kAhead = 16;

Fingerprint nth_key(std::uint64_t n) {
  return {.high = mix64(2 * n), .low = mix64(2 * n + 1)};
}

// Half full before the first measurement, so that its memory is allocated.
BlockedBloomFilter& shared_filter() {
  static BlockedBloomFilter filter = [] {
    auto made =
        BlockedBloomFilter::create({.capacity = kCapacity, .false_positive_rate = kRate}).value();
    for (std::uint64_t n = 0; n < kCapacity / 2; ++n)
      made.insert(nth_key((1ull << 42) + n));
    return made;
  }();
  return filter;
}

std::vector<Fingerprint> next_keys(std::uint64_t& n) {
  std::vector<Fingerprint> keys(kBatch);
  for (auto& key : keys)
    key = nth_key(n++);
  return keys;
}

struct Line {
  std::uint64_t words[8];
};

// As much memory as the filter has, touched.
class Lines {
 public:
  Lines() : count_(shared_filter().stats().memory_bytes / sizeof(Line)) {
    void* memory = ::mmap(nullptr, count_ * sizeof(Line), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(memory, count_ * sizeof(Line), MADV_HUGEPAGE);
    lines_ = static_cast<Line*>(memory);
    for (std::uint64_t i = 0; i < count_; ++i)
      lines_[i].words[0] = i;
  }
  Line& of(Fingerprint key) { return lines_[scale_to(key.high, count_)]; }
  static Lines& shared() {
    static Lines lines;
    return lines;
  }

 private:
  std::uint64_t count_;
  Line* lines_;
};

template <class Visit>
void over_lines(benchmark::State& state, Visit visit) {
  Lines& lines = Lines::shared();
  std::uint64_t n = 1ull << 40;
  for (auto _ : state) {
    state.PauseTiming();
    const auto keys = next_keys(n);
    state.ResumeTiming();
    for (std::size_t i = 0; i < kAhead; ++i)
      __builtin_prefetch(&lines.of(keys[i]), 1);
    for (std::size_t i = 0; i < kBatch; ++i) {
      if (i + kAhead < kBatch) __builtin_prefetch(&lines.of(keys[i + kAhead]), 1);
      visit(lines.of(keys[i]));
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}

void LineReads(benchmark::State& state) {
  std::uint64_t sum = 0;
  over_lines(state, [&](Line& line) { sum += line.words[3]; });
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(LineReads);

void LineReadModifyWrites(benchmark::State& state) {
  over_lines(state, [](Line& line) { line.words[3] |= 1; });
}
BENCHMARK(LineReadModifyWrites);

void InsertBatchOfNewKeys(benchmark::State& state) {
  static std::uint64_t n = 0;
  BlockedBloomFilter& filter = shared_filter();
  const auto admitted = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    const auto keys = next_keys(n);
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.insert_batch(keys, {admitted.get(), kBatch}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK(InsertBatchOfNewKeys);

void InsertBatchOfKnownKeys(benchmark::State& state) {
  std::uint64_t n = 0;
  BlockedBloomFilter& filter = shared_filter();
  const auto admitted = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Fingerprint> keys(kBatch);
    for (auto& key : keys)
      key = nth_key((1ull << 42) + mix64(++n) % (kCapacity / 2));
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.insert_batch(keys, {admitted.get(), kBatch}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK(InsertBatchOfKnownKeys);

// A crawl's mix: of ten keys one is new, nine were inserted before.
void InsertBatchOfTenPercentNew(benchmark::State& state) {
  static std::uint64_t n = 1ull << 44;
  std::uint64_t old = 0;
  BlockedBloomFilter& filter = shared_filter();
  const auto admitted = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Fingerprint> keys(kBatch);
    for (auto& key : keys) {
      const std::uint64_t draw = mix64(++old);
      key = draw % 10 == 0 ? nth_key(n++) : nth_key((1ull << 42) + draw % (kCapacity / 2));
    }
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.insert_batch(keys, {admitted.get(), kBatch}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK(InsertBatchOfTenPercentNew);

// Each thread inserts different new keys: the keys a second of all threads, against those of one.
void InsertBatchByThreads(benchmark::State& state) {
  static std::atomic<std::uint64_t> next{1ull << 46};
  BlockedBloomFilter& filter = shared_filter();
  const auto admitted = std::make_unique<bool[]>(kBatch);
  // Created outside of the loop, since pausing the clock is too expensive with several threads.
  std::uint64_t n = next.fetch_add(1ull << 32);
  std::vector<std::vector<Fingerprint>> batches(2'000);
  for (auto& batch : batches)
    batch = next_keys(n);
  std::size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        filter.insert_batch(batches[i++ % batches.size()], {admitted.get(), kBatch}));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK(InsertBatchByThreads)->Iterations(2'000)->Threads(1)->UseRealTime();
BENCHMARK(InsertBatchByThreads)->Iterations(2'000)->Threads(2)->UseRealTime();

void ContainsBatchOfAbsentKeys(benchmark::State& state) {
  std::uint64_t n = 1ull << 41;
  const BlockedBloomFilter& filter = shared_filter();
  const auto found = std::make_unique<bool[]>(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    const auto keys = next_keys(n);
    state.ResumeTiming();
    benchmark::DoNotOptimize(filter.contains_batch(keys, {found.get(), kBatch}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kBatch));
}
BENCHMARK(ContainsBatchOfAbsentKeys);

}  // namespace
}  // namespace trawl
