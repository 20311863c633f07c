// Looking into a stopped frontier: what is dumped is what waits, and nothing is changed by it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "trawl/frontier_dump.h"

#include "base/file_io.h"
#include "frontier/recovery/manifest.h"
#include "frontier/recovery/state_directory.h"
#include "frontier/store/rocks_store.h"
#include "tests/frontier/frontier_fixture.h"
#include "tests/frontier/virtual_clocks.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Line {
  std::string url;
  std::string host;
  std::string parent;
  std::int32_t priority;
  std::uint32_t depth;
  std::uint32_t redirects;
  std::uint32_t attempts;
  bool recrawl;
  WaitingState state;
  std::optional<SystemTime> not_before;
  std::string reason;
  int status;
  std::optional<SystemTime> since;
  std::string note;
};

std::vector<std::string> numbered_urls(std::uint64_t count) {
  std::vector<std::string> urls;
  for (std::uint64_t n = 0; n < count; ++n)
    urls.push_back(NumberedUrls(7).url(n));
  return urls;
}

class Dump : public FrontierFixture {
 protected:
  EmbeddedOptions virtual_options() const {
    EmbeddedOptions with_clocks = options();
    clocks_.use_in(with_clocks);
    return with_clocks;
  }
  std::filesystem::path state() const { return directory_.path() / "state"; }

  std::vector<Line> dump(const DumpOptions& options = {}) const {
    std::vector<Line> lines;
    auto done = dump_frontier(state(), options, [&](const DumpedUrl& url) -> Result<void> {
      lines.push_back({std::string(url.url), std::string(url.host), std::string(url.parent),
                       url.priority, url.depth, url.redirects, url.attempts, url.recrawl, url.state,
                       url.not_before, std::string(url.reason), url.status, url.since,
                       std::string(url.note)});
      return {};
    });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return lines;
  }
  std::vector<std::string> dumped_urls(const DumpOptions& options = {}) const {
    std::vector<std::string> urls;
    for (const Line& line : dump(options))
      urls.push_back(line.url);
    return urls;
  }
  FrontierSummary summarize(std::size_t longest = 0) const {
    auto summary = summarize_frontier(state(), longest);
    if (!summary) throw std::runtime_error(summary.error().message);
    return *std::move(summary);
  }
  ErrorCode dump_error() const {
    const auto done =
        dump_frontier(state(), {}, [](const DumpedUrl&) -> Result<void> { return {}; });
    EXPECT_FALSE(done.has_value());
    const auto summary = summarize_frontier(state());
    EXPECT_FALSE(summary.has_value());
    if (done || summary) return ErrorCode::kClosed;
    EXPECT_EQ(done.error().code, summary.error().code);
    return done.error().code;
  }
  static void admit(Frontier& frontier, std::vector<UrlRequest> requests) {
    auto admissions = frontier.offer(requests);
    ASSERT_TRUE(admissions.has_value()) << admissions.error().message;
    EXPECT_THAT(*admissions, Each(Admission::kNew));
  }
  static void close(Frontier& frontier) {
    const auto closed = frontier.close();
    ASSERT_TRUE(closed.has_value()) << closed.error().message;
  }
  // Of a frontier that was closed.
  std::unique_ptr<Store> open_store() const {
    return RocksStore::open(store_path(state()),
                            {.sync = false, .memory = MemoryPlan::of(kMinFrontierMemory)})
        .value();
  }

  VirtualClocks clocks_;
};

// The fingerprints of such a crawl are of no use, but nothing of its queue is lost.
TEST_F(Dump, ACrawlWithAnotherHashIsRefusedAndDumped) {
  const auto frontier = open(virtual_options());
  admit(*frontier, {{.url = "http://a.example/1", .depth = 2},
                    {.url = "http://a.example/2"},
                    {.url = "http://b.example/3"}});
  close(*frontier);
  const std::string path = Manifest::path_in(state()).string();
  std::string manifest = *read_file(path, 1 << 20);
  manifest[12] = 2;
  const std::uint64_t sum = XXH3_64bits(manifest.data(), manifest.size() - 8);
  std::memcpy(manifest.data() + manifest.size() - 8, &sum, sizeof sum);
  ASSERT_TRUE(replace_file(path, manifest));

  const auto opened = EmbeddedFrontier::open(virtual_options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupportedVersion);
  EXPECT_THAT(opened.error().message, HasSubstr("hash algorithm 2"));
  EXPECT_THAT(opened.error().message,
              HasSubstr("trawl frontier dump \"" + state().string() + "\""));
  EXPECT_THAT(dumped_urls(), UnorderedElementsAre("http://a.example/1", "http://a.example/2",
                                                  "http://b.example/3"));
  EXPECT_THAT(dumped_urls({.host = "b.example"}), ElementsAre("http://b.example/3"));
}

