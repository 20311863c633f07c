// Who uses units subtracts them from a counter. Who brings it to the low mark wakes the thread,
// which asks the source for the next portion and adds it. The mark is a quarter of the last
// portion, so in a crawl that runs the counter is never empty.
//
// The source says 0 when all is taken by all crawlers together. If something is in hand then, the
// thread asks again when nothing is; only that answer counts, because others may have given back
// meanwhile. It goes on asking, slowly, for as long as units are wanted.
#include "crawler/decide/limit_portions.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace trawl {

namespace {

// Before a source that is out of reach, or has nothing, is asked again.
constexpr std::chrono::milliseconds kRest{300};
// How old left() may be.
constexpr std::chrono::seconds kNotedEvery{5};

// A store that is full has room again when the crawl goes on, or its owner makes some.
bool may_pass(const Error& failure) {
  return failure.code == ErrorCode::kUnavailable || failure.code == ErrorCode::kNoSpace;
}

}  // namespace

LimitPortions::LimitPortions(LimitSource source, std::optional<std::uint64_t> limit, Calls calls)
    : source_(std::move(source)), calls_(std::move(calls)), limit_(capped(limit)) {}

LimitPortions::~LimitPortions() {
  stop();
}

std::uint64_t LimitPortions::capped(std::optional<std::uint64_t> limit) {
  return std::min(limit.value_or(kUnlimited), kUnlimited);
}

void LimitPortions::start() {
  if (thread_.joinable()) return;
  // The limit may have been reached by other crawlers.
  asked_.store(true, std::memory_order_relaxed);
  thread_ = std::thread([this] { run(); });
}

std::uint64_t LimitPortions::use(std::uint64_t wanted) {
  if (!is_limited()) {
    spend(wanted);
    return wanted;
  }
  std::int64_t before = in_hand();
  std::int64_t used = 0;
  do {
    used = std::min(std::max<std::int64_t>(before, 0), static_cast<std::int64_t>(wanted));
    // release: pairs with used_up().
  } while (!in_hand_.compare_exchange_weak(before, before - used, std::memory_order_release,
                                           std::memory_order_relaxed));
  if (wanted > 0) ask_if_low(before - used);
  return static_cast<std::uint64_t>(used);
}

void LimitPortions::spend(std::uint64_t n) {
  const auto amount = static_cast<std::int64_t>(n);
  ask_if_low(in_hand_.fetch_sub(amount, std::memory_order_relaxed) - amount);
}

std::optional<std::uint64_t> LimitPortions::left() const {
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  if (!is_limited() || taken >= kUnlimited) return std::nullopt;
  const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
  const auto own = static_cast<std::uint64_t>(std::max<std::int64_t>(in_hand(), 0));
  return limit - std::min(limit, taken - std::min(taken, own));
}

std::optional<std::uint64_t> LimitPortions::limit() const {
  const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
  return limit < kUnlimited ? std::optional(limit) : std::nullopt;
}

void LimitPortions::set_limit(std::optional<std::uint64_t> limit) {
  const std::uint64_t now = capped(limit);
  if (limit_.exchange(now, std::memory_order_relaxed) == now) return;
  // What is owed stays.
  std::int64_t before = in_hand();
  while (before > 0 && !in_hand_.compare_exchange_weak(before, 0, std::memory_order_relaxed)) {
  }
  if (before > 0) to_return_.fetch_add(before, std::memory_order_relaxed);
  low_.store(0, std::memory_order_relaxed);
  all_taken_.store(false, std::memory_order_relaxed);
  ask();
}

void LimitPortions::ask_if_low(std::int64_t left) {
  if (left <= low_.load(std::memory_order_relaxed)) ask();
}

void LimitPortions::ask() {
  if (asked_.load(std::memory_order_relaxed) || asked_.exchange(true, std::memory_order_relaxed))
    return;
  // The thread reads the flag with the mutex held before it waits.
  { const MutexLock lock(mutex_); }
  wake_.notify_one();
}

void LimitPortions::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool LimitPortions::end_if(const std::function<bool()>& used_up) {
  stop();
  asked_.store(false, std::memory_order_relaxed);
  const bool is_answered = take_portion().has_value();
  if (!is_answered || used_up()) return true;
  {
    const MutexLock lock(mutex_);
    stopping_ = false;
  }
  thread_ = std::thread([this] { run(); });
  return false;
}

Result<void> LimitPortions::close() {
  if (std::exchange(closed_, true)) return {};
  stop();
  const std::int64_t over = in_hand_.exchange(0, std::memory_order_relaxed);
  if (over > 0) to_return_.fetch_add(over, std::memory_order_relaxed);
  if (auto settled = settle_returns(); !settled || over >= 0) return settled;
  const auto owed = static_cast<std::uint64_t>(-over);
  const auto taken = source_.take(limit_.load(std::memory_order_relaxed), owed);
  if (!taken) return tl::unexpected(taken.error());
  return *taken > owed ? source_.give_back(*taken - owed) : Result<void>{};
}

void LimitPortions::run() {
  auto noted = std::chrono::steady_clock::now() - kNotedEvery;
  bool rests = false;
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const auto rested = std::chrono::steady_clock::now() + (rests ? kRest : kNotedEvery);
      bool in_time = true;
      while (!stopping_ && in_time && (rests || !asked_.load(std::memory_order_relaxed)))
        in_time = wake_.wait_until(mutex_, rested);
      if (stopping_) return;
    }
    rests = false;
    if (asked_.exchange(false, std::memory_order_relaxed)) {
      const auto done = take_portion();
      rests = !done || all_taken_.load(std::memory_order_relaxed);
      if (!done && !may_pass(done.error())) return calls_.failed(done.error());
      if (!done) asked_.store(true, std::memory_order_relaxed);
      noted = {};
    }
    const auto now = std::chrono::steady_clock::now();
    if (!is_limited() || now < noted + kNotedEvery) continue;
    noted = now;
    note_taken();
  }
}

Result<void> LimitPortions::take_portion() {
  if (auto settled = settle_returns(); !settled) return settled;
  const std::int64_t before = in_hand();
  const std::uint64_t need = before < 0 ? static_cast<std::uint64_t>(-before) : 1;
  const auto portion = source_.take(limit_.load(std::memory_order_relaxed), need);
  if (!portion) return tl::unexpected(portion.error());
  if (*portion == 0) {
    low_.store(0, std::memory_order_relaxed);
    // Others may have used the rest between the answer and this line; then they have asked again.
    if (before <= 0) all_taken_.store(true, std::memory_order_relaxed);
    calls_.changed();
    return {};
  }
  const auto amount = static_cast<std::int64_t>(*portion);
  all_taken_.store(false, std::memory_order_relaxed);
  low_.store(amount / 4, std::memory_order_relaxed);
  const std::int64_t left = in_hand_.fetch_add(amount, std::memory_order_relaxed) + amount;
  if (left <= amount / 4) asked_.store(true, std::memory_order_relaxed);
  calls_.changed();
  return {};
}

Result<void> LimitPortions::settle_returns() {
  const std::int64_t amount = to_return_.exchange(0, std::memory_order_relaxed);
  if (amount <= 0) return {};
  auto returned = source_.give_back(static_cast<std::uint64_t>(amount));
  if (!returned) to_return_.fetch_add(amount, std::memory_order_relaxed);
  return returned;
}

// A failure is one of take(), too, which reports it.
void LimitPortions::note_taken() {
  if (const auto taken = source_.taken()) taken_.store(*taken, std::memory_order_relaxed);
}

}  // namespace trawl
