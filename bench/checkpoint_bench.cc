// The cost of checkpoints for a running crawl: the latency of admissions while checkpoints of a
// large filter are taken one after the other, and while none is taken; and the time to open the
// frontier again.
//
//   checkpoint_bench [--gib N] [--seconds N] [--rounds N] [--directory DIR]
//
// Each call has ten links, like a page, half of them new. "complete" is the call of a crawl: it
// returns when the links are admitted. "offer" also waits until they are durable. Each figure is
// the best of several rounds, the one least disturbed by other programs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "trawl/embedded_frontier.h"
#include "trawl/sizing.h"

namespace {

using Clock = std::chrono::steady_clock;
using trawl::EmbeddedFrontier;
using trawl::EmbeddedOptions;
using trawl::Frontier;
using trawl::Result;

constexpr std::size_t kLinks = 10;
constexpr std::uint64_t kHosts = 100'000;
constexpr std::uint64_t kFilled = 1'000'000;  // URLs, so that no chunk of the filter is empty
constexpr std::uint64_t kReplayed = 1'000'000;
constexpr double kRate = 1e-6;

struct Settings {
  double gib = 1;
  double seconds = 4;  // of each measurement
  int rounds = 3;
  std::filesystem::path directory = "checkpoint_bench.state";
};

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "checkpoint_bench: {}\n", result.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string url(std::uint64_t n) {
  return fmt::format("https://www.host-{}.example/articles/2026/{:08x}/page.html", n % kHosts, n);
}

// Batches of URLs, half of them never seen before.
class Pages {
 public:
  explicit Pages(std::uint64_t first_new) : next_(first_new) {}
  const std::vector<trawl::UrlRequest>& next() {
    urls_.clear();
    requests_.clear();
    for (std::size_t i = 0; i < kLinks; ++i)
      urls_.push_back(url(i % 2 == 0 ? next_++ : (next_ * 7919 + i) % next_));
    for (const std::string& each : urls_)
      requests_.push_back({.url = each});
    return requests_;
  }
  std::uint64_t count() const { return next_; }

 private:
  std::uint64_t next_;
  std::vector<std::string> urls_;
  std::vector<trawl::UrlRequest> requests_;
};

void offer_new(Frontier& frontier, std::uint64_t first, std::uint64_t end) {
  constexpr std::uint64_t kAtOnce = 1000;
  std::vector<std::string> urls;
  std::vector<trawl::UrlRequest> requests;
  for (std::uint64_t n = first; n < end; n += kAtOnce) {
    urls.clear();
    requests.clear();
    for (std::uint64_t i = n; i < std::min(end, n + kAtOnce); ++i)
      urls.push_back(url(i));
    for (const std::string& each : urls)
      requests.push_back({.url = each});
    must(frontier.offer(requests));
  }
}

struct Times {
  std::vector<double> micros;
  double at(double quantile) const {
    return micros[static_cast<std::size_t>(quantile * static_cast<double>(micros.size() - 1))];
  }
};

template <class Call>
Times measure(double seconds, Call&& call) {
  Times times;
  for (const auto start = Clock::now(); seconds_since(start) < seconds;)
    times.micros.push_back(call());
  std::ranges::sort(times.micros);
  return times;
}

// One call; its preparation is not measured.
double offer_once(Frontier& frontier, Pages& pages) {
  const auto& requests = pages.next();
  const auto start = Clock::now();
  must(frontier.offer(requests));
  return seconds_since(start) * 1e6;
}

double complete_once(Frontier& frontier, Pages& pages, std::vector<trawl::Lease>& leases) {
  if (leases.empty()) {
    // Let the committer catch up, so that waiting for it is not measured.
    must(frontier.flush());
    leases = must(frontier.lease({.max = 100}));
  }
  if (leases.empty()) must(Result<void>(error(trawl::ErrorCode::kNotFound, "no lease")));
  const trawl::Lease lease = std::move(leases.back());
  leases.pop_back();
  const auto& requests = pages.next();
  const auto start = Clock::now();
  must(frontier.complete(lease.id, {.status = 200}, requests));
  return seconds_since(start) * 1e6;
}

class Bench {
 public:
  explicit Bench(Settings settings) : settings_(std::move(settings)) {}

