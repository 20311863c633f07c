#include "crawler/run/robots_cache.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/url_groups.h"

#include "tests/crawler/robots_cache_fixture.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using test::failure;
using test::redirect;
using test::response;
using test::rules;
using test::some_url;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

using Action = RobotsCache::Action;
using Time = RobotsCache::Time;

constexpr nanoseconds kTick{1};
const std::string kSite = "http://site.example";

// --- responses ----------------------------------------------------------------------------------

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

TEST(MaxAge, ReadsCacheControl) {
  const std::optional<seconds> none;
  for (const char* text :
       {"", "public", "max-age", "max-age=", "max-age=x", "max-age=1x", "max-age=-1", "s-maxage=60",
        "x-max-age=60", "max-age60", ",,=,", "max-age=\"", "\""}) {
    EXPECT_EQ(max_age(text), none) << text;
  }
  EXPECT_EQ(max_age("max-age=60"), seconds(60));
  EXPECT_EQ(max_age("public, Max-Age = 60 , must-revalidate"), seconds(60));
  EXPECT_EQ(max_age("max-age=\"60\""), seconds(60));
  EXPECT_EQ(max_age("max-age=0"), seconds(0));
  EXPECT_EQ(max_age("max-age=60, max-age=30"), seconds(30));
  EXPECT_EQ(max_age("no-store"), seconds(0));
  EXPECT_EQ(max_age("NO-CACHE"), seconds(0));
  EXPECT_EQ(max_age("no-cache=\"set-cookie\", max-age=60"), seconds(0));
  EXPECT_EQ(max_age("max-age=4294967295"), seconds(std::int64_t{1} << 31));
  EXPECT_EQ(max_age("max-age=99999999999999999999999"), seconds(std::int64_t{1} << 31));
}

// --- rules and their age ------------------------------------------------------------------------

TEST(RobotsCache, FindsWhatWasStored) {
  RobotsCache cache({.capacity = 10});
  const Time now{hours(1)};
  EXPECT_EQ(cache.find("http://a", now).action, Action::kFetch);
  const RobotsAnswer stored = cache.store("http://a", rules(), now);
  EXPECT_EQ(stored.action, Action::kObey);
  EXPECT_FALSE(stored.rules->allowed("trawl", some_url()));
  cache.store("https://a", response(404), now);
  const RobotsAnswer http = cache.find("http://a", now);
  ASSERT_EQ(http.action, Action::kObey);
  EXPECT_FALSE(http.rules->allowed("trawl", some_url()));
  const RobotsAnswer https = cache.find("https://a", now);
  ASSERT_EQ(https.action, Action::kObey);
  EXPECT_TRUE(https.rules->allowed("trawl", some_url()));
  EXPECT_EQ(cache.find("http://a:8080", now).action, Action::kFetch);
  EXPECT_EQ(cache.size(), 2u);
}

// How long rules stored with these headers are used.
nanoseconds age(const std::string& cache_control, const RobotsCacheOptions& options = {},
                seconds spent_in_caches = seconds(0)) {
  RobotsCache cache(options);
  const Time stored{hours(5)};
  HttpResponse response = rules(cache_control);
  response.age = spent_in_caches;
  const RobotsAnswer answer = cache.store(kSite, response, stored);
  EXPECT_EQ(cache.find(kSite, stored).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, answer.ask_at - kTick).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, answer.ask_at).action, Action::kFetch);
  return answer.ask_at - stored;
}

TEST(RobotsCache, RulesAreUsedForADayOrAsCacheControlSays) {
  EXPECT_EQ(age(""), hours(24));
  EXPECT_EQ(age("public"), hours(24));
  EXPECT_EQ(age("max-age=3600"), hours(1));
  EXPECT_EQ(age("max-age=31536000"), hours(24)) << "never longer";
  EXPECT_EQ(age("max-age=299"), seconds(299));
  EXPECT_EQ(age("max-age=1"), seconds(1));
  EXPECT_EQ(age("max-age=7200", {.longest_age = hours(1)}), hours(1));
}