TEST_F(Dump, HasEveryUrlThatWaitsWithWhatIsKnownOfIt) {
  const SystemTime later = clocks_.wall() + 1h;
  const auto frontier = open(virtual_options());
  admit(*frontier,
        {{.url = "http://a.example/low", .priority = -5, .depth = 3, .parent = "http://x.example/"},
         {.url = "http://a.example/high#top", .priority = 7, .redirects = 2},
         {.url = "http://a.example/high2", .priority = 7},
         {.url = "http://a.example/later", .priority = 9, .depth = 1, .not_before = later},
         {.url = "http://A.example:80/done"}});
  for (const Lease& lease : lease_all(*frontier)) {
    if (lease.url.ends_with("done")) complete(*frontier, lease, {"https://b.example:444/x?y"});
  }
  close(*frontier);

  const auto lines = dump({.host = "a.example"});
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0].url, "http://a.example/high");
  EXPECT_EQ(lines[0].priority, 7);
  EXPECT_EQ(lines[0].redirects, 2u);
  EXPECT_EQ(lines[0].parent, "");
  EXPECT_EQ(lines[0].state, WaitingState::kQueued);
  EXPECT_EQ(lines[0].not_before, std::nullopt);
  EXPECT_EQ(lines[1].url, "http://a.example/high2");
  EXPECT_EQ(lines[2].url, "http://a.example/low");
  EXPECT_EQ(lines[2].priority, -5);
  EXPECT_EQ(lines[2].depth, 3u);
  EXPECT_EQ(lines[2].parent, "http://x.example/");
  EXPECT_EQ(lines[3].url, "http://a.example/later");
  EXPECT_EQ(lines[3].state, WaitingState::kDeferred);
  EXPECT_EQ(lines[3].not_before, later);
  EXPECT_EQ(lines[3].priority, 9);
  EXPECT_EQ(lines[3].depth, 1u);

  const auto others = dump({.host = "b.example:444"});
  ASSERT_THAT(others, SizeIs(1));
  EXPECT_EQ(others[0].url, "https://b.example:444/x?y");
  EXPECT_EQ(others[0].host, "b.example:444");
  EXPECT_EQ(others[0].parent, "http://a.example/done");
  EXPECT_THAT(dump(), SizeIs(5));
}

TEST_F(Dump, FiltersByStateAndHostWithAndWithoutTheManifest) {
  const auto frontier = open(virtual_options());
  const SystemTime later = clocks_.wall() + 1h;
  admit(*frontier, {{.url = "http://a.example/1"},
                    {.url = "http://a.example/2", .not_before = later},
                    {.url = "http://b.example/1"},
                    {.url = "http://b.example/2", .not_before = later}});
  close(*frontier);
  for (const bool with_manifest : {true, false}) {
    SCOPED_TRACE(with_manifest);
    if (!with_manifest) std::filesystem::remove(Manifest::path_in(state()));
    EXPECT_THAT(dumped_urls(), SizeIs(4));
    EXPECT_THAT(dumped_urls({.state = WaitingState::kQueued}),
                UnorderedElementsAre("http://a.example/1", "http://b.example/1"));
    EXPECT_THAT(dumped_urls({.state = WaitingState::kDeferred}),
                UnorderedElementsAre("http://a.example/2", "http://b.example/2"));
    EXPECT_THAT(dumped_urls({.host = "b.example"}),
                ElementsAre("http://b.example/1", "http://b.example/2"));
    EXPECT_THAT(dumped_urls({.host = "a.example", .state = WaitingState::kDeferred}),
                ElementsAre("http://a.example/2"));
    EXPECT_THAT(dumped_urls({.host = "c.example"}), IsEmpty());
  }
}

