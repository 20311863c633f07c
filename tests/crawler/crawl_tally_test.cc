// The numbers of a crawl add up to the lines of pages.jsonl, whatever happens to the file that
// keeps them.
#include "crawler/tally/crawl_tally.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/tally/crawl_history.h"
#include "crawler/tally/stored_tally.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string line(std::string_view url, int status, std::string_view more = "") {
  return fmt::format(R"({{"url":"{}","status":{},"bytes":10,"elapsed_ms":7,)"
                     R"("fetched_at":"2026-01-02T03:04:05.678Z"{}}})"
                     "\n",
                     url, status, more);
}

TalliedPage page(std::string_view host, int status, std::string_view reason = "") {
  return {.url = "http://a.example/",
          .host = host,
          .status = status,
          .error = reason,
          .reason = reason,
          .bytes = 100,
          .elapsed = 20ms};
}

std::uint64_t classes_of(const TallyTotals& totals) {
  return std::accumulate(totals.by_class.begin(), totals.by_class.end(), std::uint64_t{0});
}

std::uint64_t failures_of(const TallyTotals& totals) {
  std::uint64_t count = 0;
  for (const auto& [reason, failure] : totals.failures)
    count += failure.count;
  return count;
}

TEST(CrawlTallyTest, CountsEachLineOnceByClassAndByReason) {
  CrawlTally tally;
  tally.add(page("a.example", 200));
  tally.add(page("a.example", 404));
  tally.add(page("b.example", 0, "connection refused"));
  tally.add(page("b.example", 0, "connection refused"));
  const TallyTotals totals = tally.totals();
  EXPECT_EQ(totals.lines, 4u);
  EXPECT_THAT(totals.by_class, ElementsAre(2, 0, 1, 0, 1, 0));
  EXPECT_EQ(totals.failed, 3u);
  EXPECT_EQ(totals.failures.at("HTTP 404").count, 1u);
  EXPECT_EQ(totals.failures.at("connection refused").count, 2u);
  EXPECT_EQ(totals.failures.at("connection refused").url, "http://a.example/");
  EXPECT_EQ(failures_of(totals), totals.failed);
  EXPECT_EQ(tally.of_this_run(), totals);
  EXPECT_THAT(tally.recent_errors(2), SizeIs(2));
  const auto worst = tally.top_hosts(TallyOrder::kFailed, 1);
  ASSERT_THAT(worst, SizeIs(1));
  EXPECT_EQ(worst[0].host, "b.example");
}

TEST(CrawlTallyTest, KeepsTheSumsWhenHostsAreForgotten) {
  CrawlTally tally;
  const std::size_t hosts = 2 * CrawlTally::kMaxHosts + 10;
  for (std::size_t i = 0; i < hosts; ++i)
    tally.add(page(fmt::format("{}.example", i), 200));
  const TallySnapshot snapshot = tally.snapshot();
  EXPECT_LE(snapshot.hosts.size(), CrawlTally::kMaxHosts);
  std::uint64_t fetched = snapshot.other_hosts.fetched;
  for (const HostTally& host : snapshot.hosts)
    fetched += host.fetched;
  EXPECT_EQ(fetched, hosts);
}