TEST(RobotsCache, RulesThatMayNotBeKeptAreUsedForFiveMinutes) {
  for (const char* now : {"max-age=0", "no-store", "no-cache", "no-cache, max-age=60"}) {
    EXPECT_EQ(age(now), minutes(5)) << now;
    EXPECT_EQ(age(now, {.longest_age = minutes(1)}), minutes(1)) << now;
  }
}

TEST(RobotsCache, TheTimeThatRulesSpentInCachesCounts) {
  EXPECT_EQ(age("max-age=600", {}, seconds(200)), seconds(400));
  EXPECT_EQ(age("max-age=600", {}, seconds(599)), seconds(1));
  EXPECT_EQ(age("max-age=172800", {}, hours(30)), hours(18));
  for (const seconds old : {seconds(600), seconds(601), seconds(std::int64_t{1} << 31)})
    EXPECT_EQ(age("max-age=600", {}, old), minutes(5)) << "as if they might not be kept";
  EXPECT_EQ(age("", {}, hours(30)), hours(24)) << "nobody said for how long";
}

TEST(RobotsCache, BeingFoundDoesNotKeepRulesFresh) {
  RobotsCache cache({.capacity = 10});
  const Time stored{hours(5)};
  cache.store(kSite, rules(), stored);
  for (int hour = 0; hour < 24; ++hour)
    EXPECT_EQ(cache.find(kSite, stored + hours(hour)).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, stored + hours(24)).action, Action::kFetch);
}

TEST(RobotsCache, StoringAgainRenewsTheRulesAndTheirAge) {
  RobotsCache cache({.capacity = 10});
  const Time first{hours(5)};
  cache.store(kSite, rules(), first);
  cache.store(kSite, response(404), first + hours(30));
  EXPECT_EQ(cache.size(), 1u);
  const RobotsAnswer found = cache.find(kSite, first + hours(53));
  ASSERT_EQ(found.action, Action::kObey);
  EXPECT_TRUE(found.rules->allowed("trawl", some_url()));
}

// Or a host whose delay is longer than the age of its rules would never be fetched from.
TEST(RobotsCache, RulesServeOnceHoweverLateTheyAreAskedFor) {
  RobotsCache cache({.uncached_age = milliseconds(1)});
  Time now{hours(5)};
  cache.store(kSite, rules("max-age=0"), now);
  now += hours(48);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
  cache.store(kSite, failure(), now);
  now += hours(48);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey) << "so do old rules";
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
}

// --- redirects ----------------------------------------------------------------------------------

TEST(RobotsCache, ARedirectIsToBeAskedForNext) {
  RobotsCache cache({.capacity = 1});
  const Time now{hours(5)};
  EXPECT_EQ(cache.find(kSite, now).ask_for, "http://site.example/robots.txt");
  for (const auto& [location, target] : {
           std::pair("/r/2?x#y", "http://site.example/r/2?x"),
           std::pair("3", "http://site.example/r/3"),
           std::pair("https://other.example/4", "https://other.example/4"),
           std::pair("//third.example", "https://third.example/"),
       }) {
    SCOPED_TRACE(location);
    const RobotsAnswer stored = cache.store(kSite, redirect(location), now);
    EXPECT_EQ(stored.action, Action::kFetch);
    EXPECT_EQ(stored.ask_for, target);
    cache.store("http://other", rules(), now);  // drops no entry that URLs wait for
    EXPECT_EQ(cache.find("http://other", now).action, Action::kObey);
    const RobotsAnswer found = cache.find(kSite, now);
    EXPECT_EQ(found.action, Action::kFetch);
    EXPECT_EQ(found.ask_for, target);
  }
  const RobotsAnswer stored = cache.store(kSite, rules(), now);
  ASSERT_EQ(stored.action, Action::kObey);
  EXPECT_FALSE(stored.rules->allowed("trawl", some_url()));
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, now + hours(24)).ask_for, "http://site.example/robots.txt");
}

TEST(RobotsCache, MoreThanFiveRedirectsMeanNoRules) {
  RobotsCache cache({});
  Time now{hours(5)};
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(cache.store(kSite, redirect("/robots.txt"), now).action, Action::kFetch) << i;
    const RobotsAnswer stored = cache.store(kSite, redirect("/robots.txt"), now);
    ASSERT_EQ(stored.action, Action::kObey);
    EXPECT_TRUE(stored.rules->allowed("trawl", some_url()));
    EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
    now += hours(25);
  }
}