TEST_F(Dump, UrlsThatAreSetAsideFollowThoseThatWait) {
  EmbeddedOptions options = virtual_options();
  options.retry.retries = 0;
  const auto frontier = open(options);
  admit(*frontier, {{.url = "http://a.example/held",
                     .priority = 4,
                     .depth = 2,
                     .redirects = 1,
                     .parent = "http://x.example/",
                     .note = "n"},
                    {.url = "http://a.example/404", .priority = 3},
                    {.url = "http://b.example/lost", .priority = 2},
                    {.url = "http://a.example/ok", .priority = 1},
                    {.url = "http://b.example/later", .not_before = clocks_.wall() + 1h}});
  const SystemTime since = clocks_.wall();
  for (const Lease& lease : lease_all(*frontier)) {
    if (lease.url.ends_with("held")) {
      ASSERT_TRUE(frontier->hold(lease.id, {.reason = "out of scope", .rules = 3}));
    } else if (lease.url.ends_with("404")) {
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 404}, {}));
    } else if (lease.url.ends_with("lost")) {
      ASSERT_TRUE(frontier->fail(lease.id, FailureReason::kPermanent, std::nullopt,
                                 {.error = "it is", .reason = "refused"}));
    } else {
      const UrlRequest link{.url = "http://c.example/deep",
                            .depth = 9,
                            .hold = HoldReason{.reason = "too deep", .rules = 5}};
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 200}, {&link, 1}));
    }
  }
  clocks_.advance(5s);
  admit(*frontier, {{.url = "http://a.example/waits"}});
  close(*frontier);

  const auto lines = dump();
  ASSERT_THAT(lines, SizeIs(6));
  EXPECT_EQ(lines[0].url, "http://a.example/waits");
  EXPECT_EQ(lines[0].since, std::nullopt);
  EXPECT_EQ(lines[1].url, "http://b.example/later");
  std::map<std::string, Line> found;
  for (const Line& line : lines)
    found.emplace(line.url, line);
  const Line& held = found.at("http://a.example/held");
  EXPECT_EQ(held.state, WaitingState::kHeld);
  EXPECT_EQ(held.host, "a.example");
  EXPECT_EQ(held.reason, "out of scope");
  EXPECT_EQ(held.since, since);
  EXPECT_EQ(held.priority, 4);
  EXPECT_EQ(held.depth, 2u);
  EXPECT_EQ(held.redirects, 1u);
  EXPECT_EQ(held.parent, "http://x.example/");
  EXPECT_EQ(held.note, "n");
  EXPECT_EQ(held.not_before, std::nullopt);
  const Line& not_found = found.at("http://a.example/404");
  EXPECT_EQ(not_found.state, WaitingState::kFailed);
  EXPECT_EQ(not_found.status, 404);
  EXPECT_EQ(not_found.reason, "status");
  const Line& lost = found.at("http://b.example/lost");
  EXPECT_EQ(lost.state, WaitingState::kFailed);
  EXPECT_EQ(lost.status, 0);
  EXPECT_EQ(lost.reason, "refused");
  const Line& deep = found.at("http://c.example/deep");
  EXPECT_EQ(deep.state, WaitingState::kHeld);
  EXPECT_EQ(deep.depth, 9u);
  EXPECT_EQ(deep.parent, "http://a.example/ok");

  EXPECT_THAT(dumped_urls({.state = WaitingState::kHeld}),
              UnorderedElementsAre("http://a.example/held", "http://c.example/deep"));
  EXPECT_THAT(dumped_urls({.state = WaitingState::kFailed}),
              UnorderedElementsAre("http://a.example/404", "http://b.example/lost"));
  EXPECT_THAT(dumped_urls({.host = "b.example"}),
              ElementsAre("http://b.example/later", "http://b.example/lost"));
  EXPECT_THAT(dumped_urls({.host = "a.example", .state = WaitingState::kFailed}),
              ElementsAre("http://a.example/404"));
  EXPECT_THAT(dumped_urls({.state = WaitingState::kQueued}), ElementsAre("http://a.example/waits"));
  EXPECT_THAT(dumped_urls({.state = WaitingState::kDeferred}),
              ElementsAre("http://b.example/later"));
  const FrontierSummary summary = summarize();
  EXPECT_EQ(summary.stats.held, 2u);
  EXPECT_EQ(summary.stats.set_aside_failed, 2u);
  EXPECT_EQ(summary.stats.succeeded, 1u);
  EXPECT_EQ(summary.stats.requeued, 0u);
  EXPECT_EQ(summary.stats.not_set_aside, 0u);
}

