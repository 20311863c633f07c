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

}  // namespace
}  // namespace trawl
