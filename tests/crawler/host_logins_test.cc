// When a crawl logs in: once before a host is fetched, again when its session has ended, at most
// once a minute; and which URLs are fetched again.
#include "crawler/run/host_logins.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;
using Do = HostLogins::Turn::Do;
using Answer = HostLogins::Answer;

Url page_url(std::string_view text) {
  return Url::parse(text).value();
}

const std::vector<LoginText> kOne = {
    {.url = "http://a.test/in?next=/", .fields = {{"user", "me"}}, .page = {}, .host = "a.test"}};

// The only login, by the seconds since the beginning.
struct One {
  HostLogins logins{kOne};
  HostLogins::Time begin{};

  HostLogins::Time at(double seconds) const {
    return begin + 1h +
           std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
  }
  HostLogins::Turn turn(double now) { return logins.turn(0, at(now)); }
  Do what(double now) { return turn(now).what; }
  void answer(double sent, double now, bool good = true) {
    logins.answered(0, at(sent), at(now), good);
  }
  // Logs in, in a tenth of a second.
  void log_in(double now, bool good = true) {
    ASSERT_EQ(what(now), Do::kLogIn);
    answer(now, now + 0.1, good);
  }
  HostLogins::Verdict page(std::string_view path, double sent, Answer answer) {
    return logins.on_answer(0, path, at(sent), answer, at(sent + 0.1));
  }
  bool again(std::string_view path, double sent) {
    return page(path, sent, Answer::kLoggedOut).again;
  }
  void good(double sent) { EXPECT_FALSE(page("/good", sent, Answer::kGood).again); }
};

TEST(HostLogins, FormsAreEncodedAsBrowsersDo) {
  EXPECT_EQ(form_of({{"user name", "\xc3\xa9+&=%"}, {"x", "a-b_c.d*e~"}, {"empty", ""}}),
            "user+name=%C3%A9%2B%26%3D%25&x=a-b_c.d*e%7E&empty=");
}

TEST(HostLogins, TheLoginOfTheExactHostCountsElseThatOfTheDomain) {
  const HostLogins logins({{.url = "http://www.a.test/in", .host = ".a.test"},
                           {.url = "http://b.a.test/in", .host = "b.a.test"}});
  EXPECT_EQ(logins.find(page_url("http://a.test/")), 0u);
  EXPECT_EQ(logins.find(page_url("https://x.a.test:8080/")), 0u);
  EXPECT_EQ(logins.find(page_url("http://b.a.test/")), 1u);
  EXPECT_EQ(logins.find(page_url("http://test/")), std::nullopt);
  EXPECT_TRUE(HostLogins({}).empty());
}

TEST(HostLogins, ARedirectLeadsToThePageWithAnyFurtherParameters) {
  const HostLogins logins({kOne[0],
                           {.url = "https://b.test/post",
                            .page = "https://b.test/u.php?mode=login&a",
                            .host = "b.test"}});
  EXPECT_TRUE(logins.leads_to_page(0, page_url("http://a.test/in")));
  EXPECT_TRUE(logins.leads_to_page(0, page_url("https://a.test:8443/in?from=/x#form")));
  EXPECT_FALSE(logins.leads_to_page(0, page_url("http://a.test/in/")));
  EXPECT_FALSE(logins.leads_to_page(0, page_url("http://b.test/in")));
  EXPECT_TRUE(logins.leads_to_page(1, page_url("https://b.test/u.php?a&sid=1&mode=login")));
  EXPECT_FALSE(logins.leads_to_page(1, page_url("https://b.test/u.php?mode=login")));
  EXPECT_FALSE(logins.leads_to_page(1, page_url("https://b.test/u.php?mode=logins&a")));
  EXPECT_FALSE(logins.leads_to_page(1, page_url("https://b.test/post")));
}

