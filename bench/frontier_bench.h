// Shared by the parts of frontier_bench, and by scale_bench.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "trawl/embedded_frontier.h"

#include "bench/frontier_urls.h"
#include "bench/process_usage.h"

namespace trawl::bench {

struct Settings {
  std::uint64_t urls = 10'000'000;  // distinct URLs of the large parts
  std::uint32_t hosts = 100'000;
  std::uint64_t max_memory = 256u << 20;
  unsigned threads = 2;  // of the parts that say so
  std::filesystem::path directory;
};

// The parts: each opens frontiers in its own directories, and removes them.
void bench_depths(const Settings& settings);
void bench_offers(const Settings& settings);
void bench_duplicates(const Settings& settings);
void bench_new(const Settings& settings);
void bench_pages(const Settings& settings);
void bench_refills(const Settings& settings);
void bench_large_page(const Settings& settings);
void bench_mix(const Settings& settings);
void bench_memory(const Settings& settings);
// A process of bench_memory; returns its exit code.
int run_memory_process(int argc, char** argv);

inline constexpr std::uint64_t kHashSeed = 7;

inline EmbeddedOptions default_options(const Settings& settings) {
  EmbeddedOptions options{.directory = settings.directory / "state"};
  options.seen.expected_urls = settings.urls;
  options.politeness.delay = std::chrono::milliseconds(0);
  options.testing.hash = KeyedHash::from_seed(kHashSeed);
  options.store.max_memory = settings.max_memory;
  return options;
}

template <class T>
T value_or_exit(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "frontier_bench: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// A frontier in a new directory, which the destructor removes.
class FreshFrontier {
 public:
  explicit FreshFrontier(const EmbeddedOptions& options) : directory_(options.directory) {
    std::filesystem::remove_all(directory_);
    frontier_ = value_or_exit(EmbeddedFrontier::open(options));
  }
  ~FreshFrontier() {
    frontier_.reset();
    std::filesystem::remove_all(directory_);
  }
  Frontier* operator->() const { return frontier_.get(); }
  Frontier& operator*() const { return *frontier_; }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  const std::filesystem::path directory_;
  std::unique_ptr<Frontier> frontier_;
};

// Offers by `threads` threads, `batch` URLs a call. Of each hundred URLs `new_share` are new,
// evenly distributed: their numbers ascend from `first` to `first` + `new_urls`. The others are
// random earlier ones from `known` on.
struct OfferLoad {
  std::uint64_t first = 0;
  std::uint64_t known = 0;
  std::uint64_t new_urls = 0;
  unsigned new_share = 100;
  std::size_t batch = 1000;
  unsigned threads = 2;

  std::uint64_t offers() const { return new_urls * 100 / new_share; }
};
// Returns when all are durable.
void offer_all(Frontier& frontier, const UrlMaker& maker, const OfferLoad& load);
// Leases and completes `pages` URLs, without links, and at most 64 more for each thread; as many
// must be queued. Returns when the last call did, which may be before the last completions are
// durable.
void complete_all(Frontier& frontier, std::uint64_t pages, unsigned threads);

// CPU seconds for making one URL, measured separately; subtracted from results.
double cost_of_making_a_url(const UrlMaker& maker);

void heading(const char* text);
// Prints a line: the figure's name, its value, its target.
template <class... Values>
void row(const char* what, const char* format, Values... values) {
  std::printf("  %-58s ", what);
  std::printf(format, values...);
  std::printf("\n");
  std::fflush(stdout);
}

inline double in_mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace trawl::bench