TEST(RobotsCache, ARedirectToWhereNobodyCanGoMeansNoRules) {
  const Time now{hours(5)};
  for (const std::string& location :
       {std::string(), std::string("ftp://site.example/robots.txt"), std::string("http://[oh"),
        std::string("http://"), "/" + std::string(10'000, 'x')}) {
    SCOPED_TRACE(location.substr(0, 50));
    RobotsCache cache({});
    const RobotsAnswer stored = cache.store(kSite, redirect(location), now);
    ASSERT_EQ(stored.action, Action::kObey);
    EXPECT_TRUE(stored.rules->allowed("trawl", some_url()));
  }
}

TEST(RobotsCache, AFailureBehindARedirectIsRetriedFromTheStart) {
  RobotsCache cache({.retries = 1, .backoff = seconds(1)});
  Time now{hours(5)};
  for (const Action wanted : {Action::kWait, Action::kFail}) {
    EXPECT_EQ(cache.store(kSite, redirect("/2"), now).action, Action::kFetch);
    const RobotsAnswer failed = cache.store(kSite, failure(), now);
    EXPECT_EQ(failed.action, wanted);
    now = failed.ask_at;
    EXPECT_EQ(cache.find(kSite, now).ask_for, "http://site.example/robots.txt");
  }
}

TEST(RobotsCache, OldRulesHoldWhereARedirectLeadsToAFailure) {
  RobotsCache cache({});
  Time now{hours(5)};
  cache.store(kSite, rules(), now);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
  now += hours(25);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
  EXPECT_EQ(cache.store(kSite, redirect("/2"), now).action, Action::kFetch);
  EXPECT_EQ(cache.find(kSite, now).ask_for, "http://site.example/2");
  const RobotsAnswer failed = cache.store(kSite, failure(), now);
  ASSERT_EQ(failed.action, Action::kObey);
  EXPECT_FALSE(failed.rules->allowed("trawl", some_url()));
}

// --- Crawl-delay --------------------------------------------------------------------------------

HttpResponse asking_for(int delay) {
  return response(200, "User-agent: *\nCrawl-delay: " + std::to_string(delay) + "\n");
}

TEST(RobotsCache, TheLongestCrawlDelayOfAQueuesOriginsCounts) {
  RobotsCache cache({});
  const Time now{hours(5)};
  const auto delay = [&](const char* host) { return cache.crawl_delay(host, "trawl"); };
  EXPECT_EQ(delay("site.example"), seconds(0));
  for (const char* origin : {"http://site.example", "https://site.example", "http://site.example.",
                             "http://site.example:443", "https://site.example.:80"}) {
    SCOPED_TRACE(origin);
    EXPECT_EQ(politeness_group(*Url::parse(origin)), "site.example");
    cache.store("https://site.example", asking_for(2), now);
    cache.store(origin, asking_for(7), now);
    EXPECT_EQ(delay("site.example"), seconds(7));
    cache.store("http://www.site.example", asking_for(9), now);
    cache.store("http://site.example:8080", asking_for(3), now);
    cache.store("https://site.example:8080", asking_for(4), now);
    EXPECT_EQ(delay("site.example"), seconds(7)) << "these have their own";
    EXPECT_EQ(delay("site.example:8080"), seconds(4));
    cache.store(origin, failure(), now);
    EXPECT_EQ(delay("site.example"), seconds(7)) << "the old rules hold";
    cache.store("https://site.example", asking_for(1), now);
    cache.store(origin, response(404), now);
    EXPECT_EQ(delay("site.example"),
              seconds(origin == std::string("https://site.example") ? 0 : 1));
  }
  cache.store("http://[::1]", asking_for(5), now);
  cache.store("https://[::1]:8080", asking_for(6), now);
  EXPECT_EQ(delay("[::1]"), seconds(5));
  EXPECT_EQ(delay("[::1]:8080"), seconds(6));
}

TEST(RobotsCache, LookingForACrawlDelayIsNoUseOfRules) {
  RobotsCache cache({});
  const Time now{hours(5)};
  cache.store(kSite, asking_for(7), now);
  EXPECT_EQ(cache.crawl_delay("site.example", "trawl"), seconds(7));
  EXPECT_EQ(cache.find(kSite, now + hours(48)).action, Action::kObey) << "not yet used";
}

// --- failures -----------------------------------------------------------------------------------

#define EXPECT_WAIT(answer, now, least) \
  EXPECT_THAT((answer).ask_at - (now),  \
              AllOf(Ge(nanoseconds(least)), Le(nanoseconds(least) * 3 / 2)))

TEST(RobotsCache, AFailureIsRetriedWithDoubledWaits) {
  RobotsCache cache({.retries = 3, .backoff = seconds(2)});
  Time now{hours(5)};
  for (const int wait : {2, 4, 8}) {
    SCOPED_TRACE(wait);
    EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
    const RobotsAnswer failed = cache.store(kSite, failure(), now);
    EXPECT_EQ(failed.action, Action::kWait);
    EXPECT_THAT(std::string(failed.reason), HasSubstr("503"));
    EXPECT_WAIT(failed, now, seconds(wait));
    const RobotsAnswer meanwhile = cache.find(kSite, failed.ask_at - kTick);
    EXPECT_EQ(meanwhile.action, Action::kWait);
    EXPECT_EQ(meanwhile.ask_at, failed.ask_at);
    now = failed.ask_at;
  }
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
  EXPECT_EQ(cache.store(kSite, rules(), now).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, now + hours(23)).action, Action::kObey);
  // Later failures are counted from zero.
  RobotsCache again({.retries = 1, .backoff = seconds(2)});
  for (int i = 0; i < 5; ++i) {
    const RobotsAnswer failed = again.store(kSite, failure(), now);
    EXPECT_EQ(failed.action, i == 0 ? Action::kWait : Action::kObey);
    EXPECT_WAIT(failed, now, seconds(2));
    again.store(kSite, rules(), now);
  }
}

TEST(RobotsCache, AfterTheLastRetryTheFailureIsRemembered) {
  RobotsCache cache({.retries = 2, .backoff = seconds(1)});
  Time now{hours(5)};
  for (int i = 0; i < 2; ++i)
    now = cache.store(kSite, failure(), now).ask_at;
  HttpResponse reset;
  reset.error = "connection reset";
  for (const int rest : {5, 10, 20, 40, 60, 60, 60}) {
    SCOPED_TRACE(rest);
    EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch) << "one more try";
    const RobotsAnswer failed = cache.store(kSite, reset, now);
    EXPECT_EQ(failed.action, Action::kFail);
    EXPECT_EQ(failed.reason, "robots.txt: connection reset");
    EXPECT_WAIT(failed, now, minutes(rest));
    const RobotsAnswer meanwhile = cache.find(kSite, failed.ask_at - kTick);
    EXPECT_EQ(meanwhile.action, Action::kFail);
    EXPECT_EQ(meanwhile.reason, "robots.txt: connection reset");
    now = failed.ask_at;
  }
  EXPECT_EQ(cache.store(kSite, rules(), now).action, Action::kObey);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
}

