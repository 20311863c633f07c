// The same calls give the same answers in the same order, reopening included.
#include <random>
#include <set>
#include <sstream>

#include "tests/frontier/frontier_fixture.h"
#include "tests/frontier/virtual_clocks.h"

namespace trawl {
namespace {

constexpr int kCalls = 4'000;

// Makes calls that depend on the seed and on what was answered, and writes all answers down.
class Recorder {
 public:
  Recorder(std::uint64_t seed, const std::filesystem::path& directory) : random_(seed) {
    options_.directory = directory;
    options_.seen.expected_urls = 500;
    options_.testing.hash = KeyedHash::from_seed(7);
    options_.testing.deterministic_seed = 42;
    clocks_.use_in(options_);
    options_.politeness.delay = std::chrono::milliseconds(50);
    options_.politeness.domain_delay = std::chrono::milliseconds(20);
    options_.politeness.adaptive_delay = 1.5;
    options_.politeness.leases_per_host = 2;
    options_.store.shards = 3;
    options_.retry.retry_delay = std::chrono::milliseconds(300);
    options_.retry.host_backoff = std::chrono::milliseconds(200);
    options_.retry.host_failures = 6;
    options_.limits.lease_timeout = std::chrono::milliseconds(5'000);
    options_.store.max_memory = kMinFrontierMemory;
  }

  std::string record() {
    open();
    for (int call = 0; call < kCalls; ++call)
      make_call();
    return std::move(log_).str();
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void open() {
    frontier_.reset();
    OpenReport report;
    auto opened = EmbeddedFrontier::open(options_, &report);
    if (!opened) throw std::runtime_error(opened.error().message);
    frontier_ = std::move(*opened);
    open_.clear();
    log_ << "open " << report.replayed << "\n";
  }

  void offer() {
    std::vector<std::string> urls;
    for (std::uint64_t i = below(30); i > 0; --i)
      urls.push_back(fmt::format("http://h{}.site{}.test/{}", below(20), below(7), below(2'000)));
    std::vector<UrlRequest> requests;
    for (const auto& url : urls) {
      requests.push_back({.url = url,
                          .priority = static_cast<std::int32_t>(below(4)),
                          .depth = static_cast<std::uint32_t>(below(5))});
    }
    log_ << "offer";
    const auto answers = frontier_->offer(requests).value();
    for (const Admission answer : answers)
      log_ << ' ' << static_cast<int>(answer);
    log_ << "\n";
  }

  void lease() {
    const auto leases = below(2) == 0
                            ? frontier_->lease({.max = below(20)}).value()
                            : frontier_->lease({.max = below(20), .shard = below(3)}).value();
    for (const Lease& lease : leases) {
      open_.push_back(lease.id);
      log_ << "lease " << lease.id << ' ' << lease.url << ' ' << lease.host << ' ' << lease.priority
           << ' ' << lease.depth << ' ' << lease.attempts << "\n";
    }
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
      const auto due = frontier_->next_due(shard).value();
      log_ << "due " << (due ? due->time_since_epoch().count() : -1) << "\n";
    }
  }

  void end() {
    if (open_.empty()) return;
    const std::size_t at = below(open_.size());
    const std::uint64_t id = open_[at];
    if (below(10) != 0) open_.erase(open_.begin() + static_cast<long>(at));
    switch (below(6)) {
      case 0: {
        const auto verdict =
            frontier_->fail(id, static_cast<FailureReason>(below(6)), std::nullopt).value();
        const auto told = [](const std::optional<SystemTime>& time) {
          return time ? time->time_since_epoch().count() : -1;
        };
        log_ << "fail " << told(verdict.retry_at) << ' ' << told(verdict.host_blocked_until) << ' '
             << verdict.host_parked << "\n";
        break;
      }
      case 1:
        log_ << "release " << frontier_->release(id).has_value() << "\n";
        break;
      default: {
        Outcome outcome{.status = 200};
        outcome.response_time = std::chrono::milliseconds(below(200));
        if (below(8) == 0) outcome.recrawl_at = clocks_.wall() + std::chrono::seconds(below(5));
        const std::string link = fmt::format("http://h1.site1.test/link/{}", below(500));
        const std::vector<UrlRequest> links{{.url = link}};
        log_ << "complete " << static_cast<int>(frontier_->complete(id, outcome, links)->front())
             << "\n";
      }
    }
  }

  void make_call() {
    switch (below(12)) {
      case 0:
      case 1:
        return offer();
      case 2:
      case 3:
      case 4:
        return lease();
      case 5:
      case 6:
      case 7:
      case 8:
        return end();
      case 9:
        clocks_.advance(std::chrono::milliseconds(below(120)));
        return;
      case 10: {
        const std::string host = fmt::format("h{}.site{}.test", below(20), below(7));
        if (below(4) == 0)
          log_ << "drop " << frontier_->drop_host(host).value() << "\n";
        else
          static_cast<void>(
              frontier_->set_host(host, {.delay = std::chrono::milliseconds(below(90))}));
        return;
      }
      default:
        if (below(4) == 0) log_ << "checkpoint " << frontier_->checkpoint().has_value() << "\n";
        if (below(60) == 0) open();
        const FrontierStats stats = frontier_->stats().value();
        log_ << "stats " << stats.admitted << ' ' << stats.completed << ' ' << stats.queued << ' '
             << stats.leased << ' ' << stats.deferred << ' ' << stats.expired << ' ' << stats.late
             << ' ' << stats.hosts << ' ' << stats.hosts_blocked << "\n";
    }
  }

  std::mt19937_64 random_;
  test::VirtualClocks clocks_;
  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
  std::vector<std::uint64_t> open_;
  std::ostringstream log_;
};

// Where the two part, with some lines before it.
std::string first_difference(const std::string& a, const std::string& b) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<long>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
  const std::size_t from = at < 200 ? 0 : at - 200;
  return a.substr(from, 400) + "\n---\n" + b.substr(from, 400);
}

TEST(FrontierReplay, TheSameCallsGiveTheSameAnswers) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  const test::TemporaryDirectory one;
  const test::TemporaryDirectory two;
  const std::string first = Recorder(seed, one.path() / "state").record();
  const std::string second = Recorder(seed, two.path() / "state").record();
  EXPECT_GT(std::ranges::count(first, '\n'), kCalls / 2);
  EXPECT_NE(first.find("lease "), std::string::npos);
  EXPECT_TRUE(first == second) << first_difference(first, second);
}

// Neither where the state lies nor what time it is may matter, but the seed does.
TEST(FrontierReplay, AnotherSeedOfTheFrontierGivesOtherWaits) {
  const auto block_of = [](std::uint64_t seed) {
    const test::TemporaryDirectory directory;
    test::VirtualClocks clocks;
    EmbeddedOptions options;
    options.directory = directory.path();
    options.testing.deterministic_seed = seed;
    clocks.use_in(options);
    const auto frontier = EmbeddedFrontier::open(options).value();
    const std::vector<UrlRequest> requests{{.url = "http://a.test/"}};
    static_cast<void>(frontier->offer(requests).value());
    const auto lease = frontier->lease({.max = 1}).value().front();
    EXPECT_EQ(lease.id, 1u) << "numbers count from 1";
    const auto verdict = frontier->fail(lease.id, FailureReason::kTimeout).value();
    return verdict.host_blocked_until->time_since_epoch().count();
  };
  EXPECT_EQ(block_of(1), block_of(1));
  std::set<std::int64_t> waits;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    waits.insert(block_of(seed));
  EXPECT_GT(waits.size(), 1u);
}

}  // namespace
}  // namespace trawl
