#include "frontier/schedule/time_heap.h"

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

struct Moved {
  std::vector<std::uint32_t>* positions;
  void operator()(std::uint32_t number, std::uint32_t position) const {
    (*positions)[number] = position;
  }
};

TEST(TimeHeap, GivesTheEarliestFirstAndTiesInTheOrderOfTheirComing) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kNumbers = 300;
  std::vector<std::uint32_t> positions(kNumbers);
  TimeHeap<Moved> heap(Moved{&positions});
  std::set<std::tuple<SteadyTime, std::uint64_t, std::uint32_t>> model;
  std::map<std::uint32_t, std::tuple<SteadyTime, std::uint64_t, std::uint32_t>> entry_of;
  for (std::uint64_t step = 0; step < 100'000; ++step) {
    const auto number = static_cast<std::uint32_t>(random() % kNumbers);
    const SteadyTime time = SteadyTime{} + std::chrono::seconds(random() % 50);
    const auto entry = entry_of.find(number);
    if (entry == entry_of.end()) {
      heap.push(time, number);
    } else {
      ASSERT_EQ(heap.time_at(positions[number]), std::get<0>(entry->second));
      model.erase(entry->second);
      if (random() % 2 == 0) {
        heap.remove(positions[number]);
        entry_of.erase(entry);
        continue;
      }
      heap.move(positions[number], time);
    }
    entry_of[number] = {time, step, number};
    model.insert(entry_of[number]);
    ASSERT_EQ(heap.top().number, std::get<2>(*model.begin()));
  }
  while (!model.empty()) {
    ASSERT_EQ(heap.top().number, std::get<2>(*model.begin()));
    model.erase(model.begin());
    heap.remove(0);
  }
  EXPECT_TRUE(heap.empty());
}

TEST(TimeHeap, FindsTheEarliestOfThoseThatAreWanted) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const auto numbers = static_cast<std::uint32_t>(random() % 60);
    std::vector<std::uint32_t> positions(numbers);
    TimeHeap<Moved> heap(Moved{&positions});
    std::vector<SteadyTime> times;
    for (std::uint32_t n = 0; n < numbers; ++n) {
      times.push_back(SteadyTime{} + std::chrono::seconds(random() % 50));
      heap.push(times[n], n);
    }
    const std::uint32_t share = 1 + random() % 8;
    const auto wanted = [share](std::uint32_t n) { return n % share == 0; };
    SteadyTime first = SteadyTime::max();
    for (std::uint32_t n = 0; n < numbers; n += share)
      first = std::min(first, times[n]);
    EXPECT_EQ(heap.first_time(wanted, 1000), first);
    // With fewer looked at it is a lower bound, and never before the top.
    const SteadyTime bound = heap.first_time(wanted, random() % 4);
    EXPECT_LE(bound, first);
    if (numbers > 0) {
      EXPECT_GE(bound, heap.top().time);
    }
  }
}

}  // namespace
}  // namespace trawl