TEST(RobotsCache, WithoutRetriesTheFirstFailureIsTheLast) {
  RobotsCache cache({.retries = 0, .backoff = seconds(1)});
  const Time now{hours(5)};
  const RobotsAnswer failed = cache.store(kSite, failure(), now);
  EXPECT_EQ(failed.action, Action::kFail);
  EXPECT_WAIT(failed, now, minutes(5));
}

TEST(RobotsCache, BackoffsOfAnyLengthAndNumberStayWithinBounds) {
  for (const milliseconds backoff : {milliseconds(0), milliseconds(1), milliseconds(hours(24))}) {
    RobotsCache cache({.retries = 100, .backoff = backoff});
    Time now{hours(5)};
    for (int i = 0; i < 300; ++i) {
      const RobotsAnswer failed = cache.store(kSite, failure(), now);
      EXPECT_EQ(failed.action, i < 100 ? Action::kWait : Action::kFail);
      EXPECT_GE(failed.ask_at - now, i < 100 ? backoff : milliseconds(minutes(5)));
      EXPECT_LE(failed.ask_at - now, std::max<nanoseconds>(hours(1), backoff) * 3 / 2);
      now = failed.ask_at;
    }
  }
}

TEST(RobotsCache, WaitsHaveARandomPart) {
  std::map<nanoseconds, int> waits;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    RobotsCache cache({.backoff = hours(1), .seed = seed});
    const Time now{hours(5)};
    ++waits[cache.store(kSite, failure(), now).ask_at - now];
  }
  EXPECT_GT(waits.size(), 90u);
}

