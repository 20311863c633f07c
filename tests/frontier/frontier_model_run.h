// FrontierModelRun: one random sequence of calls and crashes, run on the frontier and on the model.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/conformance/implementations.h"
#include "tests/frontier/frontier_model.h"
#include "tests/frontier/virtual_clocks.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

// The first few of them are what a run crawls.
inline constexpr std::array kHosts = {"a.test",          "b.test:8080", "www.one.example",
                                      "two.one.example", "127.0.0.1",   "www.three.example",
                                      "four.test",       "five.test:81"};

// Holds up the commit of a completion.
class CommitHold {
 public:
  // EmbeddedOptions::before_commit: the next commit waits for release() once arm() was called.
  Result<void> before_commit();
  void arm();
  void release();
  // Until the commit is held, or was released. True if it is held.
  bool wait();

 private:
  enum class State : std::uint8_t { kOff, kArmed, kHeld };
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kOff;
};

class FrontierModelRun {
 public:
  // With crashes if it is durable.
  FrontierModelRun(std::uint64_t seed, const Implementation& implementation);
  // Reports what is wrong as failures of the running test, and stops at the first.
  void run();

 private:
  // URLs offered, which keep their strings.
  struct Offer {
    std::deque<std::string> urls;
    std::vector<UrlRequest> requests;
  };

  // A call, and the states that there may be during and after it.
  struct Meanwhile {
    Offer offer;
    std::function<Result<void>()> make;  // empty: none
    std::vector<FrontierModel> next;
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  void choose_options();
  void arm(std::uint64_t calls);
  // The disk died: all that writes must fail.
  bool dead() const;

  bool open();
  void run_lives();
  void reopen(bool may_crash);
  void find_state();
  void start_life();
  void step();
  void drain();
  void check_everything();

  Offer some_urls(std::size_t most);
  std::string some_host();
  std::uint64_t some_lease();
  Outcome some_outcome(std::uint64_t lease);
  void offer();
  void lease();
  void complete();
  void complete_meanwhile();
  std::optional<std::uint64_t> some_open_lease();
  std::unique_ptr<Meanwhile> some_call_meanwhile(std::uint64_t lease,
                                                 const FrontierModel& completed);
  void fail();
  void hold();
  void retry();
  // All that is set aside, page by page; nothing if the disk died.
  std::optional<std::vector<SetAsideUrl>> listed();
  void end_somehow();
  void change_host();
  void drop();
  void checkpoint();
  void move_clocks();
  void close_and_reopen();

  // The call is over: with its answer the model goes on as `next`; without, the frontier is broken,
  // and what is on disk is the model as it is, or one of `next`.
  template <class T>
  bool settle(const Result<T>& answer, std::vector<FrontierModel> next);
  void expect_none(const Mismatches& wrong, const std::string& where);
  void note(std::string what);
  std::string log_text() const;

  const std::uint64_t seed_;
  const Implementation implementation_;
  std::mt19937_64 random_;
  TemporaryDirectory directory_;
  VirtualClocks clocks_;
  CommitHold hold_;
  EmbeddedOptions options_;
  bool power_loss_ = false;
  std::unique_ptr<FileFaults> faults_;
  OpenReport opened_;  // by the last open()
  std::unique_ptr<Frontier> frontier_;
  FrontierModel model_;
  std::uint64_t host_count_ = 1;
  std::uint64_t pages_ = 1;

  bool crash_armed_ = false;
  bool was_struck_ = false;  // before the call that is under way
  bool closed_ = false;      // with close(), before it was opened again
  bool broken_ = false;      // a call returned an error
  std::vector<FrontierModel> candidates_;
  std::optional<std::string> unheard_host_;  // of a failure whose verdict never came
  std::deque<std::string> log_;
};

}  // namespace trawl::test