TEST_F(Dump, TheSummaryCountsUrlsQueuedAgainAndThoseWithoutRoom) {
  EmbeddedOptions options = virtual_options();
  options.store.max_set_aside = 2;
  const auto frontier = open(options);
  offer(*frontier, {"http://a.example/1", "http://a.example/2", "http://a.example/3"});
  for (const Lease& lease : lease_all(*frontier))
    ASSERT_TRUE(frontier->complete(lease.id, {.status = 500}, {}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->retry({}).value(), 2u);
  close(*frontier);
  EXPECT_THAT(dump(), AllOf(SizeIs(2), Each(testing::Field(&Line::state, WaitingState::kQueued))));
  const FrontierSummary summary = summarize();
  EXPECT_EQ(summary.stats.queued, 2u);
  EXPECT_EQ(summary.stats.requeued, 2u);
  EXPECT_EQ(summary.stats.set_aside_failed, 0u);
  EXPECT_EQ(summary.stats.not_set_aside, 1u);
}

TEST_F(Dump, TellsTheSmallestDepthThatWasOffered) {
  const auto frontier = open();
  admit(*frontier, {{.url = "http://a.example/%7ejoe", .depth = 9},
                    {.url = "http://a.example/other", .depth = 4}});
  const UrlRequest again{.url = "http://a.example/~joe", .depth = 2};
  EXPECT_THAT(frontier->offer({&again, 1}).value(), ElementsAre(Admission::kSeen));
  close(*frontier);
  const auto lines = dump();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0].depth, 2u);
  EXPECT_EQ(lines[1].depth, 4u);
  // Without the key of the fingerprints it cannot be looked up.
  std::filesystem::remove(Manifest::path_in(state()));
  EXPECT_EQ(dump()[0].depth, 9u);
}

// Against a list of what was offered and not completed.
TEST_F(Dump, IsWhatWaitsAfterRandomOperations) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    std::filesystem::remove_all(state());
    auto frontier = open(virtual_options());
    std::map<std::string, std::int32_t> waiting;  // priority by URL
    std::map<std::string, std::uint64_t> queued_at;
    std::uint64_t count = 0;
    for (int round = 0; round < 40; ++round) {
      for (int i = 0; i < 10; ++i) {
        const std::string url = fmt::format("http://h{}.example/{}", random() % 5, count++);
        const auto priority = static_cast<std::int32_t>(random() % 3) - 1;
        admit(*frontier, {{.url = url, .priority = priority}});
        waiting[url] = priority;
        queued_at[url] = count;
      }
      for (const Lease& lease : lease(*frontier, random() % 12)) {
        if (random() % 8 == 0) {
          ASSERT_TRUE(frontier->fail(lease.id, FailureReason::kServerError).has_value());
        } else if (random() % 4 != 0) {
          complete(*frontier, lease);
          waiting.erase(lease.url);
        }
      }
      if (random() % 20 == 0) frontier = nullptr, frontier = open(virtual_options());
    }
    ASSERT_TRUE(frontier->flush().has_value());
    const FrontierStats stats = frontier->stats().value();
    close(*frontier);
    std::map<std::string, std::int32_t> dumped;
    std::map<std::string, std::pair<std::int32_t, std::uint64_t>> last;  // of each host
    std::uint64_t deferred = 0;
    for (const Line& line : dump()) {
      EXPECT_TRUE(dumped.emplace(line.url, line.priority).second) << line.url;
      if (line.state == WaitingState::kDeferred) {
        ++deferred;
        EXPECT_EQ(line.attempts, 1u);
        continue;
      }
      const std::pair place{-line.priority, queued_at[line.url]};
      if (last.contains(line.host)) {
        EXPECT_LT(last[line.host], place) << line.url;
      }
      last[line.host] = place;
    }
    EXPECT_EQ(dumped, waiting);
    EXPECT_EQ(deferred, stats.deferred);
    const FrontierSummary summary = summarize(100);
    EXPECT_EQ(summary.stats.queued + summary.stats.deferred, waiting.size());
    EXPECT_EQ(summary.stats.hosts, last.size());
    EXPECT_EQ(summary.stats.completed, stats.completed);
    EXPECT_EQ(summary.stats.retried, stats.retried);
  }
}