TEST(RobotsCache, RetryAfterMakesAWaitLonger) {
  RobotsCache cache({.retries = 3, .backoff = seconds(10)});
  const Time now{hours(5)};
  EXPECT_WAIT(cache.store(kSite, failure(seconds(1)), now), now, seconds(10));
  EXPECT_EQ(cache.store(kSite, failure(seconds(100)), now).ask_at - now, seconds(100));
  EXPECT_EQ(cache.store(kSite, failure(hours(1)), now).ask_at - now, hours(1));
  const RobotsAnswer last = cache.store(kSite, failure(hours(1)), now);
  EXPECT_EQ(last.action, Action::kFail);
  EXPECT_EQ(last.ask_at - now, hours(1));
}

TEST(RobotsCache, ALongRetryAfterIsHeededAndHopelessForNobody) {
  RobotsCache cache({.retries = 3, .backoff = seconds(1), .longest_retry_after = hours(24)});
  const Time now{hours(5)};
  const RobotsAnswer failed = cache.store(kSite, failure(hours(2)), now);
  EXPECT_EQ(failed.action, Action::kWait);
  EXPECT_EQ(failed.ask_at - now, hours(2));
  EXPECT_EQ(cache.find(kSite, failed.ask_at - kTick).action, Action::kWait);
  EXPECT_EQ(cache.find(kSite, failed.ask_at).action, Action::kFetch);
  const seconds century(std::int64_t{1} << 31);
  EXPECT_EQ(cache.store(kSite, failure(century), now).ask_at - now, hours(24));
}

TEST(RobotsCache, PassingFailuresOfTheNetworkAreAskedForAgain) {
  for (const FetchError error : {FetchError::kTls, FetchError::kResolve, FetchError::kConnect}) {
    RobotsCache cache({.retries = 3, .backoff = seconds(1)});
    HttpResponse failed;
    failed.failure = error;
    failed.error = "failed";
    const Time now{hours(5)};
    const RobotsAnswer answer = cache.store(kSite, failed, now);
    EXPECT_EQ(answer.action, Action::kWait);
    EXPECT_EQ(answer.failure, error);
    EXPECT_FALSE(answer.no_such_host);
    EXPECT_WAIT(answer, now, seconds(1));
  }
}

TEST(RobotsCache, AHostThatDoesNotExistIsAskedForOnceMoreAndThenRests) {
  RobotsCache cache({.retries = 0, .backoff = seconds(1)});
  HttpResponse unknown;
  unknown.failure = FetchError::kResolve;
  unknown.error = "no such host";
  unknown.no_such_host = true;
  const Time now{hours(5)};
  const RobotsAnswer first = cache.store(kSite, unknown, now);
  EXPECT_EQ(first.action, Action::kWait);
  EXPECT_TRUE(first.no_such_host);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch) << "the frontier waits";
  const RobotsAnswer second = cache.store(kSite, unknown, now);
  EXPECT_TRUE(second.no_such_host);
  EXPECT_EQ(cache.find(kSite, now + minutes(4)).action, Action::kWait);
  EXPECT_TRUE(cache.find(kSite, now + minutes(4)).no_such_host);
  EXPECT_EQ(cache.find(kSite, now + minutes(5)).action, Action::kFetch);
}

