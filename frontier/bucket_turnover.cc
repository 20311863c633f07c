#include "frontier/bucket_turnover.h"

#include <algorithm>
#include <utility>

namespace trawl {

namespace {

// How long open leases of a bucket that is handed over may take to end. Those that are open then
// are void: their pages are fetched again.
constexpr std::chrono::seconds kDrainTime(30);
// The same when all is handed over.
constexpr std::chrono::milliseconds kLastEnds(300);
// A load that takes longer is given up, as its node is away, and others are loaded.
constexpr std::chrono::seconds kLoadTime(60);
// How often the thread looks at buckets that drain.
constexpr std::chrono::milliseconds kLook(20);

}  // namespace

BucketTurnover::BucketTurnover(BucketId buckets, Calls calls, std::function<SteadyTime()> clock)
    : calls_(std::move(calls)), clock_(std::move(clock)), states_(buckets) {
  thread_ = std::thread([this] { run(); });
  loader_ = std::thread([this] { load(); });
}

void BucketTurnover::gained(BucketId bucket, std::string token, BucketMeta meta) {
  const MutexLock lock(mutex_);
  states_[bucket].next = Gain{.token = std::move(token), .meta = std::move(meta)};
  if (states_[bucket].stage == Stage::kAbsent) to_load_.push_back(bucket);
  changed_.notify_all();
}

void BucketTurnover::lost(BucketId bucket) {
  const MutexLock lock(mutex_);
  // The one before was lost earlier, or goes already.
  if (std::exchange(states_[bucket].next, std::nullopt)) return;
  lose(bucket);
}

void BucketTurnover::refused(BucketId bucket) {
  const MutexLock lock(mutex_);
  lose(bucket);
}

void BucketTurnover::lose(BucketId bucket) {
  State& state = states_[bucket];
  // Relaxed: who sees it late leases a URL, and may not start its request.
  state.leasable.store(false, std::memory_order_relaxed);
  if (state.stage == Stage::kLoading) calls_.end_load(bucket);
  if (state.stage == Stage::kAbsent) return;
  if (!std::exchange(state.was_lost, true)) ++counts_.lost;
  if (state.stage == Stage::kOpen || state.stage == Stage::kDraining)
    to_take_out_.push_back(bucket);
  changed_.notify_all();
}

void BucketTurnover::to_release(BucketId bucket) {
  const MutexLock lock(mutex_);
  State& state = states_[bucket];
  if (state.stage == Stage::kAbsent && state.next) {
    give_back_unloaded(bucket);
  } else if (state.stage == Stage::kOpen && !state.next) {
    drain(state, std::chrono::steady_clock::now() + kDrainTime);
  } else {
    state.is_wanted_elsewhere = true;  // when it is loaded
  }
  changed_.notify_all();
}

void BucketTurnover::drain(State& state, std::chrono::steady_clock::time_point until) {
  state.leasable.store(false, std::memory_order_relaxed);
  state.stage = Stage::kDraining;
  state.drained_by = until;
}

void BucketTurnover::give_back_unloaded(BucketId bucket) {
  State& state = states_[bucket];
  state.token = std::exchange(state.next, std::nullopt)->token;
  state.stage = Stage::kRetiring;
  out_.push_back(bucket);
}

void BucketTurnover::retired(BucketId bucket) {
  const MutexLock lock(mutex_);
  out_.push_back(bucket);
  changed_.notify_all();
}

bool BucketTurnover::was_lost(BucketId bucket) const {
  const MutexLock lock(mutex_);
  return states_[bucket].was_lost;
}

bool BucketTurnover::is_empty() const {
  return std::ranges::all_of(
      states_, [](const State& state) { return state.stage == Stage::kAbsent && !state.next; });
}

bool BucketTurnover::hand_over_all(std::chrono::steady_clock::time_point until) {
  const MutexLock lock(mutex_);
  hands_over_ = true;
  for (std::size_t bucket = 0; bucket < states_.size(); ++bucket) {
    State& state = states_[bucket];
    state.leasable.store(false, std::memory_order_relaxed);
    if (state.stage == Stage::kAbsent && state.next)
      give_back_unloaded(static_cast<BucketId>(bucket));
    if (state.stage == Stage::kLoading) calls_.end_load(static_cast<BucketId>(bucket));
    // The caller has ended its leases; their ends may be on their way.
    if (state.stage == Stage::kOpen || state.stage == Stage::kDraining)
      drain(state, std::chrono::steady_clock::now() + kLastEnds);
  }
  to_load_.clear();
  changed_.notify_all();
  while (!is_empty() && changed_.wait_until(mutex_, until)) {
  }
  return is_empty();
}

void BucketTurnover::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (std::size_t bucket = 0; bucket < states_.size(); ++bucket) {
      states_[bucket].leasable.store(false, std::memory_order_relaxed);
      if (states_[bucket].stage == Stage::kLoading) calls_.end_load(static_cast<BucketId>(bucket));
    }
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (loader_.joinable()) loader_.join();
}

