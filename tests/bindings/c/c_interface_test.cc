// The C interface: what it adds to the C++ one, and that both give the same answers.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trawl/canonicalizer.h"
#include "trawl/growing_bloom_filter.h"
#include "trawl/links.h"
#include "trawl/robots.h"
#include "trawl/sitemap.h"
#include "trawl/sizing.h"
#include "trawl/trawl.h"

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

trawl_str view(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view text_of(trawl_str text) {
  return {text.data, text.size};
}

// The error of a call: frees itself.
class Failed {
 public:
  Failed() = default;
  Failed(const Failed&) = delete;
  Failed& operator=(const Failed&) = delete;
  ~Failed() { trawl_error_free(error_); }
  trawl_error** out() {
    trawl_error_free(error_);
    error_ = nullptr;
    return &error_;
  }
  std::string message() const { return trawl_error_message(error_); }
  bool mentions(std::string_view text) const { return message().find(text) != std::string::npos; }

 private:
  trawl_error* error_ = nullptr;
};

class CInterface : public testing::Test {
 protected:
  ~CInterface() override { trawl_frontier_free(frontier_); }

  trawl_frontier_options options() const {
    trawl_frontier_options made;
    trawl_frontier_options_init(&made);
    made.directory = view(path_);
    made.delay_ms = 0;
    return made;
  }
  void open(const trawl_frontier_options& options) {
    ASSERT_EQ(trawl_frontier_open(&options, &frontier_, failed_.out()), TRAWL_OK)
        << failed_.message();
  }
  void offer(std::string_view url, std::uint8_t expected = TRAWL_NEW) {
    const trawl_str one = view(url);
    std::uint8_t answer = 255;
    ASSERT_EQ(trawl_frontier_offer_urls(frontier_, &one, 1, &answer, 0, failed_.out()), TRAWL_OK)
        << failed_.message();
    EXPECT_EQ(answer, expected) << url;
  }
  // The one URL due now.
  trawl_lease lease() {
    trawl_lease got;
    trawl_lease_init(&got);
    trawl_leases_free(leases_);
    leases_ = nullptr;
    EXPECT_EQ(trawl_frontier_lease(frontier_, 1, 0, &leases_, failed_.out()), TRAWL_OK);
    if (trawl_leases_count(leases_) == 1) {
      EXPECT_EQ(trawl_leases_get(leases_, 0, &got, failed_.out()), TRAWL_OK);
    }
    return got;
  }
  void TearDown() override { trawl_leases_free(leases_); }

  test::TemporaryDirectory directory_;
  std::string path_ = (directory_.path() / "state").string();
  trawl_frontier* frontier_ = nullptr;
  trawl_leases* leases_ = nullptr;
  Failed failed_;
};

TEST_F(CInterface, AUrlGoesInOnceAndItsLinksComeBack) {
  open(options());
  offer("https://a.example/");
  offer("https://a.example/#top", TRAWL_SEEN);
  offer("mailto:a@b", TRAWL_INVALID);
  const trawl_lease page = lease();
  EXPECT_EQ(text_of(page.url), "https://a.example/");
  EXPECT_EQ(text_of(page.host), "a.example");
  trawl_request links[2];
  trawl_request_init(&links[0]);
  trawl_request_init(&links[1]);
  links[0].url = view("https://a.example/next");
  links[0].depth = 1;
  links[0].note = view(std::string_view("no\0te", 5));
  links[1].url = view("https://a.example/");
  trawl_outcome outcome;
  trawl_outcome_init(&outcome);
  outcome.status = 200;
  std::uint8_t answers[2];
  ASSERT_EQ(trawl_frontier_complete(frontier_, page.id, &outcome, links, 2, answers, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  EXPECT_EQ(answers[0], TRAWL_NEW);
  EXPECT_EQ(answers[1], TRAWL_SEEN);
  ASSERT_EQ(trawl_frontier_flush(frontier_, failed_.out()), TRAWL_OK);
  const trawl_lease next = lease();
  EXPECT_EQ(text_of(next.url), "https://a.example/next");
  EXPECT_EQ(text_of(next.parent), "https://a.example/");
  EXPECT_EQ(text_of(next.note), std::string_view("no\0te", 5));
  EXPECT_EQ(next.depth, 1u);
}

TEST_F(CInterface, AFetchedLeaseMakesRoomForTheNextOfItsHost) {
  open(options());
  offer("https://a.example/1");
  offer("https://a.example/2");
  const std::uint64_t first = lease().id;
  trawl_leases* leases = nullptr;
  ASSERT_EQ(trawl_frontier_lease(frontier_, 1, 0, &leases, failed_.out()), TRAWL_OK);
  EXPECT_EQ(trawl_leases_count(leases), 0u);
  trawl_leases_free(leases);
  ASSERT_EQ(trawl_frontier_fetched(frontier_, first, 0, failed_.out()), TRAWL_OK);
  const trawl_lease second = lease();
  EXPECT_EQ(text_of(second.url), "https://a.example/2");
  EXPECT_EQ(trawl_frontier_release(frontier_, first, -1, -1, failed_.out()), TRAWL_OK);

  // Its request starts late, and the delay counts from then.
  trawl_host_settings settings;
  trawl_host_settings_init(&settings);
  settings.set = TRAWL_HOST_DELAY;
  settings.delay_ms = 1;
  ASSERT_EQ(trawl_frontier_set_host(frontier_, view("a.example"), &settings, failed_.out()),
            TRAWL_OK);
  constexpr std::int64_t kHour = 3'600'000'000;
  ASSERT_EQ(trawl_frontier_fetched(frontier_, second.id, kHour, failed_.out()), TRAWL_OK);
  EXPECT_EQ(trawl_frontier_release(frontier_, second.id, -1, -1, failed_.out()), TRAWL_OK);
  ASSERT_EQ(trawl_frontier_lease(frontier_, 1, 20, &leases, failed_.out()), TRAWL_OK);
  EXPECT_EQ(trawl_leases_count(leases), 0u);
  trawl_leases_free(leases);
}

TEST_F(CInterface, EveryWayToEndALease) {
  open(options());
  for (const char* const url : {"https://a.example/1", "https://b.example/2", "https://c.example/3",
                                "https://d.example/4", "https://e.example/5"}) {
    offer(url);
  }
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(lease().id);
  trawl_verdict verdict;
  trawl_verdict_init(&verdict);
  EXPECT_EQ(trawl_frontier_fail(frontier_, ids[0], TRAWL_TIMEOUT, 60'000, nullptr, &verdict,
                                failed_.out()),
            TRAWL_OK);
  EXPECT_GT(verdict.retry_at_ms, 0);
  EXPECT_EQ(trawl_frontier_fail(frontier_, ids[1], TRAWL_PERMANENT, -1, nullptr, nullptr, nullptr),
            TRAWL_OK);
  EXPECT_EQ(trawl_frontier_hold(frontier_, ids[2], view("rule"), 7, 0, nullptr, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  EXPECT_EQ(trawl_frontier_renew(frontier_, ids[3], failed_.out()), TRAWL_OK);
  EXPECT_EQ(trawl_frontier_release(frontier_, ids[3], -1, -1, failed_.out()), TRAWL_OK);
  trawl_outcome outcome;
  trawl_outcome_init(&outcome);
  outcome.status = 200;
  EXPECT_EQ(trawl_frontier_complete(frontier_, ids[4], &outcome, nullptr, 0, nullptr, nullptr),
            TRAWL_OK);
  EXPECT_EQ(trawl_frontier_renew(frontier_, 123456, failed_.out()), TRAWL_NOT_FOUND);
  EXPECT_EQ(trawl_frontier_fetched(frontier_, ids[4], 0, failed_.out()), TRAWL_NOT_FOUND);
  ASSERT_EQ(trawl_frontier_flush(frontier_, nullptr), TRAWL_OK);

  trawl_stats stats;
  trawl_stats_init(&stats);
  ASSERT_EQ(trawl_frontier_stats(frontier_, &stats, nullptr), TRAWL_OK);
  EXPECT_EQ(stats.admitted, 5u);
  EXPECT_EQ(stats.held, 1u);
  EXPECT_EQ(stats.set_aside_failed, 1u);
  EXPECT_EQ(stats.succeeded, 1u);
  EXPECT_EQ(stats.deferred, 1u);
  EXPECT_EQ(stats.queued, 1u);

  trawl_found* found = nullptr;
  ASSERT_EQ(trawl_frontier_lookup(frontier_, view("https://c.example/3"), &found, nullptr),
            TRAWL_OK);
  trawl_url_state state;
  trawl_url_state_init(&state);
  ASSERT_EQ(trawl_found_get(found, &state, nullptr), TRAWL_OK);
  EXPECT_EQ(state.state, TRAWL_URL_HELD);
  EXPECT_EQ(text_of(state.reason), "rule");
  trawl_found_free(found);

  std::uint64_t queued = 0;
  trawl_retry which;
  trawl_retry_init(&which);
  which.state = TRAWL_ONLY_HELD;
  EXPECT_EQ(trawl_frontier_retry(frontier_, &which, &queued, nullptr), TRAWL_OK);
  EXPECT_EQ(queued, 1u);
  EXPECT_EQ(trawl_frontier_retry(frontier_, nullptr, &queued, nullptr), TRAWL_OK);
  EXPECT_EQ(queued, 1u) << "the failed one";
}

TEST_F(CInterface, Hosts) {
  open(options());
  offer("https://a.example/1");
  offer("https://a.example/2");
  offer("https://b.example/1");
  trawl_host_settings settings;
  trawl_host_settings_init(&settings);
  settings.set = TRAWL_HOST_DELAY | TRAWL_HOST_LIMIT | TRAWL_HOST_BLOCKED_UNTIL;
  settings.delay_ms = 1234;
  settings.limit = 9;
  settings.blocked_until_ms = TRAWL_PARKED;
  ASSERT_EQ(trawl_frontier_set_host(frontier_, view("a.example"), &settings, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  trawl_hosts* hosts = nullptr;
  ASSERT_EQ(trawl_frontier_host(frontier_, view("a.example"), &hosts, nullptr), TRAWL_OK);
  ASSERT_EQ(trawl_hosts_count(hosts), 1u);
  trawl_host host;
  trawl_host_init(&host);
  ASSERT_EQ(trawl_hosts_get(hosts, 0, &host, nullptr), TRAWL_OK);
  EXPECT_EQ(text_of(host.host), "a.example");
  EXPECT_EQ(host.state, TRAWL_HOST_PARKED);
  EXPECT_EQ(host.queued, 2u);
  EXPECT_EQ(host.delay_ms, 1234);
  EXPECT_EQ(host.limit, 9u);
  EXPECT_EQ(trawl_hosts_get(hosts, 1, &host, failed_.out()), TRAWL_INVALID_ARGUMENT);
  trawl_hosts_free(hosts);
  ASSERT_EQ(trawl_frontier_hosts(frontier_, view(""), 10, &hosts, nullptr), TRAWL_OK);
  EXPECT_EQ(trawl_hosts_count(hosts), 2u);
  trawl_hosts_free(hosts);
  EXPECT_EQ(trawl_frontier_host(frontier_, view("c.example"), &hosts, nullptr), TRAWL_NOT_FOUND);
  std::uint64_t dropped = 0;
  EXPECT_EQ(trawl_frontier_drop_host(frontier_, view("a.example"), &dropped, nullptr), TRAWL_OK);
  EXPECT_EQ(dropped, 2u);
}

TEST_F(CInterface, KeysAndQueuesOfTheCallers) {
  open(options());
  trawl_request requests[3];
  for (trawl_request& request : requests) {
    trawl_request_init(&request);
    request.url = view("https://a.example/form");
    request.queue = view("slot");
  }
  requests[0].key = view(std::string_view("\xff\0GET", 5));
  requests[1].key = view("POST 1");
  requests[2].key = view("POST 1");
  std::uint8_t answers[3];
  ASSERT_EQ(trawl_frontier_offer(frontier_, requests, 3, answers, TRAWL_NO_WAIT, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  EXPECT_EQ(answers[0], TRAWL_NEW);
  EXPECT_EQ(answers[1], TRAWL_NEW);
  EXPECT_EQ(answers[2], TRAWL_SEEN);
  ASSERT_EQ(trawl_frontier_flush(frontier_, nullptr), TRAWL_OK);
  EXPECT_EQ(text_of(lease().host), "slot");
  trawl_hosts* none = nullptr;
  EXPECT_EQ(trawl_frontier_host(frontier_, view(std::string_view("\0no", 3)), &none, failed_.out()),
            TRAWL_NOT_FOUND);
  EXPECT_TRUE(failed_.mentions("\\0no")) << failed_.message();
}

TEST_F(CInterface, WhatIsCompletedIsNotLeasedAgainByTheNextProcess) {
  open(options());
  offer("https://a.example/1");
  offer("https://b.example/2");
  trawl_outcome outcome;
  trawl_outcome_init(&outcome);
  outcome.status = 200;
  const std::string first(text_of(lease().url));
  trawl_lease again;
  trawl_lease_init(&again);
  ASSERT_EQ(trawl_leases_get(leases_, 0, &again, nullptr), TRAWL_OK);
  ASSERT_EQ(trawl_frontier_complete(frontier_, again.id, &outcome, nullptr, 0, nullptr, nullptr),
            TRAWL_OK);
  ASSERT_EQ(trawl_frontier_close(frontier_, failed_.out()), TRAWL_OK) << failed_.message();
  trawl_frontier_free(frontier_);
  frontier_ = nullptr;
  open(options());
  EXPECT_NE(text_of(lease().url), first);
  lease();
  EXPECT_EQ(trawl_leases_count(leases_), 0u);
}

TEST_F(CInterface, OneProcessAtATime) {
  open(options());
  const trawl_frontier_options same = options();
  trawl_frontier* other = nullptr;
  EXPECT_EQ(trawl_frontier_open(&same, &other, failed_.out()), TRAWL_IN_USE);
  EXPECT_EQ(other, nullptr);
  EXPECT_TRUE(failed_.mentions(path_)) << failed_.message();
}

TEST_F(CInterface, ClosedIsSaid) {
  open(options());
  offer("https://a.example/1");
  ASSERT_EQ(trawl_frontier_close(frontier_, nullptr), TRAWL_OK);
  const trawl_str url = view("https://a.example/2");
  EXPECT_EQ(trawl_frontier_offer_urls(frontier_, &url, 1, nullptr, 0, failed_.out()), TRAWL_CLOSED);
  EXPECT_FALSE(failed_.message().empty());
  EXPECT_EQ(trawl_frontier_lease(frontier_, 1, 0, &leases_, nullptr), TRAWL_CLOSED);
  EXPECT_EQ(trawl_frontier_event_fd(frontier_, failed_.out()), -1);
  trawl_stats stats;
  trawl_stats_init(&stats);
  EXPECT_EQ(trawl_frontier_stats(frontier_, &stats, nullptr), TRAWL_OK);
  EXPECT_EQ(stats.admitted, 1u);
}

TEST_F(CInterface, AChildOfForkIsRefused) {
  open(options());
  offer("https://a.example/1");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const trawl_str url = view("https://a.example/2");
    trawl_error* error = nullptr;
    const trawl_status status = trawl_frontier_offer_urls(frontier_, &url, 1, nullptr, 0, &error);
    const bool named = std::strstr(trawl_error_message(error), "fork") != nullptr;
    trawl_frontier_free(frontier_);
    ::_exit(status == TRAWL_FORKED && named ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  offer("https://a.example/2");
}

TEST_F(CInterface, TheEventFdWakesALoop) {
  trawl_frontier_options slow = options();
  slow.delay_ms = 50;
  open(slow);
  const int fd = trawl_frontier_event_fd(frontier_, failed_.out());
  ASSERT_GE(fd, 0) << failed_.message();
  EXPECT_EQ(trawl_frontier_event_fd(frontier_, nullptr), fd);
  const auto wakes = [&](int timeout_ms) {
    pollfd wake{.fd = fd, .events = POLLIN, .revents = 0};
    std::uint64_t count = 0;
    return ::poll(&wake, 1, timeout_ms) == 1 && ::read(fd, &count, sizeof count) == sizeof count;
  };
  EXPECT_TRUE(wakes(0)) << "what was due before is not missed";
  EXPECT_FALSE(wakes(0));
  std::int64_t due = 0;
  ASSERT_EQ(trawl_frontier_next_due(frontier_, &due, nullptr), TRAWL_OK);
  EXPECT_EQ(due, -1);
  std::thread offers([&] { offer("https://a.example/1"); });
  EXPECT_TRUE(wakes(10'000));
  offers.join();
  trawl_lease first = lease();
  while (first.id == 0) {  // its delay from the start may not be over
    wakes(1000);
    first = lease();
  }
  offer("https://a.example/2");
  trawl_outcome outcome;
  trawl_outcome_init(&outcome);
  outcome.status = 200;
  ASSERT_EQ(trawl_frontier_complete(frontier_, first.id, &outcome, nullptr, 0, nullptr, nullptr),
            TRAWL_OK);
  ASSERT_EQ(trawl_frontier_flush(frontier_, nullptr), TRAWL_OK);
  ASSERT_EQ(trawl_frontier_next_due(frontier_, &due, nullptr), TRAWL_OK);
  EXPECT_LE(due, 50);
  EXPECT_GE(due, 0);
}

TEST_F(CInterface, ALeaseThatWaitsEndsWithTheFrontiersEnd) {
  open(options());
  offer("https://a.example/1");
  const trawl_lease one = lease();
  std::thread ends([&] {
    trawl_outcome outcome;
    trawl_outcome_init(&outcome);
    outcome.status = 200;
    EXPECT_EQ(trawl_frontier_complete(frontier_, one.id, &outcome, nullptr, 0, nullptr, nullptr),
              TRAWL_OK);
  });
  trawl_leases* none = nullptr;
  EXPECT_EQ(trawl_frontier_lease(frontier_, 1, -1, &none, failed_.out()), TRAWL_OK);
  EXPECT_EQ(trawl_leases_count(none), 0u);
  trawl_leases_free(none);
  ends.join();
  trawl_progress progress;
  trawl_progress_init(&progress);
  ASSERT_EQ(trawl_frontier_progress(frontier_, &progress, nullptr), TRAWL_OK);
  EXPECT_EQ(progress.at_end, 1);
}

TEST_F(CInterface, OffersThatWereNotWaitedForAreNotTheEnd) {
  open(options());
  for (int i = 0; i < 50; ++i) {
    const std::string url = "https://a.example/" + std::to_string(i);
    const trawl_str one = view(url);
    ASSERT_EQ(trawl_frontier_offer_urls(frontier_, &one, 1, nullptr, TRAWL_NO_WAIT, failed_.out()),
              TRAWL_OK);
    if (i % 2 == 0) {
      trawl_progress progress;
      trawl_progress_init(&progress);
      ASSERT_EQ(trawl_frontier_progress(frontier_, &progress, nullptr), TRAWL_OK);
      ASSERT_EQ(progress.at_end, 0);
    }
    trawl_leases* leases = nullptr;
    ASSERT_EQ(trawl_frontier_lease(frontier_, 1, -1, &leases, failed_.out()), TRAWL_OK);
    ASSERT_EQ(trawl_leases_count(leases), 1u) << i;
    trawl_lease one_lease;
    trawl_lease_init(&one_lease);
    ASSERT_EQ(trawl_leases_get(leases, 0, &one_lease, nullptr), TRAWL_OK);
    trawl_outcome outcome;
    trawl_outcome_init(&outcome);
    outcome.status = 200;
    ASSERT_EQ(trawl_frontier_complete(frontier_, one_lease.id, &outcome, nullptr, 0, nullptr,
                                      failed_.out()),
              TRAWL_OK);
    trawl_leases_free(leases);
  }
}

TEST_F(CInterface, TurnsOfPacedHosts) {
  trawl_frontier_options paced = options();
  paced.delay_ms = 60'000;
  open(paced);
  offer("https://a.example/1");
  const trawl_lease one = lease();
  trawl_turn turn;
  trawl_turn_init(&turn);
  ASSERT_EQ(trawl_frontier_start(frontier_, one.id, view("192.0.2.1"), &turn, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  EXPECT_EQ(turn.when, TRAWL_START_NOW);
  EXPECT_EQ(trawl_frontier_sent(frontier_, &turn, 0, view(""), failed_.out()), TRAWL_OK);
  turn.when = TRAWL_START_LATER;
  EXPECT_EQ(trawl_frontier_sent(frontier_, &turn, 0, view(""), nullptr), TRAWL_INVALID_ARGUMENT);
  // Its host was asked just now, so that a request for another page must wait; another need not.
  for (const auto& [host, when] :
       {std::pair("a.example", TRAWL_START_LATER), std::pair("b.example", TRAWL_START_NOW)}) {
    ASSERT_EQ(trawl_frontier_start_elsewhere(frontier_, view(host), view("192.0.2.1"), &turn,
                                             failed_.out()),
              TRAWL_OK)
        << failed_.message();
    EXPECT_EQ(turn.when == TRAWL_START_NOW, when == TRAWL_START_NOW) << host;
  }
  EXPECT_EQ(
      trawl_frontier_start_elsewhere(frontier_, view("b.example"), view(""), nullptr, nullptr),
      TRAWL_INVALID_ARGUMENT);
}

TEST_F(CInterface, StructsOfOlderAndNewerPrograms) {
  // An older program: it knows nothing of what follows `durability`.
  trawl_frontier_options old = options();
  old.struct_size = offsetof(trawl_frontier_options, expected_urls);
  std::memset(&old.expected_urls, 0xee, sizeof old - old.struct_size);
  open(old);
  trawl_stats stats;
  trawl_stats_init(&stats);
  stats.struct_size = offsetof(trawl_stats, seen);
  stats.seen = 77;
  ASSERT_EQ(trawl_frontier_stats(frontier_, &stats, nullptr), TRAWL_OK);
  EXPECT_EQ(stats.seen, 77u) << "beyond what the program has";

  // A newer one: it may set only what this library knows.
  struct Newer {
    trawl_request request;
    std::uint64_t unknown;
  } newer[2];
  for (Newer& one : newer) {
    std::memset(&one, 0, sizeof one);
    one.request.struct_size = sizeof one;
    one.request.url = view("https://a.example/");
  }
  std::uint8_t answers[2] = {255, 255};
  ASSERT_EQ(trawl_frontier_offer(frontier_, &newer[0].request, 2, answers, 0, failed_.out()),
            TRAWL_OK)
      << failed_.message();
  EXPECT_EQ(answers[0], TRAWL_NEW);
  EXPECT_EQ(answers[1], TRAWL_SEEN);
  newer[1].unknown = 1;
  EXPECT_EQ(trawl_frontier_offer(frontier_, &newer[0].request, 2, answers, 0, failed_.out()),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("newer")) << failed_.message();

  trawl_outcome unset;
  std::memset(&unset, 0, sizeof unset);
  EXPECT_EQ(trawl_frontier_complete(frontier_, 1, &unset, nullptr, 0, nullptr, failed_.out()),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("struct_size")) << failed_.message();
}

TEST_F(CInterface, NullIsAnsweredEverywhere) {
  EXPECT_EQ(trawl_frontier_open(nullptr, &frontier_, failed_.out()), TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("options is NULL")) << failed_.message();
  const trawl_frontier_options fine = options();
  EXPECT_EQ(trawl_frontier_open(&fine, nullptr, nullptr), TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(trawl_frontier_offer(nullptr, nullptr, 0, nullptr, 0, failed_.out()),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("frontier is NULL")) << failed_.message();
  EXPECT_EQ(trawl_filter_add(nullptr, view("a"), nullptr, nullptr), TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(trawl_url_parse(view("https://a.example"), nullptr, nullptr, nullptr),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(trawl_url_get(nullptr, TRAWL_HREF).size, 0u);
  EXPECT_EQ(trawl_leases_count(nullptr), 0u);
  EXPECT_STREQ(trawl_error_message(nullptr), "");
  EXPECT_EQ(trawl_error_status(nullptr), TRAWL_OK);
  trawl_frontier_free(nullptr);
  trawl_leases_free(nullptr);
  trawl_hosts_free(nullptr);
  trawl_found_free(nullptr);
  trawl_filter_free(nullptr);
  trawl_url_free(nullptr);
  trawl_text_free(nullptr);
  trawl_canonicalizer_free(nullptr);
  trawl_robots_free(nullptr);
  trawl_links_free(nullptr);
  trawl_sitemap_free(nullptr);
  trawl_error_free(nullptr);
  trawl_request_init(nullptr);
  open(fine);
  const trawl_str broken = {nullptr, 5};
  EXPECT_EQ(trawl_frontier_offer_urls(frontier_, &broken, 1, nullptr, 0, failed_.out()),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("no data")) << failed_.message();
}

TEST_F(CInterface, OptionsOutOfRangeAreNamed) {
  trawl_frontier_options wrong = options();
  wrong.delay_ms = -5;
  EXPECT_EQ(trawl_frontier_open(&wrong, &frontier_, failed_.out()), TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("delay")) << failed_.message();
  for (const std::uint64_t bytes : {std::uint64_t{0}, (std::uint64_t{1} << 50) + 1, UINT64_MAX}) {
    wrong = options();
    wrong.max_memory = bytes;
    EXPECT_EQ(trawl_frontier_open(&wrong, &frontier_, failed_.out()), TRAWL_INVALID_ARGUMENT);
    EXPECT_TRUE(failed_.mentions("max_memory must be from 67108864 to 1125899906842624"))
        << failed_.message();
  }
  wrong = options();
  wrong.mode = 7;
  EXPECT_EQ(trawl_frontier_open(&wrong, &frontier_, failed_.out()), TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("mode")) << failed_.message();
  wrong = options();
  const trawl_str rule = view("no_such_rule");
  wrong.rules = &rule;
  wrong.rule_count = 1;
  EXPECT_EQ(trawl_frontier_open(&wrong, &frontier_, failed_.out()), TRAWL_INVALID_ARGUMENT);
  EXPECT_TRUE(failed_.mentions("no_such_rule")) << failed_.message();
  wrong = options();
  wrong.mode = TRAWL_RESUME;
  EXPECT_EQ(trawl_frontier_open(&wrong, &frontier_, failed_.out()), TRAWL_NOT_FOUND);
}

TEST_F(CInterface, MoreMemoryThanTheMachineHasMayBeAllowed) {
  trawl_frontier_options most = options();
  most.max_memory = std::uint64_t{1} << 50;
  EXPECT_EQ(trawl_frontier_open(&most, &frontier_, failed_.out()), TRAWL_OK) << failed_.message();
}

TEST_F(CInterface, AFrontierInMemory) {
  ASSERT_EQ(trawl_frontier_open_in_memory(nullptr, &frontier_, failed_.out()), TRAWL_OK)
      << failed_.message();
  offer("https://a.example/1");
  EXPECT_EQ(text_of(lease().url), "https://a.example/1");
  trawl_frontier* other = nullptr;
  const trawl_frontier_options with_directory = options();
  EXPECT_EQ(trawl_frontier_open_in_memory(&with_directory, &other, failed_.out()),
            TRAWL_INVALID_ARGUMENT);
}

TEST_F(CInterface, StatusesHaveNames) {
  EXPECT_STREQ(trawl_status_name(TRAWL_OK), "TRAWL_OK");
  EXPECT_STREQ(trawl_status_name(TRAWL_UNAVAILABLE), "TRAWL_UNAVAILABLE");
  EXPECT_STREQ(trawl_status_name(TRAWL_FORKED), "TRAWL_FORKED");
  EXPECT_STREQ(trawl_status_name(99), "unknown status");
  EXPECT_STREQ(trawl_version(), "0.1.0");
}

// ---- filters ----

class CFilter : public testing::TestWithParam<std::int32_t> {};

TEST_P(CFilter, AnswersAsItsFileDoesInCxx) {
  const test::TemporaryDirectory directory;
  const std::string path = (directory.path() / "keys.filter").string();
  trawl_filter_options options;
  trawl_filter_options_init(&options);
  options.kind = GetParam();
  options.capacity = 1000;
  options.false_positive_rate = 1e-3;
  Failed failed;
  trawl_filter* filter = nullptr;
  ASSERT_EQ(trawl_filter_create(&options, &filter, failed.out()), TRAWL_OK) << failed.message();
  std::vector<std::string> keys;
  for (int i = 0; i < 900; ++i)
    keys.push_back("key " + std::to_string(i));
  std::vector<trawl_str> views(keys.size());
  std::transform(keys.begin(), keys.end(), views.begin(), view);
  std::vector<std::uint8_t> answers(keys.size(), 9);
  std::size_t ones = 0;
  ASSERT_EQ(trawl_filter_add_batch(filter, views.data(), views.size(), answers.data(), &ones,
                                   failed.out()),
            TRAWL_OK);
  EXPECT_GE(ones, 895u);
  EXPECT_EQ(static_cast<std::size_t>(std::count(answers.begin(), answers.end(), 1)), ones);
  std::int32_t is_new = 9;
  ASSERT_EQ(trawl_filter_add(filter, view("key 5"), &is_new, nullptr), TRAWL_OK);
  EXPECT_EQ(is_new, 0);
  trawl_filter_stats stats;
  trawl_filter_stats_init(&stats);
  ASSERT_EQ(trawl_filter_get_stats(filter, &stats, nullptr), TRAWL_OK);
  EXPECT_EQ(stats.kind, GetParam());
  EXPECT_EQ(stats.inserted, ones);
  ASSERT_EQ(trawl_filter_save(filter, view(path), failed.out()), TRAWL_OK) << failed.message();
  trawl_filter_free(filter);

  ASSERT_EQ(trawl_filter_open(view(path), 0, &filter, failed.out()), TRAWL_OK) << failed.message();
  ASSERT_EQ(
      trawl_filter_contains_batch(filter, views.data(), views.size(), nullptr, &ones, nullptr),
      TRAWL_OK);
  EXPECT_EQ(ones, keys.size());
  std::int32_t found = 9;
  ASSERT_EQ(trawl_filter_contains(filter, view("another"), &found, nullptr), TRAWL_OK);
  EXPECT_EQ(found, 0);
  const bool removes = GetParam() == TRAWL_COUNTING || GetParam() == TRAWL_CUCKOO;
  std::int32_t removed = 9;
  EXPECT_EQ(trawl_filter_remove(filter, view("key 7"), &removed, failed.out()),
            removes ? TRAWL_OK : TRAWL_INVALID_ARGUMENT);
  if (removes) {
    EXPECT_EQ(removed, 1);
    ASSERT_EQ(trawl_filter_contains(filter, view("key 7"), &found, nullptr), TRAWL_OK);
    EXPECT_EQ(found, 0);
  }
  EXPECT_EQ(trawl_filter_merge(filter, filter, failed.out()), TRAWL_OK);
  trawl_filter_free(filter);

  trawl_filter_size size;
  trawl_filter_size_init(&size);
  ASSERT_EQ(trawl_filter_size_for(GetParam(), 1000, 1e-3, &size, failed.out()), TRAWL_OK);
  const auto expected =
      filter_size(static_cast<FilterKind>(GetParam()),
                  ClassicBloomFilter::Options{.capacity = 1000, .false_positive_rate = 1e-3});
  ASSERT_TRUE(expected);
  EXPECT_EQ(size.bits, expected->bits);
  EXPECT_EQ(size.rate, expected->rate);
  std::uint64_t capacity = 0;
  ASSERT_EQ(trawl_filter_keys_for(GetParam(), 1e-3, 1 << 20, &capacity, nullptr), TRAWL_OK);
  EXPECT_EQ(capacity, *filter_capacity(static_cast<FilterKind>(GetParam()), 1e-3, 1 << 20));
  double rate = 0;
  ASSERT_EQ(trawl_filter_rate_for(GetParam(), 1000, 1 << 20, &rate, nullptr), TRAWL_OK);
  EXPECT_EQ(rate, *filter_rate(static_cast<FilterKind>(GetParam()), 1000, 1 << 20));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CFilter,
                         testing::Values(TRAWL_BLOCKED, TRAWL_GROWING, TRAWL_CLASSIC,
                                         TRAWL_COUNTING, TRAWL_CUCKOO));

TEST(CFilters, WrongFilesAndOptionsAreNamed) {
  Failed failed;
  trawl_filter* filter = nullptr;
  EXPECT_EQ(trawl_filter_open(view("/nowhere/at/all"), 0, &filter, failed.out()), TRAWL_NOT_FOUND);
  EXPECT_TRUE(failed.mentions("/nowhere/at/all"));
  trawl_filter_options options;
  trawl_filter_options_init(&options);
  options.false_positive_rate = 2;
  EXPECT_EQ(trawl_filter_create(&options, &filter, failed.out()), TRAWL_INVALID_ARGUMENT);
  options.false_positive_rate = 0.01;
  options.kind = 77;
  EXPECT_EQ(trawl_filter_create(&options, &filter, failed.out()), TRAWL_INVALID_ARGUMENT);
  options.kind = TRAWL_CUCKOO;
  options.capacity = 10;
  ASSERT_EQ(trawl_filter_create(&options, &filter, failed.out()), TRAWL_OK);
  trawl_status status = TRAWL_OK;
  for (int i = 0; i < 10'000 && status == TRAWL_OK; ++i) {
    const std::string key = std::to_string(i);
    status = trawl_filter_add(filter, view(key), nullptr, failed.out());
  }
  EXPECT_EQ(status, TRAWL_NO_SPACE) << "it is full";
  trawl_filter_free(filter);
}

// ---- URLs and documents: the C++ answers are the oracle ----

TEST(CUrls, PartsAndKeys) {
  Failed failed;
  trawl_url* base = nullptr;
  ASSERT_EQ(trawl_url_parse(view("https://user:pw@example.com:8080/a/b?q=1#top"), nullptr, &base,
                            failed.out()),
            TRAWL_OK);
  const Url same = *Url::parse("https://user:pw@example.com:8080/a/b?q=1#top");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_HREF)), same.href());
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_SCHEME)), "https");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_USERNAME)), "user");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_PASSWORD)), "pw");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_HOSTNAME)), "example.com");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_HOST)), "example.com:8080");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_PORT)), "8080");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_PATH)), "/a/b");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_QUERY)), "q=1");
  EXPECT_EQ(text_of(trawl_url_get(base, TRAWL_FRAGMENT)), "top");
  EXPECT_EQ(trawl_url_get(base, 99).size, 0u);
  trawl_url* url = nullptr;
  ASSERT_EQ(trawl_url_parse(view("../c?b=2&a=1"), base, &url, failed.out()), TRAWL_OK);
  const trawl_str rule = view("sort_query");
  trawl_canonicalizer* canonicalizer = nullptr;
  ASSERT_EQ(trawl_canonicalizer_create(&rule, 1, &canonicalizer, failed.out()), TRAWL_OK);
  trawl_text* key = nullptr;
  ASSERT_EQ(trawl_canonicalizer_key(canonicalizer, url, &key, failed.out()), TRAWL_OK);
  Profile profile;
  profile.rules.sort_query = true;
  EXPECT_EQ(text_of(trawl_text_get(key)),
            Canonicalizer(profile).key(*Url::parse("../c?b=2&a=1", &same)));
  trawl_text_free(key);
  trawl_canonicalizer_free(canonicalizer);
  trawl_url_free(url);
  trawl_url_free(base);
  EXPECT_EQ(trawl_url_parse(view("mailto:a@b"), nullptr, &url, nullptr), TRAWL_UNSUPPORTED_SCHEME);
  EXPECT_EQ(trawl_url_parse(view("https://a b/"), nullptr, &url, nullptr), TRAWL_INVALID_URL);
}