TEST(HostLogins, OneLogsInBeforeTheFirstAndOthersWait) {
  One one;
  EXPECT_EQ(one.what(0), Do::kLogIn);
  EXPECT_EQ(one.what(0), Do::kWait);
  EXPECT_EQ(one.turn(1).at, one.at(1) + HostLogins::kPoll);
  one.logins.not_sent(0);
  EXPECT_EQ(one.what(2), Do::kLogIn);
  one.answer(2, 3);
  EXPECT_EQ(one.what(3), Do::kFetch);
  EXPECT_EQ(one.what(10'000), Do::kFetch) << "a session lasts until a page says otherwise";
}

TEST(HostLogins, ALoginThatFailsIsTriedAgainAfterAMinute) {
  One one;
  one.log_in(0, false);
  EXPECT_EQ(one.what(1), Do::kFetch);
  EXPECT_FALSE(one.again("/a", 2)) << "the answer is taken as it is";
  EXPECT_FALSE(one.page("/b", 3, Answer::kLoggedOut).warn) << "the failure was said";
  EXPECT_EQ(one.what(59.9), Do::kFetch);
  one.log_in(60, false);
  EXPECT_EQ(one.what(119), Do::kFetch);
  one.log_in(120);
}

TEST(HostLogins, AfterTheMinuteAPageThatMeetsTheEndIsFetchedAgainOnce) {
  One one;
  one.log_in(0);
  one.good(1);
  EXPECT_TRUE(one.again("/a", 100));
  EXPECT_TRUE(one.again("/b", 100)) << "it was in flight, too";
  one.log_in(101);
  EXPECT_FALSE(one.page("/a", 102, Answer::kGood).again);
  const auto twice = one.page("/b", 103, Answer::kLoggedOut);
  EXPECT_FALSE(twice.again) << "right after a login, it is what it is";
  EXPECT_TRUE(twice.warn);
  EXPECT_FALSE(one.page("/c", 104, Answer::kLoggedOut).warn) << "once a login";
}

TEST(HostLogins, ASessionThatWorkedAndEndsWithinAMinuteIsWaitedFor) {
  One one;
  one.log_in(0);
  one.good(1);
  EXPECT_TRUE(one.again("/a", 10));
  const auto turn = one.turn(11);
  EXPECT_EQ(turn.what, Do::kWait);
  EXPECT_EQ(turn.at, one.at(60));
  one.log_in(60);
  EXPECT_FALSE(one.page("/a", 61, Answer::kGood).again);
  EXPECT_TRUE(one.again("/b", 70)) << "and again";
  EXPECT_EQ(one.turn(71).at, one.at(120));
}

TEST(HostLogins, ASessionThatNeverWorkedIsNotWaitedFor) {
  One one;
  one.log_in(0);
  for (int i = 1; i < 59; ++i) {
    EXPECT_FALSE(one.again(fmt::format("/{}", i), i));
    EXPECT_EQ(one.what(i + 0.5), Do::kFetch);
  }
  EXPECT_TRUE(one.again("/a", 60)) << "once a minute it is tried";
  one.log_in(61);
}

// A page that this user may not see must not stop the host for a minute each time.
TEST(HostLogins, PagesThatStayForbiddenAreWaitedForOnce) {
  One one;
  one.log_in(0);
  one.good(1);
  EXPECT_TRUE(one.again("/forbidden", 2));
  EXPECT_EQ(one.what(3), Do::kWait);
  one.log_in(60);
  EXPECT_FALSE(one.again("/forbidden", 61));
  one.good(62);
  EXPECT_FALSE(one.again("/also", 63));
  EXPECT_EQ(one.what(64), Do::kFetch);
  // A login that helps ends that.
  EXPECT_TRUE(one.again("/b", 130));
  one.log_in(131);
  EXPECT_FALSE(one.page("/b", 132, Answer::kGood).again);
  EXPECT_TRUE(one.again("/c", 133));
}

TEST(HostLogins, AnAnswerToAnOlderSessionNeedsNoLogin) {
  One one;
  one.log_in(0);
  one.good(1);
  EXPECT_TRUE(one.again("/a", 100));
  EXPECT_EQ(one.what(100.5), Do::kLogIn);
  EXPECT_TRUE(one.again("/b", 100.6)) << "while one logs in";
  one.answer(100.5, 102);
  EXPECT_TRUE(one.logins.on_answer(0, "/c", one.at(101), Answer::kLoggedOut, one.at(103)).again);
  EXPECT_EQ(one.what(104), Do::kFetch) << "nobody logs in for that";
}

TEST(HostLogins, OtherErrorsSayNothing) {
  One one;
  one.log_in(0);
  EXPECT_FALSE(one.page("/a", 1, Answer::kOther).again);
  EXPECT_FALSE(one.again("/b", 2)) << "an error does not show that the session works";
}

// Threads that fetch, on a clock of their own. `of(thread)` is what a thread asks. Returns how
// often two logged in at once, or within a minute.
int mistakes_of(const std::function<HostLogins&(unsigned thread)>& of) {
  std::atomic<std::int64_t> clock{1'000'000};
  std::atomic<int> asking{0};
  std::atomic<int> mistakes{0};
  std::mutex mutex;
  std::vector<std::int64_t> asked;
  const auto at = [](std::int64_t ms) { return HostLogins::Time(std::chrono::milliseconds(ms)); };
  const auto work = [&](unsigned thread) {
    HostLogins& logins = of(thread);
    std::mt19937 random(thread);
    for (int i = 0; i < 3000; ++i) {
      const auto now = clock.fetch_add(static_cast<std::int64_t>(random() % 200));
      const auto turn = logins.turn(0, at(now));
      if (turn.what == Do::kLogIn) {
        if (asking.fetch_add(1) != 0) ++mistakes;
        {
          const std::lock_guard lock(mutex);
          asked.push_back(now);
        }
        std::this_thread::yield();
        asking.fetch_sub(1);
        logins.answered(0, at(now), at(clock.load()), random() % 4 > 0);
      } else if (turn.what == Do::kFetch) {
        const std::string path = fmt::format("/{}/{}", thread, i);
        const auto answer = random() % 20 == 0 ? Answer::kLoggedOut : Answer::kGood;
        if (!logins.on_answer(0, path, at(now), answer, at(clock.load())).again) continue;
        // Never twice.
        const auto then = clock.load();
        if (logins.on_answer(0, path, at(then), Answer::kLoggedOut, at(then)).again) ++mistakes;
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back(work, thread);
  for (std::thread& thread : threads)
    thread.join();
  std::ranges::sort(asked);
  EXPECT_GT(asked.size(), 3u);
  for (std::size_t i = 1; i < asked.size(); ++i)
    mistakes += asked[i] - asked[i - 1] < 60'000 ? 1 : 0;
  return mistakes;
}

TEST(HostLogins, ThreadsNeverLogInTogetherNorTwiceAMinute) {
  HostLogins shared(kOne);
  EXPECT_EQ(mistakes_of([&](unsigned) -> HostLogins& { return shared; }), 0);
  // What each thread knows for itself does not suffice.
  std::deque<HostLogins> own;
  for (int i = 0; i < 4; ++i)
    own.emplace_back(kOne);
  EXPECT_GT(mistakes_of([&](unsigned thread) -> HostLogins& { return own[thread]; }), 0);
}

}  // namespace
}  // namespace trawl