BucketTurnover::Counts BucketTurnover::counts() const {
  const MutexLock lock(mutex_);
  Counts counts = counts_;
  for (const State& state : states_) {
    counts.open += state.stage == Stage::kOpen ? 1 : 0;
    counts.loading += state.stage == Stage::kLoading || state.next ? 1 : 0;
    counts.leaving += state.stage == Stage::kDraining || state.stage == Stage::kRetiring ? 1 : 0;
  }
  return counts;
}

void BucketTurnover::load() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    if (to_load_.empty()) {
      changed_.wait(mutex_);
    } else {
      load_next();
    }
  }
}

void BucketTurnover::run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    look_at_drains();
    if (!to_take_out_.empty()) {
      const BucketId bucket = to_take_out_.front();
      to_take_out_.pop_front();
      take_out(bucket);
    } else if (!out_.empty()) {
      finish_next_out();
    } else {
      changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kLook);
    }
  }
}

void BucketTurnover::finish_next_out() {
  const BucketId bucket = out_.back();
  out_.pop_back();
  State& state = states_[bucket];
  const bool lost = std::exchange(state.was_lost, false);
  state.is_wanted_elsewhere = false;
  const std::string token = std::exchange(state.token, {});
  {
    const MutexUnlock unlocked(mutex_);
    lost ? calls_.drop(bucket, token) : calls_.release(bucket, token);
  }
  state.stage = Stage::kAbsent;
  counts_.handed_over += lost ? 0 : 1;
  if (state.next && !hands_over_) {
    to_load_.push_back(bucket);
  } else if (state.next) {
    give_back_unloaded(bucket);
  }
  changed_.notify_all();
}

void BucketTurnover::take_out(BucketId bucket) {
  State& state = states_[bucket];
  if (state.stage != Stage::kOpen && state.stage != Stage::kDraining) return;
  state.stage = Stage::kRetiring;
  Result<void> done;
  {
    const MutexUnlock unlocked(mutex_);
    done = calls_.retire(bucket);
  }
  // The frontier has stopped: nothing is written any more.
  if (!done) out_.push_back(bucket);
}

void BucketTurnover::look_at_drains() {
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const auto bucket = static_cast<BucketId>(i);
    // Again and again: a load that has just begun may not have been there to be ended.
    if (states_[i].stage == Stage::kLoading &&
        (states_[i].was_lost || hands_over_ || now >= states_[i].loaded_by))
      calls_.end_load(bucket);
    if (states_[i].stage != Stage::kDraining) continue;
    if (now >= states_[i].drained_by || calls_.open_leases(bucket) == 0) take_out(bucket);
  }
}

void BucketTurnover::load_next() {
  const BucketId bucket = to_load_.front();
  to_load_.pop_front();
  State& state = states_[bucket];
  if (state.stage != Stage::kAbsent || !state.next) return;
  const Gain gain = *std::exchange(state.next, std::nullopt);
  state.stage = Stage::kLoading;
  state.loaded_by = std::chrono::steady_clock::now() + kLoadTime;
  state.token = gain.token;
  state.was_lost = false;
  // P1: from after the claim. Relaxed: published by `leasable`.
  state.rests_since.store(clock_().time_since_epoch().count(), std::memory_order_relaxed);
  Result<void> loaded;
  {
    const MutexUnlock unlocked(mutex_);
    loaded = calls_.load(bucket, gain.token, gain.meta);
  }
  if (!loaded && hands_over_ && !state.was_lost) {
    // As it was claimed: others need not wait for the end of the lease.
    state.stage = Stage::kRetiring;
    out_.push_back(bucket);
    changed_.notify_all();
    return;
  }
  if (!loaded) {
    const bool expected = state.was_lost || stopping_;
    state.stage = Stage::kAbsent;
    state.token.clear();
    state.was_lost = state.is_wanted_elsewhere = false;
    if (state.next) to_load_.push_back(bucket);
    changed_.notify_all();
    const MutexUnlock unlocked(mutex_);
    calls_.drop(bucket, gain.token);
    if (!expected) calls_.trouble(loaded.error());
    return;
  }
  state.stage = Stage::kOpen;
  ++counts_.gained;
  if (state.was_lost) {
    to_take_out_.push_back(bucket);
  } else if (hands_over_ || std::exchange(state.is_wanted_elsewhere, false)) {
    drain(state, {});
  } else {
    // release: pairs with is_leasable().
    state.leasable.store(true, std::memory_order_release);
  }
}

}  // namespace trawl