// An assertion of Gumbo's fails on such a page; the process must not end with it.
TEST(CDocuments, APageThatGumboFailsOnIsSkipped) {
  const std::string html = "<table><svg><select><title><select></table><a href=http://a.example/>";
  for (int round = 0; round < 3; ++round) {
    trawl_links* links = nullptr;
    ASSERT_EQ(trawl_links_extract(view(html), nullptr, nullptr, &links, nullptr), TRAWL_OK);
    trawl_links_free(links);
  }
}

TEST(CDocuments, RobotsLinksAndSitemaps) {
  Failed failed;
  trawl_url* base = nullptr;
  ASSERT_EQ(trawl_url_parse(view("https://a.example/dir/page"), nullptr, &base, nullptr), TRAWL_OK);

  trawl_robots* robots = nullptr;
  ASSERT_EQ(trawl_robots_parse(view("User-agent: bot\nDisallow: /dir\nCrawl-delay: 2\n"
                                    "Sitemap: https://a.example/map.xml\n"),
                               &robots, failed.out()),
            TRAWL_OK);
  std::int32_t allowed = 9;
  ASSERT_EQ(trawl_robots_allowed(robots, view("bot"), base, &allowed, nullptr), TRAWL_OK);
  EXPECT_EQ(allowed, 0);
  ASSERT_EQ(trawl_robots_allowed(robots, view("other"), base, &allowed, nullptr), TRAWL_OK);
  EXPECT_EQ(allowed, 1);
  std::int64_t delay = 0;
  ASSERT_EQ(trawl_robots_crawl_delay(robots, view("bot"), &delay, nullptr), TRAWL_OK);
  EXPECT_EQ(delay, 2000);
  ASSERT_EQ(trawl_robots_crawl_delay(robots, view("other"), &delay, nullptr), TRAWL_OK);
  EXPECT_EQ(delay, -1);
  ASSERT_EQ(trawl_robots_sitemap_count(robots), 1u);
  EXPECT_EQ(text_of(trawl_robots_sitemap(robots, 0)), "https://a.example/map.xml");
  EXPECT_EQ(trawl_robots_sitemap(robots, 1).size, 0u);
  trawl_robots_free(robots);

  const std::string html =
      "<html lang=de><title>T</title><meta name=robots content=noindex>"
      "<a href=x rel=nofollow>one</a> <img src=y.png> <a href='mailto:z'>";
  trawl_link_options options;
  trawl_link_options_init(&options);
  options.kinds |= TRAWL_LINK_RESOURCE;
  options.texts = 1;
  options.max_text = 100;
  trawl_links* links = nullptr;
  ASSERT_EQ(trawl_links_extract(view(html), base, &options, &links, failed.out()), TRAWL_OK)
      << failed.message();
  LinkOptions same;
  same.kinds |= LinkKinds{LinkKind::kResource};
  same.texts = true;
  same.max_text = 100;
  const PageLinks expected = extract_links(html, *Url::parse("https://a.example/dir/page"), same);
  ASSERT_EQ(trawl_links_count(links), expected.links.size());
  for (std::size_t i = 0; i < expected.links.size(); ++i) {
    trawl_link link;
    trawl_link_init(&link);
    ASSERT_EQ(trawl_links_get(links, i, &link, nullptr), TRAWL_OK);
    EXPECT_EQ(text_of(link.url), expected.links[i].url.href());
    EXPECT_EQ(text_of(link.element), expected.links[i].element);
    EXPECT_EQ(text_of(link.text), expected.links[i].text);
    EXPECT_EQ(link.follow != 0, expected.links[i].follow);
  }
  trawl_page page;
  trawl_page_init(&page);
  ASSERT_EQ(trawl_links_page(links, &page, nullptr), TRAWL_OK);
  EXPECT_EQ(text_of(page.title), "T");
  EXPECT_EQ(text_of(page.language), "de");
  EXPECT_EQ(text_of(page.text), expected.text);
  EXPECT_EQ(page.no_index, 1);
  EXPECT_EQ(page.skipped, 0);
  trawl_links_free(links);

  trawl_sitemap* sitemap = nullptr;
  ASSERT_EQ(trawl_sitemap_parse(
                view("<urlset><url><loc>https://a.example/1</loc><lastmod>2024-01-02</lastmod>"
                     "<changefreq>daily</changefreq><priority>0.5</priority></url>"
                     "<url><loc>https://a.example/2</loc></url></urlset>"),
                base, &sitemap, failed.out()),
            TRAWL_OK);
  EXPECT_EQ(text_of(trawl_sitemap_kind(sitemap)), "urlset");
  ASSERT_EQ(trawl_sitemap_count(sitemap), 2u);
  trawl_sitemap_entry entry;
  trawl_sitemap_entry_init(&entry);
  ASSERT_EQ(trawl_sitemap_get(sitemap, 0, &entry, nullptr), TRAWL_OK);
  EXPECT_EQ(text_of(entry.url), "https://a.example/1");
  EXPECT_EQ(entry.last_modified, 1704153600);
  EXPECT_EQ(text_of(entry.change_frequency), "daily");
  EXPECT_EQ(entry.priority, 0.5);
  ASSERT_EQ(trawl_sitemap_get(sitemap, 1, &entry, nullptr), TRAWL_OK);
  EXPECT_EQ(entry.last_modified, INT64_MIN);
  EXPECT_LT(entry.priority, 0);
  trawl_sitemap_free(sitemap);
  trawl_url_free(base);
}

}  // namespace
}  // namespace trawl
