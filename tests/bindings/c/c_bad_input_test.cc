// The C interface with arguments that are wrong, in threads that race, and after fork().
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trawl/trawl.h"

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

trawl_str bytes(std::string_view text) {
  return {text.data(), text.size()};
}

// The message of the last call that was given `&error`.
std::string message_of(trawl_error*& error) {
  std::string message = trawl_error_message(error);
  trawl_error_free(error);
  error = nullptr;
  return message;
}

trawl_frontier* opened_in(const std::string& directory) {
  trawl_frontier_options options;
  trawl_frontier_options_init(&options);
  options.directory = bytes(directory);
  options.expected_urls = 1000;
  options.max_memory = 64u << 20;
  options.max_note_bytes = 1u << 20;
  options.delay_ms = 0;
  trawl_frontier* frontier = nullptr;
  trawl_error* error = nullptr;
  EXPECT_EQ(trawl_frontier_open(&options, &frontier, &error), TRAWL_OK) << message_of(error);
  return frontier;
}

class CBadInput : public testing::Test {
 protected:
  ~CBadInput() override {
    trawl_frontier_free(frontier_);
    trawl_error_free(error_);
  }
  void offer(std::string_view url, std::uint32_t flags = 0) {
    const trawl_str one = bytes(url);
    EXPECT_EQ(trawl_frontier_offer_urls(frontier_, &one, 1, nullptr, flags, nullptr), TRAWL_OK);
  }

  test::TemporaryDirectory directory_;
  trawl_frontier* frontier_ = opened_in(directory_ / "state");
  trawl_error* error_ = nullptr;
};

// A program compiled with this header has these sizes, and its ..._init() calls write as much in
// every later library: the header of a struct that grows names another function for it.
static_assert(sizeof(trawl_frontier_options) == 256);
static_assert(sizeof(trawl_request) == 136);
static_assert(sizeof(trawl_lease) == 104);
static_assert(sizeof(trawl_outcome) == 128);
static_assert(sizeof(trawl_verdict) == 32);
static_assert(sizeof(trawl_turn) == 48);
static_assert(sizeof(trawl_host_settings) == 64);
static_assert(sizeof(trawl_host) == 80);
static_assert(sizeof(trawl_retry) == 72);
static_assert(sizeof(trawl_set_aside_url) == 144);
static_assert(sizeof(trawl_url_state) == 80);
static_assert(sizeof(trawl_progress) == 24);
static_assert(sizeof(trawl_stats) == 208);
static_assert(sizeof(trawl_filter_options) == 56);
static_assert(sizeof(trawl_filter_stats) == 80);
static_assert(sizeof(trawl_filter_size) == 48);
static_assert(sizeof(trawl_link_options) == 56);
static_assert(sizeof(trawl_link) == 96);
static_assert(sizeof(trawl_page) == 120);
static_assert(sizeof(trawl_sitemap_entry) == 56);

