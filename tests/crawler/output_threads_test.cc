// The output with several threads that submit, as fetchers do, and of which any may write.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crawler/http/body_memory_budget.h"
#include "crawler/output/output.h"
#include "tests/crawler/output_fixture.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::exchange_of;
using test::Fetched;
using test::fetched_body;
using test::FoundRecord;
using test::OutputPlace;
using test::TemporaryDirectory;

TEST(OutputThreads, OfNEqualBodiesOneIsTheFirst) {
  constexpr int kThreads = 3;
  constexpr int kPagesEach = 1500;
  constexpr int kBodies = 300;
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open();
  std::atomic<int> written = 0;
  std::vector<std::thread> fetchers;
  for (int thread = 0; thread < kThreads; ++thread) {
    fetchers.emplace_back([&, thread] {
      std::mt19937_64 random(seed + static_cast<unsigned>(thread));
      WarcBuilder builder({.replaceable = true});
      for (int i = 0; i < kPagesEach; ++i) {
        const std::string url =
            "http://" + std::to_string(thread) + ".example/" + std::to_string(i);
        const std::string body = "body " + std::to_string(random() % kBodies);
        Fetched page = fetched_body(builder, url, body);
        if (const auto first = output->find_body(page.output->page.digest)) {
          const RevisitOf of{first->url, first->date, page.output->page.digest, false};
          page.output->warc = builder.build(exchange_of(url, body), {}, &of);
        }
        output->submit(page.output, [&] { ++written; });
        if (i % 100 == 0)
          test::submit_record(*output, builder.build(exchange_of(url + "/robots", "")));
        if (random() % 4 == 0) output->write_due(true);
      }
    });
  }
  for (std::thread& fetcher : fetchers)
    fetcher.join();
  const auto flushed = output->flush();
  ASSERT_TRUE(flushed) << flushed.error().message;
  EXPECT_EQ(written.load(), kThreads * kPagesEach);
  EXPECT_EQ(output->queued_bytes(), 0u);
  ASSERT_TRUE(output->close());

  std::map<std::string, std::string> first_of;  // by digest
  std::set<std::string> urls;
  const auto lines = place.pages();
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kThreads * kPagesEach));
  for (const auto& line : lines) {
    ASSERT_TRUE(urls.insert(line["url"]).second);
    if (line["duplicate_of"].is_null()) {
      ASSERT_TRUE(first_of.emplace(line["digest"], line["url"]).second) << line;
    }
  }
  EXPECT_EQ(first_of.size(), static_cast<std::size_t>(kBodies));
  for (const auto& line : lines) {
    if (line["duplicate_of"].is_null()) continue;
    ASSERT_EQ(line["duplicate_of"], first_of[line["digest"]]) << line;
  }
  for (const auto& [payload, responses] : test::check_revisits(place.files())) {
    if (payload != sha1_digest("")) {  // robots.txt
      EXPECT_EQ(responses, 1) << payload;
    }
  }
  // Each page has one record, and a line that points to it.
  auto records = test::count_records(place.files());
  for (std::size_t i = 0; i < lines.size(); i += 37) {
    const FoundRecord record = test::record_at(place.files(), lines[i]["warc"]);
    ASSERT_EQ(record.url, lines[i]["url"]);
    ASSERT_EQ(records[record], 1);
    if (record.type == "revisit") {
      ASSERT_FALSE(lines[i]["duplicate_of"].is_null());
    }
  }
}

// Takes `bytes` of the budget, as a transfer does. False: the budget answered that there never will
// be room.
bool wait_for_room(BodyMemoryBudget& budget, BodyCharge& charge, std::uint64_t bytes) {
  struct Waker {
    std::mutex mutex;
    std::condition_variable changed;
    bool woken = false;
  } waker;
  BodyWaiter waiter;
  waiter.charge = &charge;
  waiter.wanted = bytes;
  waiter.since = std::chrono::steady_clock::now();
  waiter.context = &waker;
  waiter.wake = [](void* context) {
    auto* const told = static_cast<Waker*>(context);
    const std::lock_guard lock(told->mutex);
    told->woken = true;
    told->changed.notify_one();
  };
  budget.wait(waiter);
  while (budget.state(waiter) == BodyWaiter::State::kWaiting) {
    std::unique_lock lock(waker.mutex);
    waker.changed.wait(lock, [&] { return waker.woken; });
    waker.woken = false;
  }
  return budget.state(waiter) == BodyWaiter::State::kGranted;
}

