// QueueCounter: counts the URLs of long queues after a restart, while the frontier is in use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "frontier/store/store.h"

namespace trawl {

// A restart reads only the beginning of each queue, so that it takes time in proportion to the
// number of hosts. Counts of URLs are for people, and can wait: the queues are counted as they were
// at the restart, from a view of the store, and the shards add what has changed since. So the
// counts are exact once a host is counted, whatever happens meanwhile. Reading takes at most half
// of one processor.
class QueueCounter {
 public:
  // `counted` is called for each host.
  using Counted = std::function<void(HostId, std::uint64_t urls)>;

  QueueCounter(std::unique_ptr<Store::QueueView> view, std::vector<HostId> hosts, Counted counted)
      : view_(std::move(view)), hosts_(std::move(hosts)), counted_(std::move(counted)) {}
  ~QueueCounter() { stop(); }
  QueueCounter(const QueueCounter&) = delete;
  QueueCounter& operator=(const QueueCounter&) = delete;

  // Counts all, on this thread or on one of its own. A queue that cannot be read stays uncounted:
  // the next thread that reads it gets the error.
  void run();
  void start();
  // Ends the thread; the other hosts stay uncounted.
  void stop();

 private:
  bool is_stopping() const;
  void rest(std::chrono::steady_clock::duration time);

  std::unique_ptr<Store::QueueView> view_;
  std::vector<HostId> hosts_;
  const Counted counted_;
  mutable Mutex mutex_;
  Condition stopped_;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  bool rests_ = false;
  std::thread thread_;
};

}  // namespace trawl
