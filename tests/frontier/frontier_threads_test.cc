// Many threads do everything at the same time; their answers must add up.
#include <array>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "tests/frontier/frontier_fixture.h"
#include "tests/support/sanitized.h"

namespace trawl {
namespace {

constexpr std::size_t kThreads = 8;
#ifdef TRAWL_SANITIZED
constexpr std::uint64_t kUrlsOfAll = 4'000;
constexpr std::uint64_t kDroppedHosts = 20;
#else
constexpr std::uint64_t kUrlsOfAll = 20'000;
constexpr std::uint64_t kDroppedHosts = 150;
#endif
constexpr std::uint64_t kHosts = 50;
constexpr std::size_t kMostLinks = 12;

// What happened to each URL, and in all.
struct Tally {
  explicit Tally(std::uint64_t urls) : admitted(urls), first_leases(urls), completed(urls) {}
  std::vector<std::atomic<std::uint32_t>> admitted;      // number of answers "new"
  std::vector<std::atomic<std::uint32_t>> first_leases;  // leases but retries
  std::vector<std::atomic<std::uint32_t>> completed;
  std::atomic<std::uint64_t> offered{0};
  std::atomic<std::uint64_t> retried{0};
  std::atomic<std::uint64_t> failed{0};
};

class FrontierThreads : public test::FrontierFixture {
 protected:
  EmbeddedOptions options(FilterMode mode) const {
    EmbeddedOptions options = FrontierFixture::options();
    options.seen.mode = mode;
    options.seen.expected_urls = 200;  // the filter grows again and again
    if (mode == FilterMode::kExact) {
      // It may not grow either, and is soon wrong about nearly every URL.
      options.seen.false_positive_rate = 0.3;
      options.seen.max_memory = 4096;
    }
    options.store.shards = 4;
    options.retry.retries = 1'000'000;
    options.retry.retry_delay = std::chrono::milliseconds(1);
    options.retry.max_retry_delay = std::chrono::milliseconds(1);
    options.retry.host_backoff = std::chrono::milliseconds(1);
    options.retry.max_host_backoff = std::chrono::milliseconds(1);
    options.retry.host_failures = 0;
    options.checkpoints.admissions = kUrlsOfAll / 10;
    return options;
  }

  // All threads offer all URLs, each in its own order, among what else it does.
  void work(Frontier& frontier, std::size_t thread, std::uint64_t seed, Tally& tally) const {
    std::mt19937_64 random(seed + thread);
    std::vector<std::uint64_t> left(kUrlsOfAll);
    for (std::uint64_t i = 0; i < kUrlsOfAll; ++i)
      left[i] = i;
    std::shuffle(left.begin(), left.end(), random);
    while (!left.empty() || !frontier.progress()->finished) {
      offer_some(frontier, left, 1 + random() % 200, tally);
      const auto leases = frontier.lease({.max = 1 + random() % 20, .shard = thread % 4});
      ASSERT_TRUE(leases) << leases.error().message;
      for (const Lease& lease : *leases)
        end(frontier, lease, random, tally);
      if (random() % 100 == 0) {
        ASSERT_TRUE(frontier.checkpoint());
      }
      if (random() % 50 == 0) {
        const auto stats = frontier.stats().value();
        EXPECT_LE(stats.completed, stats.admitted);
      }
      if (leases->empty()) std::this_thread::yield();
    }
  }

  void offer_some(Frontier& frontier, std::vector<std::uint64_t>& left, std::size_t most,
                  Tally& tally) const {
    std::vector<std::uint64_t> numbers;
    test::Requests requests;
    for (; !left.empty() && numbers.size() < most; left.pop_back()) {
      numbers.push_back(left.back());
      requests.add(web_.url(left.back()));
    }
    const auto answers = frontier.offer(requests.get());
    ASSERT_TRUE(answers) << answers.error().message;
    count(*answers, numbers, tally);
  }

