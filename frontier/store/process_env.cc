// RocksDB flushes and compacts on threads of its default environment, which never end. A child of
// fork() inherits that environment with its counts of threads, but not the threads: what it queues
// is never done, so that writes stop when the first buffer is full, and destructors of RocksDB,
// which run in exit(), wait for the threads forever. So a child gets an environment of its own,
// which differs in its queues and threads, and ends without those destructors.
#include "frontier/store/process_env.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <unistd.h>

#include "base/fork_generation.h"
#include "base/mutex.h"

namespace trawl {

namespace {

struct BackgroundJob {
  void (*run)(void*);
  void* argument;
  void* tag;
  void (*unscheduled)(void*);
};

// The jobs of one priority, and the threads that do them, which start when there is something to do
// and never end.
class BackgroundQueue {
 public:
  void push(const BackgroundJob& job) {
    const MutexLock lock(mutex_);
    jobs_.push_back(job);
    if (idle_ < jobs_.size() && threads_ < limit_) {
      std::thread([this] { work(); }).detach();
      ++threads_;
    }
    pushed_.notify_one();
  }
  // Removes the jobs with this tag that have not begun. Returns their number.
  int remove(const void* tag) {
    std::vector<BackgroundJob> removed;
    {
      const MutexLock lock(mutex_);
      std::erase_if(jobs_, [&](const BackgroundJob& job) {
        if (job.tag != tag) return false;
        removed.push_back(job);
        return true;
      });
    }
    for (const BackgroundJob& job : removed) {
      if (job.unscheduled != nullptr) job.unscheduled(job.argument);
    }
    return static_cast<int>(removed.size());
  }
  unsigned size() const {
    const MutexLock lock(mutex_);
    return static_cast<unsigned>(jobs_.size());
  }
  // Threads beyond the limit stay, and have less to do.
  void set_limit(int threads) {
    const MutexLock lock(mutex_);
    limit_ = static_cast<std::size_t>(std::max(threads, 1));
  }
  int limit() const {
    const MutexLock lock(mutex_);
    return static_cast<int>(limit_);
  }

 private:
  void work() {
    MutexLock lock(mutex_);
    for (;;) {
      ++idle_;
      while (jobs_.empty())
        pushed_.wait(mutex_);
      --idle_;
      const BackgroundJob job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      job.run(job.argument);
      lock.lock();
    }
  }

  mutable Mutex mutex_;
  Condition pushed_;
  std::deque<BackgroundJob> jobs_ TRAWL_GUARDED_BY(mutex_);
  std::size_t threads_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::size_t idle_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::size_t limit_ TRAWL_GUARDED_BY(mutex_) = 1;
};

// The default environment with other queues and threads.
class ChildEnv final : public rocksdb::EnvWrapper {
 public:
  ChildEnv() : EnvWrapper(rocksdb::Env::Default()), generation_(fork_generation()) {}
  const char* Name() const override { return "TrawlChildEnv"; }
  std::uint32_t generation() const noexcept { return generation_; }

  void Schedule(void (*run)(void*), void* argument, Priority priority, void* tag,
                void (*unscheduled)(void*)) override {
    queues_[priority].push(
        {.run = run, .argument = argument, .tag = tag, .unscheduled = unscheduled});
  }
  int UnSchedule(void* tag, Priority priority) override { return queues_[priority].remove(tag); }
  unsigned GetThreadPoolQueueLen(Priority priority) const override {
    return queues_[priority].size();
  }
  void StartThread(void (*run)(void*), void* argument) override {
    std::thread(run, argument).detach();
  }
  void WaitForJoin() override {}  // RocksDB's tests alone call it
  int ReserveThreads(int, Priority) override { return 0; }
  int ReleaseThreads(int, Priority) override { return 0; }
  void SetBackgroundThreads(int threads, Priority priority) override {
    queues_[priority].set_limit(threads);
  }
  int GetBackgroundThreads(Priority priority) override { return queues_[priority].limit(); }
  void IncBackgroundThreadsIfNeeded(int threads, Priority priority) override {
    if (queues_[priority].limit() < threads) queues_[priority].set_limit(threads);
  }
  void LowerThreadPoolIOPriority(Priority) override {}
  void LowerThreadPoolCPUPriority(Priority) override {}
  rocksdb::Status LowerThreadPoolCPUPriority(Priority, rocksdb::CpuPriority) override {
    return rocksdb::Status::OK();
  }

 private:
  std::array<BackgroundQueue, TOTAL> queues_;
  const std::uint32_t generation_;
};

}  // namespace

rocksdb::Env* process_env() {
  static rocksdb::Env* const inherited = rocksdb::Env::Default();
  static const std::uint32_t parent = fork_generation();
  if (fork_generation() == parent) return inherited;

  static std::atomic<ChildEnv*> own{nullptr};
  // acquire: pairs with the release below, so that the environment is seen whole.
  ChildEnv* found = own.load(std::memory_order_acquire);
  while (found == nullptr || found->generation() != fork_generation()) {
    // One that is replaced is an inherited one, too: its threads are the parent's.
    auto made = std::make_unique<ChildEnv>();
    // acq_rel: pairs with the acquire above, and with that of another thread here.
    if (own.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      return made.release();
  }
  return found;
}

void end_children_without_threads() {
  static const std::uint32_t parent = fork_generation();
  [[maybe_unused]] static const int registered = ::on_exit(
      [](int status, void*) {
        if (fork_generation() == parent) return;
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
}

}  // namespace trawl
