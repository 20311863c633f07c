// What the cache of robots.txt keeps, and what it drops.
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/crawler/robots_cache_fixture.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::failure;
using test::host;
using test::response;
using test::rules;
using test::some_url;

using Action = RobotsCache::Action;
using Time = RobotsCache::Time;

TEST(RobotsCache, DropsTheLeastRecentlyUsed) {
  RobotsCache cache({.capacity = 3});
  const Time now{hours(1)};
  for (const char* origin : {"http://a", "http://b", "http://c"}) {
    cache.store(origin, rules(), now);
    EXPECT_EQ(cache.find(origin, now).action, Action::kObey) << origin;
  }
  EXPECT_EQ(cache.find("http://a", now).action, Action::kObey);
  cache.store("http://d", rules(), now);
  EXPECT_EQ(cache.find("http://d", now).action, Action::kObey);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find("http://b", now).action, Action::kFetch);
  for (const char* origin : {"http://a", "http://c", "http://d"})
    EXPECT_EQ(cache.find(origin, now).action, Action::kObey) << origin;
}

// A URL that waits for the rules of an origin finds them, however many others are stored meanwhile.
TEST(RobotsCache, KeepsWhatWasNotAskedForYet) {
  RobotsCache cache({.capacity = 2});
  const Time now{hours(1)};
  for (int i = 0; i < 50; ++i)
    cache.store(host(i), rules(), now);
  EXPECT_EQ(cache.size(), 50u);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(cache.find(host(i), now).action, Action::kObey) << host(i);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find(host(47), now).action, Action::kFetch);
}

TEST(RobotsCache, KeepsWhatWasRenewedUntilItIsAskedFor) {
  RobotsCache cache({.capacity = 2});
  const Time now{hours(1)};
  const Time later = now + hours(30);
  cache.store("http://a", rules(), now);
  EXPECT_EQ(cache.find("http://a", now).action, Action::kObey);
  cache.store("http://a", rules(), later);
  for (const char* origin : {"http://b", "http://c", "http://d"}) {
    cache.store(origin, rules(), later);
    EXPECT_EQ(cache.find(origin, later).action, Action::kObey) << origin;
  }
  EXPECT_EQ(cache.find("http://a", later).action, Action::kObey);
}

// Or a crawl of many hosts that fail would never come to the end of their retries.
TEST(RobotsCache, FailuresOfMoreHostsThanItKeepsAreCountedToTheirEnd) {
  constexpr int kHosts = 50;
  RobotsCache cache({.capacity = 2, .retries = 3, .backoff = seconds(1)});
  Time now{hours(1)};
  for (int turn = 0; turn <= 3; ++turn) {
    for (int i = 0; i < kHosts; ++i)
      ASSERT_EQ(cache.find(host(i), now).action, Action::kFetch) << host(i);
    for (int i = 0; i < kHosts; ++i) {
      ASSERT_EQ(cache.store(host(i), failure(), now).action,
                turn < 3 ? Action::kWait : Action::kFail);
      if (turn < 3) {
        EXPECT_EQ(cache.find(host(i), now).action, Action::kWait);
      }
    }
    EXPECT_EQ(cache.size(), turn < 3 ? std::size_t{kHosts} : 2u);
    now += minutes(1);
  }
}

std::string many_rules(int rules) {
  std::string text = "User-agent: *\n";
  for (int i = 0; i < rules; ++i)
    text += "Disallow: /folder-" + std::to_string(i) + "/*.html$\n";
  return text;
}

TEST(RobotsCache, M1_DropsTheLeastRecentlyUsedWhereBytesRunOut) {
  constexpr std::size_t kBytes = 1 << 20;
  RobotsCache cache({.max_memory = kBytes});
  const Time now{hours(1)};
  const HttpResponse large = response(200, many_rules(500));
  const Url url = *Url::parse("http://site.example/folder-7/a.html");
  for (int i = 0; i < 200; ++i) {
    cache.store(host(i), large, now);
    const RobotsAnswer found = cache.find(host(i), now);
    ASSERT_EQ(found.action, Action::kObey) << host(i);
    EXPECT_FALSE(found.rules->allowed("trawl", url)) << "compiles the rules";
    cache.store("http://small", response(404), now);  // and measures what was used
    EXPECT_EQ(cache.find("http://small", now).action, Action::kObey);
    ASSERT_LE(cache.memory(), kBytes) << host(i);
  }
  EXPECT_GT(cache.memory(), kBytes / 2);
  EXPECT_LT(cache.size(), 60u) << "about 20 KB of rules, and again as much compiled";
  EXPECT_GT(cache.size(), 5u);
  EXPECT_EQ(cache.find(host(199), now).action, Action::kObey);
  EXPECT_EQ(cache.find(host(0), now).action, Action::kFetch);
}