  void end(Frontier& frontier, const Lease& lease, std::mt19937_64& random, Tally& tally) const {
    const std::uint64_t page = test::NumberedUrls::number(lease.url);
    if (lease.attempts == 0) ++tally.first_leases[page];
    switch (random() % 8) {
      case 0: {
        const auto verdict = frontier.fail(lease.id, FailureReason::kTimeout);
        ASSERT_TRUE(verdict) << verdict.error().message;
        EXPECT_TRUE(verdict->retry_at);
        ++tally.retried;
        return;
      }
      case 1: {
        ASSERT_TRUE(frontier.fail(lease.id, FailureReason::kPermanent));
        ++tally.failed;
        ++tally.completed[page];
        return;
      }
      default:
        break;
    }
    std::vector<std::uint64_t> numbers;
    test::Requests links;
    for (std::size_t i = random() % kMostLinks; i > 0; --i) {
      numbers.push_back(random() % kUrlsOfAll);
      links.add(web_.url(numbers.back()));
    }
    const auto answers = frontier.complete(lease.id, {.status = 200}, links.get());
    ASSERT_TRUE(answers) << answers.error().message;
    count(*answers, numbers, tally);
    ++tally.completed[page];
  }

  static void count(const std::vector<Admission>& answers,
                    const std::vector<std::uint64_t>& numbers, Tally& tally) {
    ASSERT_EQ(answers.size(), numbers.size());
    tally.offered += answers.size();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i] == Admission::kNew) ++tally.admitted[numbers[i]];
    }
  }

  void run(FilterMode mode) {
    const std::uint64_t seed = std::random_device{}();
    SCOPED_TRACE(seed);
    Tally tally(kUrlsOfAll);
    const auto frontier = open(options(mode));
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { work(*frontier, t, seed, tally); });
    for (auto& thread : threads)
      thread.join();
    for (std::uint64_t i = 0; i < kUrlsOfAll; ++i) {
      EXPECT_EQ(tally.admitted[i], 1u) << i;
      EXPECT_EQ(tally.completed[i], 1u) << i;
      // A failure comes back as a retry: leased for the first time it was once.
      EXPECT_EQ(tally.first_leases[i], 1u) << i;
    }
    const FrontierStats stats = frontier->stats().value();
    EXPECT_EQ(stats.admitted, kUrlsOfAll);
    EXPECT_EQ(stats.completed, kUrlsOfAll);
    EXPECT_EQ(stats.seen, tally.offered - kUrlsOfAll);
    EXPECT_EQ(stats.retried, tally.retried);
    EXPECT_EQ(stats.failed, tally.failed);
    EXPECT_EQ(stats.queued + stats.leased + stats.deferred, 0u);
    EXPECT_EQ(stats.expired + stats.late + stats.repeated, 0u);
    EXPECT_GT(stats.checkpoints, 0u);  // none is written if nothing is new
    growths_ = stats.filter.layers - 1;
    EXPECT_TRUE(frontier->close());
    // What the checkpoints and the log hold is the same.
    const auto again = open(options(mode));
    test::Requests all;
    for (std::uint64_t i = 0; i < kUrlsOfAll; ++i)
      all.add(web_.url(i));
    for (const Admission answer : offer_all(*again, all))
      EXPECT_EQ(answer, Admission::kSeen);
    EXPECT_TRUE(again->progress()->finished);
  }

  test::NumberedUrls web_{kHosts};
  std::size_t growths_ = 0;
};

TEST_F(FrontierThreads, A1_A2_EachUrlIsAdmittedAndLeasedOnceWhileTheFilterGrows) {
  run(FilterMode::kBloom);
  EXPECT_GE(growths_, 3u);
}

TEST_F(FrontierThreads, A1_A2_ExactModeLosesNoneToABadFilter) {
  run(FilterMode::kExact);
}

