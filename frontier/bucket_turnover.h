// BucketTurnover: brings the buckets that this crawler gains into its frontier, and takes out those
// that it loses or hands over.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/result.h"

#include "base/mutex.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// On threads of its own, one for loads, since loading a bucket and draining one take a while, and
// the threads that report a bucket must not wait. Events of a bucket are handled in the order in
// which they come. Thread-safe.
class BucketTurnover {
 public:
  // What is done, on the threads: one load at a time, and one of the others. Each is needed.
  struct Calls {
    // Loads a bucket, and opens it for admissions. It is leased from when this returns.
    std::function<Result<void>(BucketId, const std::string& token, const BucketMeta&)> load;
    // Makes a load() that is under way fail. From any thread.
    std::function<void(BucketId)> end_load;
    // Admits no more, and has the committer call retired() when all is written.
    std::function<Result<void>(BucketId)> retire;
    std::function<std::size_t(BucketId)> open_leases;
    // It is out, and all that was written is replicated: others may have it.
    std::function<void(BucketId, const std::string& token)> release;
    // It is out; it was lost, or could not be loaded.
    std::function<void(BucketId, const std::string& token)> drop;
    std::function<void(const Error&)> trouble;
  };
  struct Counts {
    std::size_t open = 0;     // buckets that are leased from
    std::size_t loading = 0;  // that come
    std::size_t leaving = 0;  // that go
    std::uint64_t gained = 0;
    std::uint64_t lost = 0;
    std::uint64_t handed_over = 0;
  };

  BucketTurnover(BucketId buckets, Calls calls, std::function<SteadyTime()> clock);
  ~BucketTurnover() { stop(); }

  // From who claims and renews buckets: each is about the last token that was gained.
  void gained(BucketId bucket, std::string token, BucketMeta meta);
  void lost(BucketId bucket);
  void to_release(BucketId bucket);
  // From who writes them: about the bucket as it was loaded.
  void refused(BucketId bucket);
  // By the committer: see Calls::retire.
  void retired(BucketId bucket);
  // Whether the bucket goes because it was lost: what it lacks must be passed on. By the committer,
  // before retired().
  bool was_lost(BucketId bucket) const;

  // Hands everything over, and takes nothing more. Returns when nothing is left, or at `until`:
  // whether nothing is left.
  bool hand_over_all(std::chrono::steady_clock::time_point until);
  void stop();

  // For each lease: whether URLs of the bucket may be leased, and since when its hosts rest.
  bool is_leasable(BucketId bucket) const noexcept {
    // acquire: pairs with the worker's release, so that the time of rest() is that of this opening.
    return states_[bucket].leasable.load(std::memory_order_acquire);
  }
  SteadyTime rests_since(BucketId bucket) const noexcept {
    return SteadyTime(
        SteadyTime::duration(states_[bucket].rests_since.load(std::memory_order_relaxed)));
  }
  Counts counts() const;

 private:
  enum class Stage : std::uint8_t { kAbsent, kLoading, kOpen, kDraining, kRetiring };
  struct Gain {
    std::string token;
    BucketMeta meta;
  };
  struct State {
    std::atomic<bool> leasable{false};
    std::atomic<SteadyTime::rep> rests_since{0};
    Stage stage = Stage::kAbsent;  // these with mutex_ held
    bool was_lost = false;
    bool is_wanted_elsewhere = false;
    std::string token = {};
    std::optional<Gain> next = {};  // gained; to be loaded when it is absent
    std::chrono::steady_clock::time_point drained_by = {};
    std::chrono::steady_clock::time_point loaded_by = {};
  };

  void run();
  void load();
  void lose(BucketId bucket) TRAWL_REQUIRES(mutex_);
  void give_back_unloaded(BucketId bucket) TRAWL_REQUIRES(mutex_);
  void drain(State& state, std::chrono::steady_clock::time_point until) TRAWL_REQUIRES(mutex_);
  void finish_next_out() TRAWL_REQUIRES(mutex_);
  void load_next() TRAWL_REQUIRES(mutex_);
  void take_out(BucketId bucket) TRAWL_REQUIRES(mutex_);
  void look_at_drains() TRAWL_REQUIRES(mutex_);
  bool is_empty() const TRAWL_REQUIRES(mutex_);

  const Calls calls_;
  const std::function<SteadyTime()> clock_;
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<State> states_;  // the members without atomics are guarded by mutex_
  std::deque<BucketId> to_load_ TRAWL_GUARDED_BY(mutex_);
  std::deque<BucketId> to_take_out_ TRAWL_GUARDED_BY(mutex_);
  std::vector<BucketId> out_ TRAWL_GUARDED_BY(mutex_);  // retired, to be released or dropped
  bool hands_over_ TRAWL_GUARDED_BY(mutex_) = false;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  Counts counts_ TRAWL_GUARDED_BY(mutex_);
  std::thread thread_, loader_;
};

}  // namespace trawl