TEST_F(CBadInput, UrlsSetAsideComePageByPage) {
  std::set<std::string> held;
  for (int i = 0; i < 5; ++i) {
    const std::string url = "https://a.example/" + std::to_string(i);
    trawl_request request;
    trawl_request_init(&request);
    request.url = bytes(url);
    request.flags = TRAWL_HOLD;
    request.hold_reason = bytes("robots");
    request.hold_rules = 7;
    request.note = bytes("a note");
    EXPECT_EQ(trawl_frontier_offer(frontier_, &request, 1, nullptr, 0, nullptr), TRAWL_OK);
    held.insert(url);
  }
  std::string after;
  std::set<std::string> found;
  for (;;) {
    trawl_set_aside* urls = nullptr;
    ASSERT_EQ(trawl_frontier_set_aside(frontier_, bytes(after), 2, &urls, &error_), TRAWL_OK)
        << message_of(error_);
    const std::size_t count = trawl_set_aside_count(urls);
    trawl_set_aside_url url;
    trawl_set_aside_url_init(&url);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(trawl_set_aside_get(urls, i, &url, nullptr), TRAWL_OK);
      EXPECT_EQ(url.state, TRAWL_ONLY_HELD);
      EXPECT_EQ(std::string_view(url.reason.data, url.reason.size), "robots");
      EXPECT_EQ(std::string_view(url.note.data, url.note.size), "a note");
      EXPECT_EQ(url.rules, 7u);
      EXPECT_EQ(url.was_queued, 0);
      EXPECT_TRUE(found.emplace(url.url.data, url.url.size).second) << "twice";
      after.assign(url.position.data, url.position.size);
    }
    EXPECT_EQ(trawl_set_aside_get(urls, count, &url, nullptr), TRAWL_INVALID_ARGUMENT);
    trawl_set_aside_free(urls);
    if (count == 0) break;
  }
  EXPECT_EQ(found, held);
  trawl_set_aside* none = nullptr;
  EXPECT_EQ(trawl_frontier_set_aside(frontier_, bytes("wrong"), 2, &none, nullptr),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(trawl_frontier_set_aside(frontier_, bytes(""), 0, &none, nullptr),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(trawl_frontier_set_aside(frontier_, bytes(""), 1, nullptr, nullptr),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  trawl_set_aside_free(nullptr);
}

TEST_F(CBadInput, CountsThatNoArrayHas) {
  const trawl_str url = bytes("https://a.example/");
  trawl_request request;
  trawl_request_init(&request);
  request.url = url;
  trawl_filter* filter = nullptr;
  trawl_filter_options options;
  trawl_filter_options_init(&options);
  ASSERT_EQ(trawl_filter_create(&options, &filter, nullptr), TRAWL_OK);
  trawl_canonicalizer* canonicalizer = nullptr;
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8}) {
    EXPECT_EQ(trawl_frontier_offer_urls(frontier_, &url, count, nullptr, 0, &error_),
              TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("elements"), std::string::npos);
    EXPECT_EQ(trawl_frontier_offer(frontier_, &request, count, nullptr, 0, &error_),
              TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("elements"), std::string::npos);
    EXPECT_EQ(trawl_filter_add_batch(filter, &url, count, nullptr, nullptr, nullptr),
              TRAWL_INVALID_ARGUMENT);
    EXPECT_EQ(trawl_filter_contains_batch(filter, &url, count, nullptr, nullptr, nullptr),
              TRAWL_INVALID_ARGUMENT);
    EXPECT_EQ(trawl_canonicalizer_create(&url, count, &canonicalizer, nullptr),
              TRAWL_INVALID_ARGUMENT);
  }
  for (const std::size_t count : {SIZE_MAX / 4096, (std::size_t{1} << 24) + 1}) {
    EXPECT_EQ(trawl_frontier_offer(frontier_, &request, count, nullptr, 0, &error_),
              TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("in several"), std::string::npos);
    EXPECT_EQ(trawl_frontier_offer_urls(frontier_, &url, count, nullptr, 0, nullptr),
              TRAWL_INVALID_ARGUMENT);
  }
  trawl_filter_free(filter);
}

TEST_F(CBadInput, PathsThatNoFileHas) {
  trawl_filter* filter = nullptr;
  trawl_filter_options options;
  trawl_filter_options_init(&options);
  ASSERT_EQ(trawl_filter_create(&options, &filter, nullptr), TRAWL_OK);
  const std::string path = directory_ / "keys";
  ASSERT_EQ(trawl_filter_save(filter, bytes(path), nullptr), TRAWL_OK);
  trawl_filter* other = nullptr;
  for (const std::string& wrong : {path + std::string("\0x", 2), std::string()}) {
    EXPECT_EQ(trawl_filter_open(bytes(wrong), 0, &other, &error_), TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("path"), std::string::npos);
    EXPECT_EQ(trawl_filter_save(filter, bytes(wrong), &error_), TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("path"), std::string::npos);
    trawl_frontier_options unopened;
    trawl_frontier_options_init(&unopened);
    unopened.directory = bytes(wrong);
    trawl_frontier* none = nullptr;
    EXPECT_EQ(trawl_frontier_open(&unopened, &none, &error_), TRAWL_INVALID_ARGUMENT);
    EXPECT_NE(message_of(error_).find("directory"), std::string::npos);
  }
  EXPECT_EQ(other, nullptr);
  trawl_filter_free(filter);
}

