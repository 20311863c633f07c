#include "frontier/schedule/flat_index.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(FlatIndex, IsAsAMapOfItsKeys) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  FlatIndex index;
  std::map<std::uint64_t, std::uint32_t> model;
  std::vector<std::uint64_t> key_of;  // by number
  const auto find = [&](std::uint64_t key) {
    return index.find(key, [&](std::uint32_t number) { return key_of[number] == key; });
  };
  // Phases of growth and of decline, over keys that are close together.
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t key = random() % 2000 << (random() % 2 * 32);
    const auto found = model.find(key);
    ASSERT_EQ(find(key), found == model.end() ? FlatIndex::kNone : found->second);
    const bool grows = step / 20'000 % 2 == 0 ? random() % 4 > 0 : random() % 4 == 0;
    if (found == model.end() && grows) {
      const auto number = static_cast<std::uint32_t>(key_of.size());
      key_of.push_back(key);
      index.insert(key, number);
      model.emplace(key, number);
    } else if (found != model.end() && random() % 8 == 0) {
      const auto number = static_cast<std::uint32_t>(key_of.size());
      key_of.push_back(key);
      index.replace(key, found->second, number);
      found->second = number;
    } else if (found != model.end() && !grows) {
      index.erase(key, found->second);
      model.erase(found);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  for (const auto& [key, number] : model)
    EXPECT_EQ(find(key), number);
}

}  // namespace
}  // namespace trawl
