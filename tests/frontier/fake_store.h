// FakeStore: a Store in memory that tests can look into, delay and break.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontier/store.h"

namespace trawl::test {

class FakeStore final : public Store {
 public:
  // Called with each batch before it is taken; an error refuses it.
  std::function<Result<void>(const Batch&)> on_write;
  // Called for each read_queue().
  std::function<void(std::size_t limit)> on_read;

  // The queues that read_queue() reads; what is written does not go there.
  std::map<std::string, std::map<QueueOrder, QueuedUrl>> queues;
  void put(const QueuedUrl& url) { queues[url.host].emplace(url.order, url); }

  // What was written so far.
  std::vector<Batch> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  // Waits until something was written; false if nothing was for so long.
  bool wait_for_write(std::chrono::milliseconds patience) const {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, patience, [this] { return !batches_.empty(); });
  }

  Result<void> write(const Batch& batch) override {
    if (on_write) {
      if (auto allowed = on_write(batch); !allowed) return allowed;
    }
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
    written_.notify_all();
    return {};
  }
  Result<std::vector<QueuedUrl>> read_queue(
      const std::string& host, const std::optional<QueueOrder>& after, std::size_t limit,
      const std::function<bool(const QueueOrder&)>& wanted) const override {
    if (on_read) on_read(limit);
    std::vector<QueuedUrl> urls;
    const auto queue = queues.find(host);
    if (queue == queues.end()) return urls;
    auto it = after ? queue->second.upper_bound(*after) : queue->second.begin();
    for (; it != queue->second.end() && urls.size() < limit; ++it) {
      if (wanted(it->first)) urls.push_back(it->second);
    }
    return urls;
  }

  Result<void> sync() override { return {}; }
  Result<void> trim_admissions(std::uint64_t) override { return {}; }
  Result<Counters> counters() const override { return Counters{}; }
  Result<void> replay_admissions(
      std::uint64_t,
      const std::function<void(std::uint64_t, std::span<const Fingerprint>)>&) const override {
    return {};
  }
  Result<void> visit_queues(std::size_t,
                            const std::function<void(std::vector<QueuedUrl>)>&) const override {
    return {};
  }
  Result<void> visit_host_delays(
      const std::function<void(std::string, std::chrono::milliseconds)>&) const override {
    return {};
  }

 private:
  mutable std::mutex mutex_;  // guards the batches
  mutable std::condition_variable written_;
  std::vector<Batch> batches_;
};

}  // namespace trawl::test