TEST_F(Dump, ChangesNothing) {
  auto frontier = open();
  const Requests requests(numbered_urls(300));
  offer_all(*frontier, requests);
  close(*frontier);
  frontier = nullptr;
  EXPECT_THAT(dump(), SizeIs(300));
  EXPECT_EQ(summarize(5).stats.queued, 300u);
  frontier = open();
  EXPECT_THAT(offer_all(*frontier, requests), Each(Admission::kSeen));
  EXPECT_THAT(lease_all(*frontier), SizeIs(300));
}

TEST_F(Dump, WorksAfterAKillWithoutACheckpoint) {
  auto frontier = open();
  offer(*frontier, numbered_urls(50));
  frontier = nullptr;
  EXPECT_THAT(dump(), SizeIs(50));
  EXPECT_THAT(summarize().checkpoints, IsEmpty());
}

TEST_F(Dump, TheDirectoryIsLocked) {
  auto frontier = open();
  EXPECT_EQ(dump_error(), ErrorCode::kInUse);
  frontier = nullptr;
  // And stays so as long as it is read.
  const auto done = dump_frontier(state(), {}, [](const DumpedUrl&) -> Result<void> { return {}; });
  EXPECT_TRUE(done.has_value());
  frontier = open();
  offer_one(*frontier, "http://a.example/");
  frontier = nullptr;
  const auto nested = dump_frontier(state(), {}, [&](const DumpedUrl&) -> Result<void> {
    const auto second = EmbeddedFrontier::open(options());
    EXPECT_FALSE(second.has_value());
    return second ? Result<void>() : tl::unexpected(second.error());
  });
  ASSERT_FALSE(nested.has_value());
  EXPECT_EQ(nested.error().code, ErrorCode::kInUse);
}

TEST_F(Dump, ReadersShareTheDirectoryAndLeaveItAsItIs) {
  offer_one(*open(), "http://a.example/");
  std::filesystem::remove(state() / "LOCK");  // as in a copy
  std::map<std::string, std::filesystem::file_time_type> before;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(state()))
    before[entry.path()] = entry.last_write_time();
  const auto nested = dump_frontier(state(), {}, [&](const DumpedUrl&) -> Result<void> {
    EXPECT_THAT(dump(), SizeIs(1));
    EXPECT_EQ(summarize(5).stats.queued, 1u);
    return {};
  });
  EXPECT_TRUE(nested.has_value());
  std::map<std::string, std::filesystem::file_time_type> after;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(state()))
    after[entry.path()] = entry.last_write_time();
  EXPECT_EQ(after, before);
}