// Sizes of structs that no version has: a part of a pointer must not be read.
TEST_F(CBadInput, SizesThatNoStructHas) {
  std::vector<std::size_t> sizes = {SIZE_MAX, std::size_t{1} << 40, 4097, 4104};
  for (std::size_t size = 0; size < 200; ++size) {
    if (size < sizeof(std::size_t) || size % sizeof(std::size_t) != 0) sizes.push_back(size);
  }
  for (const std::size_t size : sizes) {
    trawl_filter_options options;
    trawl_filter_options_init(&options);
    const std::uint8_t key[16] = {};
    options.hash_key = key;
    options.struct_size = size;
    trawl_filter* filter = nullptr;
    EXPECT_EQ(trawl_filter_create(&options, &filter, nullptr), TRAWL_INVALID_ARGUMENT) << size;
    trawl_request request;
    trawl_request_init(&request);
    request.url = bytes("https://a.example/");
    request.struct_size = size;
    EXPECT_EQ(trawl_frontier_offer(frontier_, &request, 1, nullptr, 0, nullptr),
              TRAWL_INVALID_ARGUMENT)
        << size;
    trawl_stats stats;
    trawl_stats_init(&stats);
    stats.struct_size = size;
    EXPECT_EQ(trawl_frontier_stats(frontier_, &stats, nullptr), TRAWL_INVALID_ARGUMENT) << size;
    EXPECT_EQ(stats.struct_size, size);
  }
}

TEST_F(CBadInput, CallsThatFailWriteNoResults) {
  trawl_verdict verdict;
  trawl_verdict_init(&verdict);
  verdict.retry_at_ms = -77;
  EXPECT_EQ(trawl_frontier_fail(frontier_, 5, TRAWL_TIMEOUT, -1, nullptr, &verdict, nullptr),
            TRAWL_NOT_FOUND);
  EXPECT_EQ(verdict.retry_at_ms, -77);
  trawl_turn turn;
  trawl_turn_init(&turn);
  turn.wait_ms = -77;
  EXPECT_EQ(trawl_frontier_start(frontier_, 5, bytes(""), &turn, nullptr), TRAWL_NOT_FOUND);
  EXPECT_EQ(turn.wait_ms, -77);
  const trawl_str keys[2] = {bytes("a"), {nullptr, 5}};
  trawl_filter_options options;
  trawl_filter_options_init(&options);
  trawl_filter* filter = nullptr;
  ASSERT_EQ(trawl_filter_create(&options, &filter, nullptr), TRAWL_OK);
  std::size_t ones = 77;
  EXPECT_EQ(trawl_filter_add_batch(filter, keys, 2, nullptr, &ones, nullptr),
            TRAWL_INVALID_ARGUMENT);
  EXPECT_EQ(ones, 77u);
  trawl_filter_free(filter);
}

TEST_F(CBadInput, TurnsThatTheFrontierDidNotGive) {
  trawl_turn turn;
  trawl_turn_init(&turn);
  for (std::uint64_t& internal : turn.internal)
    internal = UINT64_MAX;
  EXPECT_EQ(trawl_frontier_sent(frontier_, &turn, INT64_MAX, bytes("\xff"), nullptr), TRAWL_OK);
  turn.when = 99;
  EXPECT_EQ(trawl_frontier_sent(frontier_, &turn, 0, bytes(""), nullptr), TRAWL_INVALID_ARGUMENT);
}

