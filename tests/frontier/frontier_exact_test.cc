// Exact mode sets every false answer of the filter right, and the ledger measures them.
#include <random>
#include <set>

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

constexpr std::uint64_t kUrls = 20'000;

class FrontierExact : public test::FrontierFixture {
 protected:
  // A filter that is wrong about nearly every URL once it is full, and may not grow.
  EmbeddedOptions bad_filter() const {
    EmbeddedOptions options = FrontierFixture::options();
    options.seen.mode = FilterMode::kExact;
    options.seen.expected_urls = 100;
    options.seen.false_positive_rate = 0.3;
    options.seen.max_memory = 4096;
    options.store.max_memory = kMinFrontierMemory;
    return options;
  }
  test::Requests urls(std::uint64_t first, std::uint64_t last) const {
    test::Requests requests;
    for (std::uint64_t i = first; i < last; ++i)
      requests.add(web_.url(i));
    return requests;
  }
  static std::size_t new_ones(const std::vector<Admission>& answers) {
    return static_cast<std::size_t>(std::ranges::count(answers, Admission::kNew));
  }

  test::NumberedUrls web_{20};
};

TEST_F(FrontierExact, A2_AdmitsEachUrlOnceHoweverBadTheFilterIs) {
  auto frontier = open(bad_filter());
  EXPECT_EQ(new_ones(offer_all(*frontier, urls(0, kUrls))), kUrls);
  EXPECT_EQ(new_ones(offer_all(*frontier, urls(0, kUrls))), 0u);
  const FrontierStats stats = frontier->stats().value();
  EXPECT_EQ(stats.admitted, kUrls);
  EXPECT_GT(stats.filter.current_rate, 0.9) << "or the test shows nothing";
  EXPECT_GT(stats.seen_false, kUrls / 2);
  EXPECT_GE(stats.seen_checked, stats.seen_false);
  EXPECT_EQ(stats.expected_lost, 0);
  EXPECT_GT(stats.measured_false_positive_rate, 0.5);
  EXPECT_LE(stats.measured_false_positive_rate, 1.0);
  std::set<std::string> leased;
  for (const Lease& lease : lease_all(*frontier)) {
    EXPECT_TRUE(leased.insert(lease.url).second) << lease.url;
    complete(*frontier, lease);
  }
  EXPECT_EQ(leased.size(), kUrls);
  ASSERT_TRUE(frontier->close());
  frontier = open(bad_filter());
  EXPECT_TRUE(frontier->progress()->finished);
  EXPECT_EQ(new_ones(offer_all(*frontier, urls(0, kUrls + 1))), 1u);
}

TEST_F(FrontierExact, A1_ALinkThatAPageRepeatsIsNewOnce) {
  const auto frontier = open(bad_filter());
  static_cast<void>(offer_all(*frontier, urls(0, 5'000)));
  for (std::uint64_t i = 5'000; i < 5'200; ++i) {
    const auto answers = offer(*frontier, {web_.url(i), web_.url(i), web_.url(i) + "#part"});
    EXPECT_EQ(answers, (std::vector{Admission::kNew, Admission::kSeen, Admission::kSeen})) << i;
  }
}

// Neither may lose what only the other knows: the admissions behind the last checkpoint.
TEST_F(FrontierExact, N1_NothingIsLostOrAdmittedTwiceWithoutACheckpoint) {
  auto frontier = open(bad_filter());
  static_cast<void>(offer_all(*frontier, urls(0, 1'000)));
  ASSERT_TRUE(frontier->checkpoint());
  static_cast<void>(offer_all(*frontier, urls(1'000, 3'000)));
  frontier.reset();  // as if killed
  frontier = open(bad_filter());
  EXPECT_EQ(new_ones(offer_all(*frontier, urls(0, 3'000))), 0u);
  EXPECT_EQ(new_ones(offer_all(*frontier, urls(3'000, 4'000))), 1'000u);
}

// Without exact mode the filter decides, and the ledger shows how often it was wrong: of the URLs
// that it lost a known share was looked at.
TEST_F(FrontierExact, A3_TheMeasuredRateIsNearTheRealOne) {
  EmbeddedOptions options = FrontierFixture::options();
  options.seen.ledger = true;
  options.seen.expected_urls = 1'000;
  options.seen.false_positive_rate = 0.3;
  options.seen.max_memory = 64u << 10;
  options.store.max_memory = kMinFrontierMemory;
  constexpr std::uint64_t kOffered = 400'000;
  const auto frontier = open(options);
  std::uint64_t lost = 0;
  for (std::uint64_t first = 0; first < kOffered; first += 20'000) {
    const auto answers = offer_all(*frontier, urls(first, first + 20'000));
    lost += 20'000 - new_ones(answers);
  }
  const FrontierStats stats = frontier->stats().value();
  const double real = static_cast<double>(lost) / kOffered;
  ASSERT_GT(real, 0.01);
  // Each lost URL is among those checked with a chance of 1 in 128: their number has the standard
  // deviation sqrt(lost / 128); 5 of them are exceeded once in two million runs. The hash is fixed.
  const double expected = static_cast<double>(lost) / 128;
  EXPECT_NEAR(static_cast<double>(stats.seen_false), expected, 5 * std::sqrt(expected) + 1);
  EXPECT_NEAR(stats.measured_false_positive_rate, real, 5 * real / std::sqrt(expected) + 0.001);
  EXPECT_EQ(stats.admitted, kOffered - lost);

  // "Seen" answers that are right do not count.
  const auto before = stats.seen_false;
  static_cast<void>(offer_all(*frontier, urls(0, 20'000)));
  const FrontierStats after = frontier->stats().value();
  EXPECT_GT(after.seen_checked, stats.seen_checked);
  EXPECT_EQ(after.seen_false, before) << "a URL that was lost counts once";
}

TEST_F(FrontierExact, TheModeIsFixedWithTheDirectory) {
  {
    const auto frontier = open(FrontierFixture::options());
    static_cast<void>(offer_all(*frontier, urls(0, 10)));
    ASSERT_TRUE(frontier->close());
  }
  EmbeddedOptions options = FrontierFixture::options();
  options.seen.mode = FilterMode::kExact;
  const auto refused = EmbeddedFrontier::open(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument) << refused.error().message;
}

}  // namespace
}  // namespace trawl