TEST_F(Dump, WhatHoldsNoFrontierIsRefusedAndLeftAsItIs) {
  EXPECT_EQ(dump_error(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(state()));
  std::filesystem::create_directories(state());
  EXPECT_EQ(dump_error(), ErrorCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(state()));
  open();
  std::filesystem::remove_all(store_path(state()));
  EXPECT_EQ(dump_error(), ErrorCode::kCorrupt);
  ASSERT_TRUE(EmbeddedFrontier::remove(state()).has_value());
  EXPECT_EQ(dump_error(), ErrorCode::kNotFound);
}

TEST_F(Dump, TheErrorOfAVisitEndsIt) {
  auto frontier = open();
  offer(*frontier, numbered_urls(10));
  frontier = nullptr;
  int visits = 0;
  const auto done = dump_frontier(state(), {}, [&](const DumpedUrl&) -> Result<void> {
    if (++visits == 3) return error(ErrorCode::kNoSpace, "enough");
    return {};
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().message, "enough");
  EXPECT_EQ(visits, 3);
}

TEST_F(Dump, DamagedRecordsAreLeftOutAndTold) {
  auto frontier = open();
  offer(*frontier, {"http://a.example/1", "http://b.example/1"});
  frontier = nullptr;
  {
    const auto store = open_store();
    Store::Batch batch;
    batch.add_pending(0, {.priority = 0, .sequence = 1'000'000}, "\xff\xff\xff");
    batch.add_deferred(5, 1'000'001, 7, 0, "");
    batch.set_aside({1, 2}, "\xff\xff\xff");
    ASSERT_TRUE(store->write(batch).has_value());
  }
  std::vector<std::string> urls;
  const auto done = dump_frontier(state(), {}, [&](const DumpedUrl& url) -> Result<void> {
    urls.emplace_back(url.url);
    return {};
  });
  EXPECT_THAT(urls, UnorderedElementsAre("http://a.example/1", "http://b.example/1"));
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(done.error().message, HasSubstr("3 URLs"));
  EXPECT_EQ(summarize(5).stats.hosts, 3u);
}

TEST_F(Dump, TimesBeyondTheClockAreTheLastItHas) {
  open();
  {
    const auto store = open_store();
    Store::Batch batch;
    using Limits = std::numeric_limits<std::int64_t>;
    std::uint64_t sequence = 0;
    for (const std::int64_t time : {Limits::min(), Limits::max(), std::int64_t{-1}})
      batch.add_deferred(time, sequence++, 7, 0, encode_record({.url = "http://a.example/"}));
    ASSERT_TRUE(store->write(batch).has_value());
  }
  const auto lines = dump();
  ASSERT_THAT(lines, SizeIs(3));
  for (const Line& line : lines) {
    EXPECT_GE(line.not_before, SystemTime::min());
    EXPECT_LE(line.not_before, SystemTime::max());
  }
}

TEST_F(Dump, TheSummaryCounts) {
  const auto frontier = open(virtual_options());
  admit(*frontier, {{.url = "http://a.example/1", .depth = 3},
                    {.url = "http://a.example/2"},
                    {.url = "http://a.example/3", .not_before = clocks_.wall() + 1h},
                    {.url = "http://b.example/1"}});
  offer(*frontier, {"http://a.example/1", "nonsense"});
  const auto leases = lease_all(*frontier);
  for (const Lease& lease : leases) {
    if (lease.url == "http://a.example/2") complete(*frontier, lease);
  }
  ASSERT_TRUE(frontier->checkpoint());
  close(*frontier);
  const FrontierSummary summary = summarize();
  EXPECT_EQ(summary.stats.admitted, 4u);
  EXPECT_EQ(summary.stats.completed, 1u);
  EXPECT_EQ(summary.stats.queued, 2u);
  EXPECT_EQ(summary.stats.deferred, 1u);
  EXPECT_EQ(summary.stats.seen, 1u);
  EXPECT_EQ(summary.stats.invalid, 1u);
  EXPECT_EQ(summary.stats.deepest, 3u);
  EXPECT_EQ(summary.stats.hosts, 2u);
  EXPECT_EQ(summary.profile, Profile{}.name());
  EXPECT_EQ(summary.ledger, false);
  EXPECT_THAT(summary.longest_queues, IsEmpty());
  EXPECT_THAT(summary.warnings, IsEmpty());
  ASSERT_THAT(summary.checkpoints, SizeIs(1));
  EXPECT_EQ(summary.checkpoints[0].sequence, 4u);
  const auto file = state() / summary.checkpoints[0].file;
  EXPECT_EQ(summary.checkpoints[0].bytes, std::filesystem::file_size(file));
  EXPECT_GT(summary.store_bytes, 0u);
  EXPECT_GE(summary.disk_bytes, summary.store_bytes + summary.checkpoints[0].bytes +
                                    std::filesystem::file_size(state() / "MANIFEST"));
}

TEST_F(Dump, TheSummaryHasTheLongestQueuesWithTheirHosts) {
  const auto frontier = open();
  for (int host = 0; host < 20; ++host) {
    for (int i = 0; i <= host; ++i)
      offer_one(*frontier, fmt::format("http://h{}.example/{}", host, i));
  }
  const SystemTime until =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now() + 1h);
  ASSERT_TRUE(frontier->set_host("h19.example", {.delay = 7s}).has_value());
  ASSERT_TRUE(frontier->set_host("h19.example", {.leases = 3}).has_value());
  ASSERT_TRUE(frontier->set_host("h18.example", {.blocked_until = until}).has_value());
  ASSERT_TRUE(frontier->set_host("h17.example", {.limit = 0}).has_value());
  ASSERT_TRUE(frontier->set_host("h16.example", {.limit = 5}).has_value());
  close(*frontier);
  const FrontierSummary summary = summarize(4);
  EXPECT_EQ(summary.stats.hosts, 20u);
  EXPECT_EQ(summary.stats.hosts_blocked, 1u);
  EXPECT_EQ(summary.stats.hosts_parked, 0u);
  const auto& hosts = summary.longest_queues;
  ASSERT_THAT(hosts, SizeIs(4));
  EXPECT_EQ(hosts[0].host, "h19.example");
  EXPECT_EQ(hosts[0].queued, 20u);
  EXPECT_EQ(hosts[0].state, HostState::kActive);
  EXPECT_EQ(hosts[0].settings.delay, 7s);
  EXPECT_EQ(hosts[0].settings.leases, 3u);
  EXPECT_EQ(hosts[1].host, "h18.example");
  EXPECT_EQ(hosts[1].queued, 19u);
  EXPECT_EQ(hosts[1].state, HostState::kBlocked);
  EXPECT_EQ(hosts[1].settings.blocked_until, until);
  EXPECT_EQ(hosts[2].state, HostState::kAtLimit);
  EXPECT_EQ(hosts[2].settings.limit, 0u);
  EXPECT_EQ(hosts[3].state, HostState::kActive);
  EXPECT_EQ(hosts[3].settings.limit, 5u);
  EXPECT_THAT(summarize(1000).longest_queues, SizeIs(20));
}

TEST_F(Dump, AHostThatWasGivenUpIsCounted) {
  EmbeddedOptions options = virtual_options();
  options.retry.host_failures = 1;
  const auto frontier = open(options);
  offer(*frontier, {"http://a.example/1", "http://a.example/2"});
  const auto leases = lease(*frontier, 1);
  ASSERT_THAT(leases, SizeIs(1));
  const auto verdict = frontier->fail(leases[0].id, FailureReason::kTimeout);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->host_parked);
  close(*frontier);
  const FrontierSummary summary = summarize(1);
  EXPECT_EQ(summary.stats.hosts_parked, 1u);
  ASSERT_THAT(summary.longest_queues, SizeIs(1));
  EXPECT_EQ(summary.longest_queues[0].state, HostState::kParked);
  EXPECT_EQ(summary.longest_queues[0].failures, 1u);
}

