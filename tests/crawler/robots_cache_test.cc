#include "crawler/robots_cache.h"

#include <chrono>
#include <list>
#include <map>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using ::testing::HasSubstr;

using Time = RobotsCache::Time;

const Url& some_url() {
  static const Url url = *Url::parse("http://site.example/page");
  return url;
}

HttpResponse response(int status, std::string body = "User-agent: *\nDisallow: /\n") {
  HttpResponse made;
  made.status = status;
  made.body = std::move(body);
  return made;
}

TEST(ReadRobotsResponse, RulesAreTakenFrom2xxOnly) {
  for (const int status : {200, 203, 206, 299}) {
    const RobotsVerdict verdict = read_robots_response(response(status));
    ASSERT_TRUE(verdict.robots) << status;
    EXPECT_FALSE(verdict.robots->allowed("trawl", some_url())) << status;
  }
  const RobotsVerdict empty = read_robots_response(response(200, ""));
  ASSERT_TRUE(empty.robots);
  EXPECT_TRUE(empty.robots->allowed("trawl", some_url()));
}

TEST(ReadRobotsResponse, UnavailableAllowsAllWhateverTheBodySays) {
  for (const int status : {300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 410, 418, 451, 499}) {
    const RobotsVerdict verdict = read_robots_response(response(status));
    ASSERT_TRUE(verdict.robots) << status;
    EXPECT_TRUE(verdict.robots->allowed("trawl", some_url())) << status;
    EXPECT_FALSE(verdict.robots->crawl_delay("trawl")) << status;
  }
}

TEST(ReadRobotsResponse, UnreachableForbidsAllAndSaysTheStatus) {
  for (const int status : {429, 500, 502, 503, 504, 599}) {
    const RobotsVerdict verdict = read_robots_response(response(status));
    EXPECT_FALSE(verdict.robots) << status;
    EXPECT_THAT(verdict.reason, HasSubstr("robots.txt"));
    EXPECT_THAT(verdict.reason, HasSubstr(std::to_string(status)));
  }
}

TEST(ReadRobotsResponse, AFailedTransferForbidsAllWhateverItsStatus) {
  for (const int status : {0, 200, 301, 404}) {
    HttpResponse failed = response(status, "");
    failed.error = "connection reset";
    const RobotsVerdict verdict = read_robots_response(failed);
    EXPECT_FALSE(verdict.robots) << status;
    EXPECT_EQ(verdict.reason, "robots.txt: connection reset");
  }
}

TEST(RobotsCache, FindsWhatWasStored) {
  RobotsCache cache(10);
  const Time now{hours(1)};
  EXPECT_EQ(cache.find("http://a", now), nullptr);
  cache.store("http://a", Robots::disallow_all(), now);
  cache.store("https://a", Robots::allow_all(), now);
  ASSERT_NE(cache.find("http://a", now), nullptr);
  ASSERT_NE(cache.find("https://a", now), nullptr);
  EXPECT_FALSE(cache.find("http://a", now)->allowed("trawl", some_url()));
  EXPECT_TRUE(cache.find("https://a", now)->allowed("trawl", some_url()));
  EXPECT_EQ(cache.find("http://a:8080", now), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(RobotsCache, ForgetsAfterADayAndNotBefore) {
  RobotsCache cache(10);
  const Time stored{hours(5)};
  cache.store("http://a", Robots::allow_all(), stored);
  EXPECT_NE(cache.find("http://a", stored + hours(24)), nullptr);
  EXPECT_EQ(cache.find("http://a", stored + hours(24) + nanoseconds(1)), nullptr);
}

TEST(RobotsCache, BeingFoundDoesNotKeepRulesFresh) {
  RobotsCache cache(10);
  const Time stored{hours(5)};
  cache.store("http://a", Robots::allow_all(), stored);
  for (int hour = 0; hour <= 24; ++hour)
    EXPECT_NE(cache.find("http://a", stored + hours(hour)), nullptr);
  EXPECT_EQ(cache.find("http://a", stored + hours(25)), nullptr);
}

TEST(RobotsCache, StoringAgainRenewsTheRulesAndTheirAge) {
  RobotsCache cache(10);
  const Time first{hours(5)};
  cache.store("http://a", Robots::disallow_all(), first);
  cache.store("http://a", Robots::allow_all(), first + hours(30));
  EXPECT_EQ(cache.size(), 1u);
  const Robots* found = cache.find("http://a", first + hours(54));
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->allowed("trawl", some_url()));
}

TEST(RobotsCache, DropsTheLeastRecentlyUsed) {
  RobotsCache cache(3);
  const Time now{hours(1)};
  for (const char* origin : {"http://a", "http://b", "http://c"}) {
    cache.store(origin, Robots::allow_all(), now);
    EXPECT_NE(cache.find(origin, now), nullptr) << origin;
  }
  EXPECT_NE(cache.find("http://a", now), nullptr);
  cache.store("http://d", Robots::allow_all(), now);
  EXPECT_NE(cache.find("http://d", now), nullptr);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find("http://b", now), nullptr);
  for (const char* origin : {"http://a", "http://c", "http://d"})
    EXPECT_NE(cache.find(origin, now), nullptr) << origin;
}

// Whoever asked for the rules of an origin finds them, however many others are stored meanwhile.
TEST(RobotsCache, KeepsWhatWasNotAskedForYet) {
  RobotsCache cache(2);
  const Time now{hours(1)};
  const auto origin = [](int i) { return "http://host" + std::to_string(i); };
  for (int i = 0; i < 50; ++i)
    cache.store(origin(i), Robots::allow_all(), now);
  EXPECT_EQ(cache.size(), 50u);
  for (int i = 0; i < 50; ++i)
    EXPECT_NE(cache.find(origin(i), now), nullptr) << origin(i);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.find(origin(47), now), nullptr);
}

TEST(RobotsCache, KeepsWhatWasRenewedUntilItIsAskedFor) {
  RobotsCache cache(2);
  const Time now{hours(1)};
  const Time later = now + hours(30);
  cache.store("http://a", Robots::allow_all(), now);
  EXPECT_NE(cache.find("http://a", now), nullptr);
  cache.store("http://a", Robots::allow_all(), later);
  for (const char* origin : {"http://b", "http://c", "http://d"}) {
    cache.store(origin, Robots::allow_all(), later);
    EXPECT_NE(cache.find(origin, later), nullptr) << origin;
  }
  EXPECT_NE(cache.find("http://a", later), nullptr);
}

// Against a model that is plain enough to be right.
TEST(RobotsCache, AgreesWithAModel) {
  constexpr std::size_t kCapacity = 5;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    RobotsCache cache(kCapacity);
    std::map<std::string, Time> fetched;
    std::list<std::string> asked_for;  // most recent first
    Time now{hours(1)};
    for (int step = 0; step < 2000; ++step) {
      now += std::chrono::minutes(random() % 40);
      const std::string origin = "http://host" + std::to_string(random() % 12);
      if (random() % 2 == 0) {
        cache.store(origin, Robots::allow_all(), now);
        fetched[origin] = now;
        asked_for.remove(origin);
      } else {
        const bool fresh = fetched.contains(origin) && now - fetched[origin] <= hours(24);
        ASSERT_EQ(cache.find(origin, now) != nullptr, fresh) << "step " << step;
        if (fresh) {
          asked_for.remove(origin);
          asked_for.push_front(origin);
        }
        if (asked_for.size() > kCapacity) {
          fetched.erase(asked_for.back());
          asked_for.pop_back();
        }
      }
      ASSERT_EQ(cache.size(), fetched.size()) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace trawl