TEST(RobotsCache, AsksAgainWhenToldTo) {
  RobotsCache cache({});
  const Time now{hours(5)};
  cache.ask_again(kSite);  // not known
  cache.store(kSite, rules(), now);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
  cache.ask_again(kSite);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
  EXPECT_EQ(cache.store(kSite, failure(), now).action, Action::kObey) << "the old ones hold";
}

TEST(RobotsCache, ARefusedAddressIsNotTriedAgain) {
  RobotsCache cache({.retries = 3, .backoff = seconds(1)});
  Time now{hours(5)};
  HttpResponse refused;
  refused.error = "private";
  refused.address_refused = true;
  const RobotsAnswer failed = cache.store(kSite, refused, now);
  EXPECT_EQ(failed.action, Action::kFail);
  EXPECT_EQ(failed.reason, "robots.txt: private");
  EXPECT_WAIT(failed, now, minutes(5));
  // Old rules stay in use.
  cache.store(kSite, rules(), now);
  EXPECT_EQ(cache.store(kSite, refused, now).action, Action::kObey);
}

TEST(RobotsCache, ARedirectToARefusedAddressIsOneThatCannotBeFollowed) {
  RobotsCache cache({.retries = 3, .backoff = seconds(1)});
  const Time now{hours(5)};
  HttpResponse refused;
  refused.error = "private";
  refused.failure = FetchError::kAddressRefused;
  refused.address_refused = true;
  for (const char* target : {"http://10.0.0.1/robots.txt", "https://inside.example/r"}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(cache.store(kSite, redirect(target), now).action, Action::kFetch);
    const RobotsAnswer allowed = cache.store(kSite, refused, now);
    ASSERT_EQ(allowed.action, Action::kObey);
    EXPECT_TRUE(allowed.rules->allowed("trawl", some_url()));
    EXPECT_EQ(allowed.failure, std::nullopt);
    cache.ask_again(kSite);
  }
  // Of the host's own it means that it may not be asked, over whichever scheme.
  const std::string other = "http://other.example";
  cache.store(other, redirect("https://other.example/robots.txt"), now);
  const RobotsAnswer own = cache.store(other, refused, now);
  EXPECT_EQ(own.action, Action::kFail);
  EXPECT_EQ(own.failure, FetchError::kAddressRefused);
}

TEST(RobotsCache, ARedirectToAHostThatDoesNotExistIsNoAnswer) {
  RobotsCache cache({.retries = 1, .backoff = seconds(1)});
  const Time now{hours(5)};
  HttpResponse unknown;
  unknown.error = "no such host";
  unknown.failure = FetchError::kResolve;
  unknown.no_such_host = true;
  for (const Action action : {Action::kWait, Action::kFail}) {
    cache.store(kSite, redirect("http://gone.example/robots.txt"), now);
    const RobotsAnswer failed = cache.store(kSite, unknown, now);
    EXPECT_EQ(failed.action, action);
    EXPECT_FALSE(failed.no_such_host);
  }
}

TEST(RobotsCache, OldRulesHoldWhileTheyCannotBeFetchedAnew) {
  RobotsCache cache({.retries = 1, .backoff = seconds(1), .longest_retry_after = hours(24)});
  Time now{hours(5)};
  cache.store(kSite, rules(), now);
  EXPECT_EQ(cache.find(kSite, now).action, Action::kObey);
  now += hours(24);
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(cache.find(kSite, now).action, Action::kFetch);
    const RobotsAnswer failed = cache.store(kSite, failure(i == 0 ? hours(2) : hours(0)), now);
    ASSERT_EQ(failed.action, Action::kObey);
    EXPECT_FALSE(failed.rules->allowed("trawl", some_url()));
    const RobotsAnswer meanwhile = cache.find(kSite, failed.ask_at - kTick);
    ASSERT_EQ(meanwhile.action, Action::kObey);
    EXPECT_FALSE(meanwhile.rules->allowed("trawl", some_url()));
    if (i == 0) {
      EXPECT_EQ(failed.ask_at - now, hours(2));
    }
    now = failed.ask_at;
  }
  cache.store(kSite, response(404), now);
  EXPECT_TRUE(cache.find(kSite, now + hours(23)).rules->allowed("trawl", some_url()));
}

}  // namespace
}  // namespace trawl