TEST_F(Dump, ADamagedManifestIsAWarning) {
  auto frontier = open();
  offer(*frontier, numbered_urls(10));
  ASSERT_TRUE(frontier->checkpoint());
  close(*frontier);
  frontier = nullptr;
  const auto manifest = Manifest::path_in(state());
  std::filesystem::resize_file(manifest, std::filesystem::file_size(manifest) - 1);
  EXPECT_THAT(dump(), SizeIs(10));
  FrontierSummary summary = summarize();
  EXPECT_THAT(summary.warnings, ElementsAre(HasSubstr("MANIFEST is damaged")));
  EXPECT_EQ(summary.profile, std::nullopt);
  EXPECT_EQ(summary.ledger, std::nullopt);
  EXPECT_EQ(summary.stats.queued, 10u);
  ASSERT_THAT(summary.checkpoints, SizeIs(1));
  EXPECT_EQ(summary.checkpoints[0].sequence, std::nullopt);
  EXPECT_GT(summary.checkpoints[0].bytes, 0u);
  std::filesystem::remove(manifest);
  EXPECT_THAT(summarize().warnings,
              ElementsAre(AllOf(HasSubstr("no MANIFEST"), HasSubstr("dump"))));
}

TEST_F(Dump, MissingCheckpointsAreWarningsAndNoMore) {
  auto frontier = open();
  offer(*frontier, numbered_urls(10));
  ASSERT_TRUE(frontier->checkpoint());
  close(*frontier);
  frontier = nullptr;
  const std::string file = summarize().checkpoints.at(0).file;
  std::filesystem::remove(state() / file);
  EXPECT_THAT(dump(), SizeIs(10));
  const FrontierSummary summary = summarize();
  EXPECT_THAT(summary.warnings, ElementsAre(AllOf(HasSubstr(file), HasSubstr("missing"))));
  EXPECT_EQ(summary.checkpoints.at(0).bytes, 0u);
}

}  // namespace
}  // namespace trawl::test