struct BudgetCase {
  const char* name;
  std::uint64_t limit;
  std::size_t body;
  int pages;
  bool settles;  // without: the writer thread alone writes
};

class OutputBudget : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(OutputBudget, BoundsWhatWaitsToBeWritten) {
  const BudgetCase& given = GetParam();
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto output = place.open(true);
  const auto budget = std::make_shared<BodyMemoryBudget>(given.limit);
  std::atomic<std::uint64_t> most{0};
  std::vector<std::thread> fetchers;
  std::atomic<int> evicted{0};
  for (int thread = 0; thread < 2; ++thread) {
    fetchers.emplace_back([&, thread] {
      std::mt19937_64 random(static_cast<unsigned>(thread));
      WarcBuilder builder;
      for (int i = 0; i < given.pages; ++i) {
        // Random bytes, that compression makes no smaller.
        std::string body(given.body, '\0');
        for (char& c : body)
          c = static_cast<char>(random());
        BodyCharge charge(budget);
        if (!wait_for_room(*budget, charge, body.size() + 16 * 1024)) {
          ++evicted;
          continue;
        }
        const std::string url =
            "http://" + std::to_string(thread) + ".example/" + std::to_string(i);
        Fetched page = fetched_body(builder, url, body);
        page.output->charge = std::move(charge);
        output->submit(page.output, [] {});
        most.store(std::max(most.load(), output->queued_bytes()));
        if (given.settles) output->write_due(true);
      }
    });
  }
  for (std::thread& fetcher : fetchers)
    fetcher.join();
  ASSERT_TRUE(output->close());
  EXPECT_EQ(evicted.load(), 0);
  EXPECT_GT(most.load(), 0u);
  EXPECT_LE(most.load(), given.limit);
  EXPECT_EQ(budget->used(), 0u);
  EXPECT_EQ(place.pages().size(), static_cast<std::size_t>(2 * given.pages));
  int responses = 0;
  for (const auto& [record, count] : test::count_records(place.files()))
    responses += record.type == "response" ? count : 0;
  EXPECT_EQ(responses, 2 * given.pages);
}

INSTANTIATE_TEST_SUITE_P(
    All, OutputBudget,
    ::testing::Values(BudgetCase{"Large", 2u << 20, 100'000, 150, true},
                      BudgetCase{"LargeNoSettling", 2u << 20, 100'000, 150, false},
                      // Less than what wakes the writer.
                      BudgetCase{"Small", 100'000, 10'000, 20, true},
                      BudgetCase{"SmallNoSettling", 100'000, 10'000, 20, false}),
    [](const auto& info) { return std::string(info.param.name); });

// Links are held, and charged, until their lines are written.
TEST(OutputThreads, AChargeIsGivenBackWithTheLastOfWhatItWasFor) {
  const TemporaryDirectory directory;
  const OutputPlace place(directory.path());
  const auto budget = std::make_shared<BodyMemoryBudget>(10u << 20);
  const auto output = place.open();
  WarcBuilder builder;
  Fetched page = fetched_body(builder, "http://a.example/", "body");
  for (int i = 0; i < 1000; ++i)
    test::add_link(*output, page,
                   {.to = "http://b.example/", .kind = "form", .text = "", .rel = ""});
  page.output->charge = BodyCharge(budget);
  ASSERT_TRUE(page.output->charge.grow(5u << 20));
  std::size_t lines = 0;
  for (const std::string& part : page.output->parts)
    lines += part.size();
  ASSERT_GT(lines, 1000u);
  output->submit(page.output, [] {});
  EXPECT_LT(budget->used(), 1u << 20) << "the body is gone";
  EXPECT_GE(budget->used(), lines);
  ASSERT_TRUE(output->flush());
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace trawl
