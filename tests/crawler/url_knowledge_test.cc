#include "crawler/explain/url_knowledge.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "crawler/explain/explanation.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using Found = UrlKnowledge::Found;

class ExplainState : public testing::Test {
 protected:
  EmbeddedOptions options() const {
    EmbeddedOptions options;
    options.directory = directory();
    options.seen.expected_urls = 1000;
    options.seen.false_positive_rate = 1e-9;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 10;
    return options;
  }
  static std::unique_ptr<Frontier> open(const EmbeddedOptions& options) {
    auto frontier = EmbeddedFrontier::open(options);
    if (!frontier) throw std::runtime_error(frontier.error().message);
    return std::move(*frontier);
  }
  static void offer(Frontier& frontier, std::string_view url) {
    const std::vector<UrlRequest> requests{{.url = url}};
    ASSERT_TRUE(frontier.offer(requests).has_value());
  }
  UrlKnowledge look_up(std::string_view url, const Profile& profile = {}) const {
    return StoppedCrawlFiles(directory()).look_up(*Url::parse(url), profile);
  }
  std::filesystem::path directory() const { return temporary_.path() / "state"; }

  test::TemporaryDirectory temporary_;
};

TEST_F(ExplainState, WithoutACrawlThereIsNothingToTellAndNothingIsMade) {
  EXPECT_EQ(look_up("http://h.test/").found, Found::kNoCrawl);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(ExplainState, ACrawlThatRunsIsLeftAlone) {
  const auto frontier = open(options());
  const UrlKnowledge state = look_up("http://h.test/");
  EXPECT_EQ(state.found, Found::kInUse);
  EXPECT_THAT(state.note, testing::HasSubstr(directory().string()));
}

TEST_F(ExplainState, KnowsWhatACheckpointHasAndWhatTheLogHas) {
  {
    const auto frontier = open(options());
    offer(*frontier, "http://h.test/before#x");
    ASSERT_TRUE(frontier->checkpoint().has_value());
    offer(*frontier, "http://h.test/%61fter");
    // Ends without a checkpoint.
  }
  for (int i = 0; i < 2; ++i) {  // looking changes nothing
    const UrlKnowledge before = look_up("http://h.test/before");
    ASSERT_EQ(before.found, Found::kRead) << before.note;
    EXPECT_EQ(before.seen, true);
    EXPECT_EQ(before.key, "http://h.test/before");
    EXPECT_FALSE(before.other_rules);
    EXPECT_FALSE(before.fetch);
    EXPECT_EQ(before.host.queued, 2u);
    EXPECT_EQ(look_up("http://h.test/after").seen, true);
    EXPECT_EQ(look_up("http://h.test/never").seen, false);
  }
  OpenReport report;
  ASSERT_TRUE(EmbeddedFrontier::open(options(), &report).has_value());
  EXPECT_EQ(report.replayed, 1u);
}

TEST_F(ExplainState, KnowsTheLogOfACrawlWithoutACheckpoint) {
  { offer(*open(options()), "http://h.test/x"); }
  EXPECT_EQ(look_up("http://h.test/x").seen, true);
  EXPECT_EQ(look_up("http://h.test/y").seen, false);
}

TEST_F(ExplainState, TellsHowAHostStands) {
  {
    const auto frontier = open(options());
    offer(*frontier, "http://h.test:8080/x");
    ASSERT_TRUE(frontier->set_host("h.test:8080", {.limit = 7}).has_value());
    const auto until = std::chrono::system_clock::now() + std::chrono::hours(5);
    ASSERT_TRUE(frontier->set_host("h.test:8080", {.blocked_until = until}).has_value());
    ASSERT_TRUE(frontier->close().has_value());
  }
  const HostInfo host = look_up("https://h.test:8080/other").host;
  EXPECT_EQ(host.host, "h.test:8080");
  EXPECT_EQ(host.state, HostState::kBlocked);
  EXPECT_EQ(host.queued, 1u);
  EXPECT_EQ(host.settings.limit, 7u);
  const HostInfo unknown = look_up("http://h.test/").host;
  EXPECT_EQ(unknown.host, "h.test");
  EXPECT_EQ(unknown.state, HostState::kActive);
  EXPECT_EQ(unknown.queued, 0u);
}

TEST_F(ExplainState, TellsTheLastFetchIfThereIsALedger) {
  EmbeddedOptions with_ledger = options();
  with_ledger.seen.ledger = true;
  {
    const auto frontier = open(with_ledger);
    offer(*frontier, "http://h.test/a");
    const auto leases = frontier->lease({.max = 1}).value();
    ASSERT_EQ(leases.size(), 1u);
    ASSERT_TRUE(frontier->complete(leases[0].id, {.status = 404}, {}).has_value());
    offer(*frontier, "http://h.test/b");
    ASSERT_TRUE(frontier->close().has_value());
  }
  const UrlKnowledge fetched = look_up("http://h.test/a");
  ASSERT_TRUE(fetched.fetch.has_value());
  EXPECT_EQ(fetched.fetch->fetches, 1u);
  EXPECT_EQ(fetched.fetch->status, 404);
  const UrlKnowledge waiting = look_up("http://h.test/b");
  ASSERT_TRUE(waiting.fetch.has_value());
  EXPECT_EQ(waiting.fetch->fetches, 0u);
  EXPECT_FALSE(look_up("http://h.test/c").fetch);
}

TEST_F(ExplainState, FindsWhereAUrlWaits) {
  const auto later = std::chrono::system_clock::now() + std::chrono::hours(2);
  {
    const auto frontier = open(options());
    offer(*frontier, "http://h.test/now");
    const std::vector<UrlRequest> requests{{.url = "http://h.test/later", .not_before = later}};
    ASSERT_TRUE(frontier->offer(requests).has_value());
    ASSERT_TRUE(frontier->close().has_value());
  }
  StoppedCrawlFiles files(directory());
  const auto look = [&files](std::string_view url) { return files.look_up(*Url::parse(url), {}); };
  EXPECT_EQ(look("http://h.test/now").waits, UrlKnowledge::Waits::kQueued);
  const UrlKnowledge deferred = look("http://h.test/later");
  EXPECT_EQ(deferred.waits, UrlKnowledge::Waits::kDeferred);
  ASSERT_TRUE(deferred.due.has_value());
  EXPECT_LT(std::chrono::abs(*deferred.due - later), std::chrono::minutes(1));
  EXPECT_EQ(look("http://h.test/never").waits, UrlKnowledge::Waits::kNo);
}

TEST_F(ExplainState, TheAnswerNamesTheHostsBlock) {
  Explanation it{
      .text = "http://h.test/", .url = *Url::parse("http://h.test/"), .error = {}, .verdict = {}};
  it.state.found = UrlKnowledge::Found::kRunning;
  it.state.waits = UrlKnowledge::Waits::kQueued;
  it.state.host = {.host = "h.test", .state = HostState::kBlocked, .failures = 3};
  it.state.host.settings.blocked_until = SystemTime(std::chrono::hours(24 * 365 * 40));
  EXPECT_TRUE(answer_of(it).would_be_fetched);
  EXPECT_THAT(answer_of(it).line,
              testing::AllOf(testing::StartsWith("would be fetched: at 2009-"),
                             testing::EndsWith("since its host h.test is blocked after 3 failures "
                                               "in a row")));
  it.state.host.state = HostState::kParked;
  it.state.host.settings.blocked_until.reset();
  EXPECT_THAT(answer_of(it).line, testing::HasSubstr("when its host is revived"));
  it.state.paused = true;
  EXPECT_THAT(answer_of(it).line, testing::HasSubstr("when the crawl goes on (it is paused)"));
  it.verdict = {.reason = SkipReason::kTooDeep, .key = "scope.max_depth"};
  EXPECT_FALSE(answer_of(it).would_be_fetched);
  EXPECT_EQ(answer_of(it).line, "would not be fetched: too deep, scope.max_depth");
}

TEST_F(ExplainState, GoesByTheRulesTheCrawlWasBegunWith) {
  EmbeddedOptions sorted = options();
  sorted.seen.profile.rules.sort_query = true;
  {
    const auto frontier = open(sorted);
    offer(*frontier, "http://h.test/?b&a");
    ASSERT_TRUE(frontier->close().has_value());
  }
  const UrlKnowledge state = look_up("http://h.test/?a&b", Profile{});
  EXPECT_TRUE(state.other_rules);
  EXPECT_EQ(state.key, "http://h.test/?a&b");
  EXPECT_EQ(state.seen, true);
  EXPECT_FALSE(look_up("http://h.test/?b&a", sorted.seen.profile).other_rules);
}

TEST_F(ExplainState, SaysWhyItDoesNotKnow) {
  {
    const auto frontier = open(options());
    offer(*frontier, "http://h.test/x");
    ASSERT_TRUE(frontier->checkpoint().has_value());
    ASSERT_TRUE(frontier->close().has_value());
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    if (entry.path().extension() == ".ckpt") std::filesystem::remove(entry.path());
  }
  const UrlKnowledge no_checkpoint = look_up("http://h.test/x");
  ASSERT_EQ(no_checkpoint.found, Found::kRead);
  EXPECT_FALSE(no_checkpoint.seen);
  EXPECT_FALSE(no_checkpoint.seen_note.empty());
  EXPECT_EQ(no_checkpoint.host.queued, 1u);
  std::ofstream(directory() / "MANIFEST") << "nonsense";
  const UrlKnowledge no_manifest = look_up("http://h.test/x");
  EXPECT_EQ(no_manifest.found, Found::kUnreadable);
  EXPECT_THAT(no_manifest.note, testing::HasSubstr("MANIFEST"));
}

}  // namespace
}  // namespace trawl
