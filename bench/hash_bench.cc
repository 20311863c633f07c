// The keyed hash on strings of real links' lengths, against SipHash-1-3, and against XXH3, which is
// not keyed and shows the limit of the machine.
//
//   TRAWL_TEST_DATA=... hash_bench --benchmark_repetitions=9
//       --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <xxhash.h>

#include "trawl/fingerprint.h"

namespace trawl {
namespace {

// The links one after the other in memory, as in a page.
class Links {
 public:
  Links() {
    std::vector<std::size_t> lengths;
    if (const char* folder = std::getenv("TRAWL_TEST_DATA")) {
      std::ifstream file(std::string(folder) + "/url/links-48k.txt");
      for (std::string line; std::getline(file, line); text_ += line)
        lengths.push_back(line.size());
    }
    const char* at = text_.data();
    for (const std::size_t length : lengths) {
      links_.emplace_back(at, length);
      at += length;
    }
  }

  const std::vector<std::string_view>& all() const { return links_; }
  std::size_t bytes() const { return text_.size(); }

 private:
  std::string text_;
  std::vector<std::string_view> links_;
};

const Links& links() {
  static const Links all;
  return all;
}

struct Keyed {
  KeyedHash hash = KeyedHash::from_seed(1);
  Fingerprint operator()(std::string_view bytes) const { return hash(bytes); }
};

struct Xxh3 {
  [[gnu::noinline]] Fingerprint operator()(std::string_view bytes) const {
    const XXH128_hash_t value = XXH3_128bits(bytes.data(), bytes.size());
    return {.high = value.high64, .low = value.low64};
  }
};

void report(benchmark::State& state) {
  const auto count = static_cast<double>(links().all().size());
  state.SetBytesProcessed(static_cast<std::int64_t>(links().bytes()) * state.iterations());
  state.counters["ns_per_link"] = benchmark::Counter(
      count * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Throughput: a hash does not depend on the previous one, as in a batch of links.
template <class Hash>
void BM_Throughput(benchmark::State& state) {
  if (links().all().empty()) return state.SkipWithError("TRAWL_TEST_DATA has no url/links-48k.txt");
  const Hash hash;
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (const std::string_view link : links().all()) {
      const Fingerprint value = hash(link);
      sum += value.high ^ value.low;
    }
    benchmark::DoNotOptimize(sum);
  }
  report(state);
}

// Latency: each hash depends on the previous one's value.
template <class Hash>
void BM_Latency(benchmark::State& state) {
  if (links().all().empty()) return state.SkipWithError("TRAWL_TEST_DATA has no url/links-48k.txt");
  const Hash hash;
  std::uint64_t none = 0;
  benchmark::DoNotOptimize(none);
  for (auto _ : state) {
    std::uint64_t shift = 0;
    for (const std::string_view link : links().all()) {
      const Fingerprint value = hash({link.data() + shift, link.size()});
      shift = (value.high ^ value.low) & none;
    }
    benchmark::DoNotOptimize(shift);
  }
  report(state);
}

BENCHMARK(BM_Throughput<Keyed>);
BENCHMARK(BM_Throughput<Xxh3>);
BENCHMARK(BM_Latency<Keyed>);
BENCHMARK(BM_Latency<Xxh3>);

void BM_LongInput(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  const Keyed hash;
  for (auto _ : state)
    benchmark::DoNotOptimize(hash(bytes));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
}
BENCHMARK(BM_LongInput)->Arg(2083)->Arg(1 << 20);

}  // namespace
}  // namespace trawl