TEST(CrawlTallyTest, KeepsABoundedNumberOfReasonsAndErrors) {
  CrawlTally tally;
  for (int i = 0; i < 1000; ++i)
    tally.add(page("a.example", 0, fmt::format("reason {}", i)));
  const TallyTotals totals = tally.totals();
  EXPECT_LE(totals.failures.size(), CrawlTally::kMaxReasons + 1);
  EXPECT_EQ(failures_of(totals), 1000u);
  EXPECT_THAT(tally.recent_errors(10'000), SizeIs(CrawlTally::kMaxErrors));
  EXPECT_EQ(tally.recent_errors(1)[0].reason, "reason 999");
  EXPECT_EQ(tally.error_count(), 1000u);
}

TEST(CrawlTallyTest, MeasuresTheSmallestGapOfEachHost) {
  CrawlTally tally;
  const std::chrono::steady_clock::time_point start{};
  tally.note_start("a.example", start);
  EXPECT_FALSE(tally.host("a.example")->smallest_gap);
  tally.note_start("b.example", start + 1ms);
  tally.note_start("a.example", start + 500ms);
  tally.note_start("a.example", start + 800ms);
  tally.note_start("a.example", start + 2s);
  EXPECT_EQ(tally.host("a.example")->smallest_gap, 300ms);
}

class StoredTallyTest : public testing::Test {
 protected:
  void append(std::string_view text) const {
    std::ofstream(pages(), std::ios::binary | std::ios::app) << text;
  }
  StoredTally read() const {
    auto stored = StoredTally::read(directory_.path(), pages());
    EXPECT_TRUE(stored) << stored.error().message;
    return stored ? *stored : StoredTally{};
  }
  std::filesystem::path pages() const { return directory_.path() / "pages.jsonl"; }

  TemporaryDirectory directory_;
};

TEST_F(StoredTallyTest, IsEmptyWithoutFiles) {
  const StoredTally stored = read();
  EXPECT_EQ(stored.tally.totals, TallyTotals{});
  EXPECT_THAT(stored.warnings, IsEmpty());
}

TEST_F(StoredTallyTest, AddsTheLinesAfterItsOffset) {
  append(line("http://a.example/", 200) + line("http://a.example/b", 404));
  StoredTally stored = read();
  EXPECT_EQ(stored.tally.totals.lines, 2u);
  EXPECT_EQ(stored.tally.offset, std::filesystem::file_size(pages()));
  ASSERT_TRUE(stored.write(directory_.path()));
  append(line("http://b.example/", 0, R"(,"error":"refused","reason":"connection refused")"));
  append(R"({"url":"http://b.example/torn","sta)");  // as a crash leaves it
  const StoredTally later = read();
  EXPECT_EQ(later.tally.totals.lines, 3u);
  EXPECT_EQ(classes_of(later.tally.totals), 3u);
  EXPECT_EQ(later.tally.totals.failures.at("connection refused").count, 1u);
  EXPECT_EQ(later.tally.totals.failures.at("HTTP 404").url, "http://a.example/b");
  EXPECT_THAT(later.tally.hosts, SizeIs(2));
}

TEST_F(StoredTallyTest, ComesBackAsItWas) {
  CrawlTally tally;
  tally.add(page("a.example", 200));
  tally.add(page("a.example", 0, "timeout"));
  tally.note_start("a.example", {});
  tally.note_start("a.example", std::chrono::steady_clock::time_point{} + 12ms);
  StoredTally stored;
  stored.tally = tally.snapshot();
  stored.skipped = {{"out of scope", 7}};
  stored.history = {{.time = SystemTime(1'700'000'000s), .pages = 3, .bytes = 5}};
  stored.history_interval = 2s;
  stored.peak_memory = 1234;
  stored.elapsed_ms = 99;
  ASSERT_TRUE(stored.write(directory_.path()));
  const StoredTally read_back = read();
  EXPECT_EQ(read_back.tally.totals, stored.tally.totals);
  EXPECT_EQ(read_back.tally.hosts, stored.tally.hosts);
  EXPECT_EQ(read_back.tally.errors, stored.tally.errors);
  EXPECT_EQ(read_back.history, stored.history);
  EXPECT_EQ(read_back.history_interval, 2s);
  EXPECT_EQ(read_back.skipped, stored.skipped);
  EXPECT_EQ(read_back.peak_memory, 1234u);
  EXPECT_EQ(read_back.elapsed_ms, 99u);
}

TEST_F(StoredTallyTest, IsCountedAgainWhereverItIsDamaged) {
  append(line("http://a.example/", 200) + line("http://a.example/b", 503));
  ASSERT_TRUE(read().write(directory_.path()));
  std::ifstream file(StoredTally::path(directory_.path()), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
    std::ofstream(StoredTally::path(directory_.path()), std::ios::binary | std::ios::trunc)
        << whole.substr(0, size);
    const StoredTally stored = read();
    EXPECT_EQ(stored.tally.totals.lines, 2u) << "cut to " << size;
    EXPECT_EQ(classes_of(stored.tally.totals), 2u) << "cut to " << size;
    EXPECT_THAT(stored.warnings, SizeIs(1)) << "cut to " << size;
  }
}

TEST_F(StoredTallyTest, IsCountedAgainIfPagesAreOfAnotherCrawl) {
  append(line("http://a.example/", 200) + line("http://a.example/b", 200));
  ASSERT_TRUE(read().write(directory_.path()));
  std::filesystem::remove(pages());
  append(line("http://c.example/", 500));
  const StoredTally stored = read();
  EXPECT_EQ(stored.tally.totals.lines, 1u);
  EXPECT_EQ(stored.tally.totals.failed, 1u);
  EXPECT_EQ(stored.tally.offset, std::filesystem::file_size(pages()));
}

TEST_F(StoredTallyTest, RefusesAFileOfALaterVersion) {
  std::ofstream(StoredTally::path(directory_.path())) << R"({"version":1000})";
  const auto stored = StoredTally::read(directory_.path(), pages());
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error().message, testing::HasSubstr("newer"));
}

TEST(CrawlHistoryTest, CoversAnyTimeWithABoundedNumberOfSamples) {
  CrawlHistory history;
  SystemTime now(1'700'000'000s);
  const SystemTime begin = now;
  for (int i = 0; i < 10'000; ++i, now += 1s)
    if (history.is_due(now)) history.add({.time = now, .pages = static_cast<std::uint64_t>(i)});
  const auto samples = history.samples();
  EXPECT_LE(samples.size(), CrawlHistory::kMaxSamples);
  EXPECT_GE(samples.size(), CrawlHistory::kMaxSamples / 2);
  EXPECT_EQ(samples.front().time, begin);
  EXPECT_GE(samples.back().time, now - 2 * history.interval());
  EXPECT_TRUE(std::ranges::is_sorted(samples, {}, &HistorySample::time));
}

}  // namespace
}  // namespace trawl::test