  void run() {
    must(EmbeddedFrontier::remove(settings_.directory));
    {
      options_ = options();
      open();
      offer_new(*frontier_, 0, kFilled);
      fmt::print("filter {:.2f} GiB, {} URLs in; one thread, {} links a call\n",
                 static_cast<double>(frontier_->stats()->filter.memory_bytes) / (1 << 30), kFilled,
                 kLinks);
      fmt::print("{:<10} {:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}\n", "call", "checkpoints",
                 "calls", "p50 us", "p99 us", "p99.9 us", "max us", "taken");
    }
    for (int round = 0; round < settings_.rounds; ++round) {
      for (const bool durable : {false, true}) {
        row(durable, kNone, false, 0);
        row(durable, "as fast as they go", true, 0);
        row(durable, "64 MiB/s", true, 64u << 20);
      }
    }
    summary();
    restore();
    frontier_.reset();
    must(EmbeddedFrontier::remove(settings_.directory));
  }

 private:
  static constexpr const char* kNone = "none";

  EmbeddedOptions options() {
    EmbeddedOptions options;
    options.directory = settings_.directory;
    const auto bits = must(trawl::blocked_bloom_size(1'000'000, kRate * 0.61)).bits_per_key;
    options.seen.expected_urls = static_cast<std::uint64_t>(settings_.gib * 8 * (1 << 30) / bits);
    options.seen.false_positive_rate = kRate;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 1000;
    options.checkpoints.on_taken = [this](const trawl::CheckpointEvent& event) {
      must(Result<void>(event.result));
      if (event.written) taken_.fetch_add(1);
      if (again_.load()) must(frontier_->request_checkpoint());
    };
    return options;
  }
  void open() { frontier_ = must(EmbeddedFrontier::open(options_, &opened_)); }

  void row(bool durable, std::string_view name, bool checkpoints, std::uint64_t rate) {
    // The rate is an option of open(). The open frontier is destroyed without close(), which would
    // take a checkpoint.
    if (options_.checkpoints.max_rate != rate) {
      frontier_.reset();
      options_.checkpoints.max_rate = rate;
      open();
    }
    taken_.store(0);
    again_.store(checkpoints);
    if (checkpoints) must(frontier_->request_checkpoint());
    std::vector<trawl::Lease> leases;
    const Times times = measure(settings_.seconds, [&] {
      return durable ? offer_once(*frontier_, pages_) : complete_once(*frontier_, pages_, leases);
    });
    again_.store(false);
    for (const trawl::Lease& lease : leases)
      must(frontier_->release(lease.id));
    fmt::print("{:<10} {:<20} {:>9} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>6}\n",
               durable ? "offer" : "complete", name, times.micros.size(), times.at(0.5),
               times.at(0.99), times.at(0.999), times.at(1), taken_.load());
    auto& best = best_.try_emplace({durable, std::string(name)}, times.at(0.999)).first->second;
    best = std::min(best, times.at(0.999));
    std::fflush(stdout);
    if (checkpoints && rate == 0) must(frontier_->checkpoint());  // waits for the last
  }

  void summary() const {
    for (const auto& [row, best] : best_) {
      const double none = best_.at({row.first, kNone});
      if (row.second == kNone) continue;
      fmt::print("{}: checkpoints {}: p99.9 of the best round {:+.3f} ms\n",
                 row.first ? "offer" : "complete", row.second, (best - none) / 1e3);
    }
  }

  void restore() {
    must(frontier_->checkpoint());
    offer_new(*frontier_, pages_.count(), pages_.count() + kReplayed);
    frontier_.reset();
    for (int round = 0; round < settings_.rounds; ++round) {
      // The file system's cache is not dropped before.
      const auto start = Clock::now();
      open();
      fmt::print("opened in {:.2f} s: {} admissions replayed, {} URLs queued\n",
                 seconds_since(start), opened_.replayed, frontier_->stats()->queued);
      frontier_.reset();
    }
  }

  const Settings settings_;
  trawl::OpenReport opened_;
  EmbeddedOptions options_;
  std::atomic<int> taken_{0};
  std::atomic<bool> again_{false};
  std::unique_ptr<Frontier> frontier_;
  Pages pages_{kFilled};
  std::map<std::pair<bool, std::string>, double> best_;  // p99.9 in microseconds
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--gib") settings.gib = std::atof(value);
    if (name == "--seconds") settings.seconds = std::atof(value);
    if (name == "--rounds") settings.rounds = std::atoi(value);
    if (name == "--directory") settings.directory = value;
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  Bench(parse(argc, argv)).run();
}
