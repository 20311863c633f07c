// Pages that several threads read: each once, finished in the order in which they came.
#include "crawler/run/unread_pages.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "crawler/run/page_queue.h"

namespace trawl {
namespace {

HttpResponse answer_with(std::string body) {
  HttpResponse response;
  response.status = 200;
  response.body = std::move(body);
  return response;
}

// "Reads" a page: the digest says of which body, and how often.
void read_page(FetchedPage& page) {
  page.read.digest = (page.read.has_digest ? page.read.digest : "") + "read " + page.response.body;
  page.read.has_digest = true;
}

class UnreadPagesTest : public testing::Test {
 protected:
  std::vector<std::size_t> woken_;
  UnreadPages pages_{2, [this](std::size_t i) { woken_.push_back(i); }};
};

TEST_F(UnreadPagesTest, APageIsTakenOnceAndTheOldestFirst) {
  FetchedPage a, b;
  EXPECT_TRUE(pages_.offer(0, a));
  EXPECT_TRUE(pages_.offer(0, b));
  EXPECT_EQ(pages_.take(0), nullptr) << "its own pages";
  EXPECT_EQ(pages_.take(1), &a);
  EXPECT_FALSE(pages_.take_back(a));
  EXPECT_TRUE(pages_.take_back(b));
  EXPECT_EQ(pages_.take(1), nullptr);
}

TEST_F(UnreadPagesTest, NoMorePagesAreOfferedThanThereArePlaces) {
  std::vector<std::unique_ptr<FetchedPage>> all;
  for (std::size_t i = 0; i < UnreadPages::kPlaces; ++i)
    EXPECT_TRUE(pages_.offer(0, *all.emplace_back(std::make_unique<FetchedPage>())));
  FetchedPage more;
  EXPECT_FALSE(pages_.offer(0, more));
  EXPECT_EQ(pages_.take(1), all.front().get());
  EXPECT_TRUE(pages_.offer(0, more));
}

TEST_F(UnreadPagesTest, OnlyAnotherThreadWithTimeIsAReader) {
  pages_.set_free(0, true);
  EXPECT_FALSE(pages_.has_readers(0));
  EXPECT_TRUE(pages_.has_readers(1));
  pages_.set_free(0, true);
  pages_.set_free(0, false);
  EXPECT_FALSE(pages_.has_readers(1));
}

TEST_F(UnreadPagesTest, AQueueOffersAPageWhenItComesAndWakesAReaderForALargeOne) {
  PageQueue queue(pages_, 0, &read_page, [](FetchedPage&) {});
  EXPECT_TRUE(pages_.begin_wait(1));
  queue.push({}, {}, answer_with(std::string(100'000, 'a')));
  queue.push({}, {}, answer_with("b"));
  EXPECT_TRUE(woken_.empty()) << "not for a small one, before the next requests are sent";
  queue.push({}, {}, answer_with(std::string(100'000, 'c')));
  EXPECT_EQ(woken_, std::vector<std::size_t>{1});
  FetchedPage* const page = pages_.take(1);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->response.body[0], 'a');
  pages_.give_back(*page);
}

// The reader's wait and the offer of a page, in all their orders: the reader does not wait, or is
// woken. A reader that looks for pages first and then says that it waits sleeps on in one of them.
TEST(UnreadPages, NoOrderOfOfferAndWaitLosesTheWakeUp) {
  enum Step { kOffer, kWake, kLook, kBegin };
  const std::vector<std::vector<Step>> orders = {
      {kOffer, kWake, kLook, kBegin}, {kOffer, kLook, kWake, kBegin},
      {kOffer, kLook, kBegin, kWake}, {kLook, kOffer, kWake, kBegin},
      {kLook, kOffer, kBegin, kWake}, {kLook, kBegin, kOffer, kWake}};
  int lost_without_second_look = 0;
  for (const auto& order : orders) {
    bool woken = false, found = false, found_again = false;
    UnreadPages pages(2, [&](std::size_t) { woken = true; });
    FetchedPage page;
    for (const Step step : order) {
      if (step == kOffer) pages.offer(0, page);
      if (step == kWake) pages.wake_reader(0);
      // As take(), but the page stays, so that it can be looked for again.
      if (step == kLook) found = pages.take(1) != nullptr && pages.offer(0, page);
      if (step == kBegin) found_again = !pages.begin_wait(1);
    }
    EXPECT_TRUE(found || found_again || woken);
    lost_without_second_look += found || woken ? 0 : 1;
  }
  EXPECT_GT(lost_without_second_look, 0);
}

// Fetchers get pages and finish them; the other threads read. Without `in_order`, a fetcher
// finishes each second page before the first.
struct Handled {
  bool in_order;
  bool each_read_once;
  bool slept_on;  // a wake-up was lost
  std::size_t by_others;
};

Handled handle_pages(std::size_t threads, std::size_t fetchers, int pages_each, bool in_order) {
  std::vector<std::unique_ptr<std::counting_semaphore<>>> wakes;
  for (std::size_t i = 0; i < threads; ++i)
    wakes.push_back(std::make_unique<std::counting_semaphore<>>(0));
  UnreadPages unread(threads, [&](std::size_t i) { wakes[i]->release(); });
  std::atomic<std::size_t> fetching{fetchers}, by_others{0};
  std::atomic<bool> right_order{true}, once{true}, slept_on{false};
  const auto check = [&](FetchedPage& page, int expected) {
    const std::string body = page.response.body;
    if (body != std::to_string(expected)) right_order = false;
    if (page.read.digest != "read " + body) once = false;
  };
  const auto fetch = [&](std::size_t i) {
    std::mt19937_64 random(i);
    int came = 0, finished = 0;
    PageQueue queue(unread, i, &read_page, [&](FetchedPage& page) { check(page, finished++); });
    while (finished < pages_each) {
      for (auto n = random() % 5; n > 0 && came < pages_each; --n)
        queue.push({}, {}, answer_with(std::to_string(came++)));
      if (queue.begin_wait() && came == pages_each)
        slept_on = !wakes[i]->try_acquire_for(std::chrono::seconds(20)) || slept_on;
      queue.end_wait();
      queue.work();
    }
    if (--fetching == 0) {
      for (auto& wake : wakes)
        wake->release();
    }
  };
  // The same without the queue's order.
  const auto fetch_wrongly = [&](std::size_t i) {
    for (int came = 0; came < pages_each; came += 2) {
      FetchedPage first, second;
      first.response = answer_with(std::to_string(came));
      second.response = answer_with(std::to_string(came + 1));
      unread.offer(i, first);
      unread.offer(i, second);
      unread.wake_reader(i);
      int next = came;
      for (FetchedPage* page : {&second, &first}) {
        if (unread.take_back(*page)) {
          read_page(*page);
        } else {
          while (!page->is_read.load(std::memory_order_acquire))
            std::this_thread::yield();
        }
        check(*page, next++);
      }
    }
    if (--fetching == 0) {
      for (auto& wake : wakes)
        wake->release();
    }
  };
  const auto help = [&](std::size_t i) {
    unread.set_free(i, true);
    while (fetching > 0) {
      while (FetchedPage* page = unread.take(i)) {
        read_page(*page);
        ++by_others;
        unread.give_back(*page);
      }
      if (unread.begin_wait(i) && fetching > 0) wakes[i]->acquire();
      unread.end_wait(i);
    }
  };
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      if (i >= fetchers) return help(i);
      in_order ? fetch(i) : fetch_wrongly(i);
    });
  }
  for (std::thread& thread : running)
    thread.join();
  return {.in_order = right_order,
          .each_read_once = once,
          .slept_on = slept_on,
          .by_others = by_others};
}

TEST(UnreadPages, PagesAreFinishedInTheirOrderAndReadOnce) {
  for (const std::size_t fetchers : {1u, 2u, 3u}) {
    const Handled handled = handle_pages(4, fetchers, 10'000, true);
    EXPECT_TRUE(handled.in_order);
    EXPECT_TRUE(handled.each_read_once);
    EXPECT_FALSE(handled.slept_on);
    EXPECT_GT(handled.by_others, 0u);
  }
}

TEST(UnreadPages, TheTestNoticesAnotherOrder) {
  EXPECT_FALSE(handle_pages(2, 1, 1000, false).in_order);
}

}  // namespace
}  // namespace trawl