TEST(RobotsCache, M1_TheBytesOfRulesGrowWhenTheyAreUsed) {
  RobotsCache cache({.capacity = 10});
  const Time now{hours(1)};
  cache.store("http://site.example", response(200, many_rules(500)), now);
  const RobotsAnswer found = cache.find("http://site.example", now);
  const std::size_t stored = cache.memory();
  EXPECT_GE(stored, found.rules->memory());
  EXPECT_TRUE(found.rules->allowed("trawl", some_url()));
  cache.find("http://other", now);
  EXPECT_GT(cache.memory(), stored + 10'000);
  EXPECT_GE(cache.memory(), cache.find("http://site.example", now).rules->memory());
}

// A wait for rules that are dropped before they are used would have no end.
TEST(RobotsCache, M1_BytesOfRulesThatUrlsWaitForMakeOthersGoButStay) {
  RobotsCache cache({.max_memory = 1});
  const Time now{hours(1)};
  for (int i = 0; i < 50; ++i) {
    cache.store(host(i), response(200, many_rules(10 + i)), now);
    EXPECT_EQ(cache.size(), static_cast<std::size_t>(i) + 1);
  }
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(cache.find(host(i), now).action, Action::kObey) << host(i);
    EXPECT_EQ(cache.size(), static_cast<std::size_t>(50 - i)) << "only the last one used";
  }
  RobotsCache other({.max_memory = 1});
  other.store(host(49), response(200, many_rules(59)), now);
  other.find(host(49), now);
  EXPECT_EQ(cache.memory(), other.memory()) << "nothing is left of the others";
}

// Against a model that is plain enough to be right.
TEST(RobotsCache, AgreesWithAModel) {
  constexpr std::size_t kCapacity = 5;
  struct Known {
    bool rules = false;
    bool unused = false;
    int failures = 0;
    Time ask_at;
  };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    RobotsCache cache({.capacity = kCapacity, .retries = 2, .backoff = minutes(20), .seed = seed});
    std::map<std::string, Known> known;
    std::list<std::string> used;  // most recent first
    const auto use = [&](const std::string& origin) {
      used.remove(origin);
      used.push_front(origin);
      if (used.size() <= kCapacity) return;
      known.erase(used.back());
      used.pop_back();
    };
    const auto expected = [](const Known& entry) {
      return entry.rules ? Action::kObey : entry.failures > 2 ? Action::kFail : Action::kWait;
    };
    Time now{hours(1)};
    for (int step = 0; step < 3000; ++step) {
      now += minutes(random() % 40);
      const std::string origin = host(static_cast<int>(random() % 12));
      if (random() % 2 == 0) {
        const bool failed = random() % 2 == 0;
        Known& entry = known[origin];
        entry.failures = failed ? entry.failures + 1 : 0;
        entry.rules |= !failed;
        entry.unused = entry.rules;
        used.remove(origin);
        const RobotsAnswer stored = cache.store(origin, failed ? failure() : rules(), now);
        ASSERT_EQ(stored.action, expected(entry)) << "step " << step;
        entry.ask_at = stored.ask_at;
        if (stored.action == Action::kFail) use(origin);
      } else if (const auto it = known.find(origin); it == known.end()) {
        ASSERT_EQ(cache.find(origin, now).action, Action::kFetch) << "step " << step;
      } else if (!it->second.unused && now >= it->second.ask_at) {
        ASSERT_EQ(cache.find(origin, now).action, Action::kFetch) << "step " << step;
        used.remove(origin);
      } else {
        it->second.unused = false;
        const Action wanted = expected(it->second);
        ASSERT_EQ(cache.find(origin, now).action, wanted) << "step " << step;
        if (wanted != Action::kWait) use(origin);
      }
      ASSERT_EQ(cache.size(), known.size()) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace trawl
