#include "frontier/bucket_turnover.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/cluster/wait_until.h"

namespace trawl {
namespace {

using std::chrono::seconds;
using test::wait_until;
using testing::ElementsAre;
using testing::IsEmpty;

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

// Loads take until they are ended; the first call to end one finds it not yet begun.
class Turnover {
 public:
  BucketTurnover& operator*() { return turnover_; }
  bool is_loading(BucketId bucket) const {
    const MutexLock lock(mutex_);
    return loading_.contains(bucket);
  }
  std::vector<std::string> released() const {
    const MutexLock lock(mutex_);
    return released_;
  }
  std::vector<std::string> dropped() const {
    const MutexLock lock(mutex_);
    return dropped_;
  }

 private:
  Result<void> load(BucketId bucket) {
    const MutexLock lock(mutex_);
    loading_.insert(bucket);
    while (!ended_.contains(bucket))
      changed_.wait(mutex_);
    ended_.erase(bucket);
    loading_.erase(bucket);
    return error(ErrorCode::kClosed, "the load was ended");
  }
  BucketTurnover::Calls calls() {
    return {.load = [this](BucketId bucket, const std::string&,
                           const BucketMeta&) { return load(bucket); },
            .end_load =
                [this](BucketId bucket) {
                  const MutexLock lock(mutex_);
                  if (!std::exchange(was_early_, true)) return;
                  ended_.insert(bucket);
                  changed_.notify_all();
                },
            .retire = [](BucketId) { return Result<void>{}; },
            .open_leases = [](BucketId) { return std::size_t{0}; },
            .release = [this](BucketId, const std::string& token) { note(released_, token); },
            .drop = [this](BucketId, const std::string& token) { note(dropped_, token); },
            .trouble = [](const Error& error) { ADD_FAILURE() << error.message; }};
  }
  void note(std::vector<std::string>& list, const std::string& token) {
    const MutexLock lock(mutex_);
    list.push_back(token);
  }

  mutable Mutex mutex_;
  Condition changed_;
  std::set<BucketId> loading_, ended_;
  bool was_early_ = false;
  std::vector<std::string> released_, dropped_;
  BucketTurnover turnover_{16, calls(), now};
};

// Others would have to wait for the end of its lease.
TEST(BucketTurnover, ABucketThatIsBeingLoadedIsHandedOverToo) {
  Turnover turnover;
  (*turnover).gained(3, "loading", {});
  (*turnover).gained(5, "waiting", {});
  ASSERT_TRUE(wait_until([&] { return turnover.is_loading(3); }));
  EXPECT_TRUE((*turnover).hand_over_all(now() + seconds(20)));
  EXPECT_THAT(turnover.released(), testing::UnorderedElementsAre("loading", "waiting"));
  EXPECT_THAT(turnover.dropped(), IsEmpty());
}

TEST(BucketTurnover, ABucketThatIsLostWhileItIsLoadedIsNotHandedOver) {
  Turnover turnover;
  (*turnover).gained(3, "lost", {});
  ASSERT_TRUE(wait_until([&] { return turnover.is_loading(3); }));
  (*turnover).lost(3);
  ASSERT_TRUE(wait_until([&] { return !turnover.dropped().empty(); }));
  EXPECT_TRUE((*turnover).hand_over_all(now() + seconds(20)));
  EXPECT_THAT(turnover.released(), IsEmpty());
  EXPECT_THAT(turnover.dropped(), ElementsAre("lost"));
}

}  // namespace
}  // namespace trawl
