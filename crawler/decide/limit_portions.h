// LimitPortions: what a crawler may use of a limit that all crawlers of a crawl share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <thread>

#include "trawl/result.h"

#include "base/mutex.h"

namespace trawl {

// Where the portions come from. Called by one thread at a time; may wait.
struct LimitSource {
  // A portion of what is left of `limit`, at least `need` if so much is left; 0: all is taken.
  std::function<Result<std::uint64_t>(std::uint64_t limit, std::uint64_t need)> take;
  std::function<Result<void>(std::uint64_t amount)> give_back;
  // By all crawlers together.
  std::function<Result<std::uint64_t>()> taken;
};

// Pages, or bytes. Portions are taken by a thread of this class, the next one before the last is
// used up, so that those who use them neither wait nor lock. Without a limit the use is counted all
// the same, since a later run may have one. Thread-safe.
class LimitPortions {
 public:
  // Called on the thread of this class, and must not block. `changed`: more can be used, or all is
  // used up. `failed`: the source failed, for another reason than being out of reach or full, which
  // is waited for.
  struct Calls {
    std::function<void()> changed;
    std::function<void(const Error&)> failed;
  };

  LimitPortions(LimitSource source, std::optional<std::uint64_t> limit, Calls calls);
  // Gives nothing back.
  ~LimitPortions();
  LimitPortions(const LimitPortions&) = delete;
  LimitPortions& operator=(const LimitPortions&) = delete;

  void start();
  // Uses up to `wanted` of what is in hand; returns how much.
  std::uint64_t use(std::uint64_t wanted);
  // Uses `n` even if so much is not in hand: for what is known only afterwards.
  void spend(std::uint64_t n);
  void give_back(std::uint64_t n) {
    in_hand_.fetch_add(static_cast<std::int64_t>(n), std::memory_order_relaxed);
  }
  bool has_any() const { return !is_limited() || in_hand() > 0; }
  // Nothing is in hand, and nothing is left for any crawler. What others give back later changes
  // it, as does give_back().
  bool used_up() const {
    // acquire: pairs with use(), so that who finds nothing in hand sees what its takers did before.
    return is_limited() && in_hand_.load(std::memory_order_acquire) <= 0 &&
           all_taken_.load(std::memory_order_relaxed);
  }
  // Of the limit, by all crawlers, some seconds old; what others have in hand counts as used.
  // Nothing: there is no limit, or it is not known yet.
  std::optional<std::uint64_t> left() const;
  std::optional<std::uint64_t> limit() const;

  // What is in hand is given back, and taken again by the new limit.
  void set_limit(std::optional<std::uint64_t> limit);

  // For a crawler that is to end as `used_up` says. Asks the source once more, and may wait for it.
  // True: nothing is left, and nothing is taken any more. False: there is more to use.
  bool end_if(const std::function<bool()>& used_up);
  // Ends the thread, gives back what is in hand, and counts what was used beyond it. Call when
  // nothing is used any more. Errors: those of the source. Later calls do nothing.
  Result<void> close();

 private:
  // Any limit beyond it is none: a Redis counts in doubles.
  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 52;

  std::int64_t in_hand() const { return in_hand_.load(std::memory_order_relaxed); }
  bool is_limited() const { return limit_.load(std::memory_order_relaxed) < kUnlimited; }
  static std::uint64_t capped(std::optional<std::uint64_t> limit);
  void ask_if_low(std::int64_t left);
  void ask();
  void stop();

  // On the thread.
  void run();
  Result<void> take_portion();
  Result<void> settle_returns();
  void note_taken();

  const LimitSource source_;
  const Calls calls_;
  std::atomic<std::uint64_t> limit_;
  // Negative: used and not taken yet.
  std::atomic<std::int64_t> in_hand_{0};
  std::atomic<std::int64_t> low_{0};  // at or below it, another portion is taken
  std::atomic<bool> all_taken_{false};
  std::atomic<std::int64_t> to_return_{0};
  std::atomic<std::uint64_t> taken_{kUnlimited};  // kUnlimited: unknown
  std::atomic<bool> asked_{false};
  bool closed_ = false;

  Mutex mutex_;
  Condition wake_;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trawl