// A thread that asks while another waits for the durability of offers must not see the end.
TEST_F(CBadInput, NoThreadSeesTheEndBeforeOffersAreDurable) {
  for (int round = 0; round < 100; ++round) {
    offer("https://a.example/" + std::to_string(round), TRAWL_NO_WAIT);
    std::atomic<int> ends{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        trawl_progress progress;
        trawl_progress_init(&progress);
        EXPECT_EQ(trawl_frontier_progress(frontier_, &progress, nullptr), TRAWL_OK);
        ends.fetch_add(progress.at_end, std::memory_order_relaxed);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    ASSERT_EQ(ends.load(std::memory_order_relaxed), 0) << round;
    trawl_leases* leases = nullptr;
    ASSERT_EQ(trawl_frontier_lease(frontier_, 10, -1, &leases, nullptr), TRAWL_OK);
    ASSERT_EQ(trawl_leases_count(leases), 1u);
    trawl_lease lease;
    trawl_lease_init(&lease);
    ASSERT_EQ(trawl_leases_get(leases, 0, &lease, nullptr), TRAWL_OK);
    trawl_outcome outcome;
    trawl_outcome_init(&outcome);
    ASSERT_EQ(trawl_frontier_complete(frontier_, lease.id, &outcome, nullptr, 0, nullptr, nullptr),
              TRAWL_OK);
    trawl_leases_free(leases);
    ASSERT_EQ(trawl_frontier_flush(frontier_, nullptr), TRAWL_OK);
  }
}

TEST_F(CBadInput, ClosingEndsALeaseThatWaits) {
  offer("https://a.example/1");
  trawl_leases* one = nullptr;
  ASSERT_EQ(trawl_frontier_lease(frontier_, 1, 0, &one, nullptr), TRAWL_OK);
  std::atomic<bool> waits{false};
  std::thread waiter([&] {
    waits.store(true, std::memory_order_relaxed);
    trawl_leases* none = nullptr;
    EXPECT_EQ(trawl_frontier_lease(frontier_, 1, -1, &none, nullptr), TRAWL_CLOSED);
    EXPECT_EQ(none, nullptr);
  });
  while (!waits.load(std::memory_order_relaxed))
    std::this_thread::yield();
  EXPECT_EQ(trawl_frontier_close(frontier_, nullptr), TRAWL_OK);
  waiter.join();
  EXPECT_EQ(trawl_leases_count(one), 1u) << "lives on";
  trawl_leases_free(one);
}

// What a child writes is more than RocksDB's buffers hold: its flushes need threads of the child.
int writes_much(const std::string& directory) {
  trawl_frontier* const frontier = opened_in(directory);
  if (frontier == nullptr) return 2;
  const std::string note(1u << 20, 'n');
  for (int i = 0; i < 32; ++i) {
    const std::string url = "https://a.example/" + std::to_string(i);
    trawl_request request;
    trawl_request_init(&request);
    request.url = bytes(url);
    request.note = bytes(note);
    if (trawl_frontier_offer(frontier, &request, 1, nullptr, 0, nullptr) != TRAWL_OK) return 3;
  }
  const trawl_status closed = trawl_frontier_close(frontier, nullptr);
  trawl_frontier_free(frontier);
  return closed == TRAWL_OK ? 0 : 4;
}

// The exit status of a child; -1 if it was killed.
int exit_status(pid_t child) {
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(CBadInput, AChildOfForkHasFrontiersOfItsOwn) {
  for (const bool open : {true, false}) {
    offer("https://a.example/1");
    if (!open) {
      ASSERT_EQ(trawl_frontier_close(frontier_, nullptr), TRAWL_OK);
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      int result = writes_much(directory_ / "child");
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        ::alarm(60);
        std::exit(writes_much(directory_ / "grandchild"));
      }
      if (result == 0) result = exit_status(grandchild);
      std::exit(result);  // not _exit(): the destructors of the libraries must not wait forever
    }
    EXPECT_EQ(exit_status(child), 0) << (open ? "the parent's is open" : "the parent's is closed");
    std::filesystem::remove_all(directory_ / "child");
    std::filesystem::remove_all(directory_ / "grandchild");
  }
}

TEST_F(CBadInput, AChildDoesNotKeepTheDirectoryOfItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ends[1]);
    char byte = 0;
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // until the parent has finished
  }
  ::close(ends[0]);
  ASSERT_EQ(trawl_frontier_close(frontier_, nullptr), TRAWL_OK);
  trawl_frontier_free(frontier_);
  frontier_ = opened_in(directory_ / "state");
  EXPECT_NE(frontier_, nullptr);
  ::close(ends[1]);
  EXPECT_EQ(exit_status(child), 0);
}

}  // namespace
}  // namespace trawl