// Each URL is offered once, so that every URL with the answer "seen" is lost: that may be what the
// filter's rate makes it, and statistics say how many that is.
TEST_F(FrontierThreads, A3_OfUrlsOfferedOnceNoMoreAreLostThanStatisticsSay) {
  constexpr std::size_t kOffering = 4;
  constexpr std::uint64_t kEach = 2 * kUrlsOfAll;
  for (const double rate : {1e-6, 1e-2}) {
    SCOPED_TRACE(rate);
    EmbeddedOptions small = FrontierFixture::options();
    small.directory = directory_.path() / std::to_string(rate);
    small.seen.expected_urls = 100;
    small.seen.false_positive_rate = rate;
    const auto frontier = open(small);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kOffering; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t n = 0; n < kEach;) {
          test::Requests requests;
          for (const std::uint64_t end = n + 500; n < end; ++n)
            requests.add(web_.url(t * kEach + n));
          ASSERT_TRUE(frontier->offer(requests.get()));
        }
      });
    }
    for (auto& thread : threads)
      thread.join();
    const FrontierStats stats = frontier->stats().value();
    EXPECT_EQ(stats.admitted + stats.seen, kOffering * kEach);
    const double expected = stats.expected_lost;
    EXPECT_LE(expected, 1.05 * rate * static_cast<double>(kOffering * kEach));
    EXPECT_NEAR(static_cast<double>(stats.seen), expected, 5 * std::sqrt(expected) + 3);
    EXPECT_TRUE(frontier->close());
  }
}

// Leases that expire and are completed all the same, hosts that are dropped, blocked, limited and
// listed meanwhile: each URL still ends exactly once.
class FrontierHostThreads : public FrontierThreads {
 protected:
  static constexpr std::uint64_t kPages = kUrlsOfAll / 4;

  EmbeddedOptions options() const {
    EmbeddedOptions options = FrontierThreads::options(FilterMode::kBloom);
    options.limits.lease_timeout = std::chrono::milliseconds(20);
    options.retry.host_failures = 3;
    options.politeness.domain_delay = std::chrono::milliseconds(1);
    options.checkpoints.admissions = kPages / 10;
    return options;
  }

  // Leases, and ends most of them late, some twice; until all is done.
  void fetch(Frontier& frontier, std::size_t thread, std::uint64_t seed) const {
    std::mt19937_64 random(seed + thread);
    std::vector<Lease> kept;
    while (!done_.load()) {
      const auto leases = frontier.lease({.max = 1 + random() % 20, .shard = thread % 4});
      ASSERT_TRUE(leases) << leases.error().message;
      kept.insert(kept.end(), leases->begin(), leases->end());
      while (!kept.empty() && (kept.size() > 40 || random() % 3 != 0)) {
        const std::size_t at = random() % kept.size();
        end(frontier, kept[at], random);
        if (random() % 8 != 0) kept.erase(kept.begin() + static_cast<long>(at));
      }
      if (leases->empty()) std::this_thread::yield();
    }
  }

  void end(Frontier& frontier, const Lease& lease, std::mt19937_64& random) const {
    switch (random() % 8) {
      case 0:
        ASSERT_TRUE(frontier.fail(lease.id, FailureReason::kTimeout));
        return;
      case 1:
        static_cast<void>(frontier.release(lease.id));  // it may have expired
        return;
      case 2:
        static_cast<void>(frontier.renew(lease.id));
        return;
      default:
        break;
    }
    const test::Requests links({web_.url(random() % kPages), web_.url(random() % kPages)});
    ASSERT_TRUE(frontier.complete(lease.id, {.status = 200}, links.get()));
  }

