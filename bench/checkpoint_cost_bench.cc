// What checkpoints cost a crawl of a billion URLs: bytes written a day, and the time to close and
// to open.
//
//   checkpoint_cost_bench [--known N] [--rate URLS_PER_SECOND] [--days N] [--urls N]
//                         [--expected-urls N] [--checkpoints N] [--directory DIR]
//
// First a simulation: the frontier's own rule (CheckpointRule) with a simulated clock, and the
// filter's own sizes. Then a real frontier of `urls` URLs with a max_replay that makes so many
// checkpoints due, whose files are compared with what the simulation says for it (a filter that is
// nearly empty has smaller files), and which is closed, perhaps while one is being written, and
// opened again after it was left without closing.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"
#include "trawl/growing_bloom_filter.h"

#include "frontier/recovery/checkpoint_rule.h"

namespace {

using Clock = std::chrono::steady_clock;
using trawl::EmbeddedFrontier;
using trawl::EmbeddedOptions;
using trawl::Frontier;
using trawl::GrowingBloomFilter;
using trawl::Result;

constexpr double kReplayed = 3.5e6;  // a second
constexpr double kDay = 86'400;
constexpr double kGB = 1e9;

struct Settings {
  std::uint64_t known = 1'000'000'000;
  double rate = 5'000;
  int days = 3;
  std::uint64_t urls = 5'000'000;
  std::uint64_t expected_urls = 0;  // 0: a hundredth of `urls`
  double checkpoints = 30;
  std::filesystem::path directory = "checkpoint_cost_bench.state";
};

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "checkpoint_cost_bench: {}\n", result.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The layers that a filter grows into.
class Layers {
 public:
  explicit Layers(const GrowingBloomFilter::Options& options) : options_(options) {}
  // Of the filter with so many keys: the number of its layers, and the bytes of one.
  std::size_t count(std::uint64_t keys) {
    while (ends_.empty() || ends_.back().keys < keys) {
      const auto stats = must(
          GrowingBloomFilter::expected_stats(options_, ends_.empty() ? 1 : ends_.back().keys + 1));
      ends_.push_back({stats.capacity, stats.memory_bytes});
    }
    const auto end = std::ranges::lower_bound(ends_, keys, {}, &End::keys);
    return static_cast<std::size_t>(end - ends_.begin()) + 1;
  }
  std::uint64_t bytes(std::size_t layer) const {
    return ends_[layer].bytes - (layer == 0 ? 0 : ends_[layer - 1].bytes);
  }
  std::uint64_t all_bytes(std::uint64_t keys) { return ends_[count(keys) - 1].bytes; }

 private:
  struct End {
    std::uint64_t keys;  // with which it is full
    std::uint64_t bytes;
  };
  const GrowingBloomFilter::Options options_;
  std::vector<End> ends_;
};

struct Cost {
  std::uint64_t checkpoints = 0;
  std::uint64_t newest = 0;  // bytes of newest layers
  std::uint64_t full = 0;    // bytes of layers that had become full
  double total() const { return static_cast<double>(newest + full); }
};

// The checkpoints of a crawl by the clock of its admissions.
class Simulation {
 public:
  Simulation(const GrowingBloomFilter::Options& filter, const trawl::CheckpointRule& rule,
             std::uint64_t known)
      : layers_(filter), rule_(rule), admitted_(known), covered_(known) {
    full_ = layers_.count(known) - 1;
  }

  Cost admit(std::uint64_t urls) {
    Cost cost;
    const std::uint64_t end = admitted_ + urls;
    while (true) {
      const std::uint64_t due = covered_ + rule_.most_uncovered(kReplayed);
      if (due > end) break;
      admitted_ = due;
      if (!rule_.is_due(
              {.admitted = admitted_, .covered = covered_, .replayed_per_second = kReplayed}))
        std::abort();
      covered_ = admitted_;
      ++cost.checkpoints;
      const std::size_t layers = layers_.count(admitted_);
      for (; full_ < layers - 1; ++full_)
        cost.full += layers_.bytes(full_);
      cost.newest += layers_.bytes(layers - 1);
    }
    admitted_ = end;
    return cost;
  }
  std::uint64_t filter_bytes() { return layers_.all_bytes(admitted_); }