  void change_hosts(Frontier& frontier, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    while (!done_.load()) {
      const std::string host = fmt::format("host{}.test", random() % kHosts);
      switch (random() % 8) {
        case 0:
          ASSERT_TRUE(frontier.drop_host(host));
          break;
        case 1:
          ASSERT_TRUE(
              frontier.set_host(host, {.blocked_until = std::chrono::system_clock::now() +
                                                        std::chrono::milliseconds(random() % 5)}));
          break;
        case 2:
          ASSERT_TRUE(frontier.set_host(host, {.limit = random() % 3}));
          break;
        case 3:
          ASSERT_TRUE(frontier.set_host(host, {.leases = random() % 3}));
          break;
        case 4:
          ASSERT_TRUE(frontier.set_host(host, {.delay = std::chrono::milliseconds(random() % 2)}));
          break;
        case 5:
          ASSERT_TRUE(frontier.hosts(host, 10));
          break;
        default:
          ASSERT_TRUE(frontier.set_host(host, {.blocked_until = HostSettings::kNotBlocked}));
          ASSERT_TRUE(frontier.set_host(host, {.limit = HostSettings::kNoLimit}));
      }
    }
  }

  mutable std::atomic<bool> done_{false};
};

TEST_F(FrontierHostThreads, A2_EachUrlEndsOnceWhateverBecomesOfLeasesAndHosts) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  const auto frontier = open(options());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] { fetch(*frontier, t, seed); });
  for (std::size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] { change_hosts(*frontier, seed + t); });
  std::size_t admitted = 0;
  for (std::uint64_t i = 0; i < kPages; ++i) {
    const auto answers = offer_all(*frontier, test::Requests({web_.url(i)}));
    admitted += answers.front() == Admission::kNew ? 1 : 0;
    if (i % (kPages / 5) == 0) {
      EXPECT_TRUE(frontier->checkpoint());
    }
  }
  EXPECT_GT(admitted, 0u);
  while (!frontier->progress()->finished && !HasFailure())
    std::this_thread::yield();
  done_.store(true);
  for (auto& thread : threads)
    thread.join();
  ASSERT_TRUE(frontier->flush());
  const FrontierStats stats = frontier->stats().value();
  EXPECT_EQ(stats.admitted, kPages);
  EXPECT_EQ(stats.completed + stats.dropped, kPages);
  EXPECT_GT(stats.dropped, 0u);
  EXPECT_EQ(stats.deferred + stats.queued, 0u);
  ASSERT_TRUE(frontier->close());
  const auto again = open(options());
  EXPECT_TRUE(again->progress()->finished);
  EXPECT_TRUE(lease_all(*again).empty());
}

// Another thread queues what is due all the time.
TEST_F(FrontierHostThreads, NothingOfAHostIsLeasedOnceItWasDropped) {
  constexpr std::uint64_t kQueued = 3'000;
  auto options = FrontierThreads::options(FilterMode::kBloom);
  options.seen.expected_urls = kDroppedHosts * kQueued;
  const auto frontier = open(options);
  std::thread others([&] {
    while (!done_.load())
      ASSERT_TRUE(frontier->lease({.max = 0, .shard = 0}));
  });
  std::mt19937_64 random(1);
  for (std::uint64_t round = 0; round < kDroppedHosts && !HasFailure(); ++round) {
    const std::string host = fmt::format("dropped{}.test", round);
    test::Requests queued;
    for (std::uint64_t n = 0; n < kQueued; ++n)
      queued.add(fmt::format("http://{}/{}", host, n));
    offer_all(*frontier, queued);
    const std::string deferred = fmt::format("http://{}/deferred", host);
    const std::vector<UrlRequest> due{
        {.url = deferred,
         .not_before = std::chrono::system_clock::now() + std::chrono::milliseconds(random() % 4)}};
    ASSERT_TRUE(frontier->offer(due));
    EXPECT_EQ(frontier->drop_host(host).value(), kQueued + 1);
    EXPECT_TRUE(lease_all(*frontier).empty());
    EXPECT_TRUE(frontier->progress()->finished);
  }
  done_.store(true);
  others.join();
}

}  // namespace
}  // namespace trawl