 private:
  Layers layers_;
  const trawl::CheckpointRule rule_;
  std::uint64_t admitted_;
  std::uint64_t covered_;
  std::size_t full_;
};

void simulate(const Settings& settings) {
  const trawl::CheckpointRule rule = trawl::CheckpointRule::of({});
  Simulation crawl({}, rule, settings.known);
  fmt::print("simulated: {} URLs known, {} new ones a second, a filter begun for {} URLs\n",
             settings.known, settings.rate, GrowingBloomFilter::Options{}.capacity);
  fmt::print("a checkpoint after {} URLs, {:.1f} hours\n", rule.most_uncovered(kReplayed),
             static_cast<double>(rule.most_uncovered(kReplayed)) / settings.rate / 3600);
  for (int day = 1; day <= settings.days; ++day) {
    const Cost cost = crawl.admit(static_cast<std::uint64_t>(settings.rate * kDay));
    fmt::print(
        "day {}: {} checkpoints, {:.1f} GB of newest layers, {:.1f} GB of full ones: "
        "{:.1f} GB; the filter has {:.1f} GB\n",
        day, cost.checkpoints, static_cast<double>(cost.newest) / kGB,
        static_cast<double>(cost.full) / kGB, cost.total() / kGB,
        static_cast<double>(crawl.filter_bytes()) / kGB);
  }
}

// The real frontier.
class Run {
 public:
  explicit Run(const Settings& settings) : settings_(settings) {
    options_.directory = settings.directory;
    options_.seen.expected_urls =
        settings.expected_urls > 0 ? settings.expected_urls : settings.urls / 100;
    const double replay = static_cast<double>(settings.urls) / kReplayed / settings.checkpoints;
    options_.checkpoints.max_replay =
        std::chrono::milliseconds(static_cast<std::int64_t>(replay * 1e3));
    options_.checkpoints.on_taken = [this](const trawl::CheckpointEvent& event) {
      must(Result<void>(event.result));
      note_files();
      ++taken_;
    };
  }

  void run() {
    must(EmbeddedFrontier::remove(settings_.directory));
    open();
    offer(0, settings_.urls);
    // One that is due is under way, or not.
    auto start = Clock::now();
    must(frontier_->close());
    const double closing = seconds_since(start);
    note_files();
    frontier_.reset();
    compare();
    options_.checkpoints.max_replay = std::chrono::hours(1);
    start = Clock::now();
    open();
    fmt::print("opened in {:.2f} s ({} URLs replayed)\n", seconds_since(start), opened_.replayed);
    start = Clock::now();
    must(frontier_->checkpoint());
    fmt::print("a checkpoint took {:.1f} s\n", seconds_since(start));
    offer(settings_.urls, settings_.urls + settings_.urls / 50);
    frontier_.reset();  // as a kill leaves it
    options_.checkpoints.on_taken = {};
    start = Clock::now();
    open();
    fmt::print("closed in {:.2f} s, opened after a kill in {:.2f} s ({} URLs replayed)\n", closing,
               seconds_since(start), opened_.replayed);
    frontier_.reset();
    must(EmbeddedFrontier::remove(settings_.directory));
  }

 private:
  void open() { frontier_ = must(EmbeddedFrontier::open(options_, &opened_)); }
  void note_files() {
    for (const auto& entry : std::filesystem::directory_iterator(settings_.directory)) {
      const auto extension = entry.path().extension();
      if (extension == ".ckpt" || extension == ".layer")
        files_.emplace(entry.path().filename().string(), entry.file_size());
    }
  }
  void offer(std::uint64_t first, std::uint64_t end) {
    constexpr std::uint64_t kAtOnce = 1000;
    std::vector<std::string> urls(kAtOnce);
    std::vector<trawl::UrlRequest> requests(kAtOnce);
    for (std::uint64_t n = first; n < end; n += kAtOnce) {
      for (std::uint64_t i = 0; i < kAtOnce; ++i) {
        urls[i] = fmt::format("https://www.host-{}.example/{:08x}", (n + i) % 1000, n + i);
        requests[i].url = urls[i];
      }
      must(frontier_->offer(requests));
    }
  }
  void compare() {
    Simulation crawl({.capacity = options_.seen.expected_urls,
                      .false_positive_rate = options_.seen.false_positive_rate},
                     trawl::CheckpointRule::of(options_.checkpoints), 0);
    const Cost cost = crawl.admit(settings_.urls);
    std::uint64_t written = 0;
    for (const auto& [name, bytes] : files_)
      written += bytes;
    fmt::print(
        "a real frontier, {} URLs: {} checkpoints of {:.1f} MB; simulated: {} of {:.1f} MB\n",
        settings_.urls, taken_, static_cast<double>(written) / 1e6, cost.checkpoints,
        cost.total() / 1e6);
  }

  const Settings settings_;
  EmbeddedOptions options_;
  trawl::OpenReport opened_;
  std::unique_ptr<Frontier> frontier_;
  std::map<std::string, std::uint64_t> files_;  // of the checkpoint thread, then of run()
  int taken_ = 0;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--known") settings.known = static_cast<std::uint64_t>(std::atof(value));
    if (name == "--rate") settings.rate = std::atof(value);
    if (name == "--days") settings.days = std::atoi(value);
    if (name == "--urls") settings.urls = static_cast<std::uint64_t>(std::atof(value));
    if (name == "--expected-urls")
      settings.expected_urls = static_cast<std::uint64_t>(std::atof(value));
    if (name == "--checkpoints") settings.checkpoints = std::atof(value);
    if (name == "--directory") settings.directory = value;
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  simulate(settings);
  if (settings.urls > 0) Run(settings).run();
}
