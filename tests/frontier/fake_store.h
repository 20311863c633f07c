// FakeStore: a Store in memory that tests can look into, delay and break.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontier/store/set_aside_record.h"
#include "frontier/store/store.h"

namespace trawl::test {

class FakeStore final : public Store {
 public:
  // Called with each batch before it is taken; an error refuses it.
  std::function<Result<void>(const Batch&)> on_write;
  // Called for each queue that is read, with how many URLs were asked for, and for each host(); an
  // error is what they return.
  std::function<Result<void>(std::size_t limit)> on_read;
  std::function<Result<void>(HostId)> on_host;

  // What is read; what is written does not go there. To be changed only while nobody reads.
  std::map<HostId, std::map<QueueOrder, std::string>> queues;
  std::vector<DeferredUrl> deferred;  // by time
  std::map<HostId, HostRecord> host_records;
  std::map<std::pair<std::uint64_t, std::uint64_t>, LedgerRecord> ledger_records;  // high, low
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> depths;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> set_aside_urls;
  Counters stored_counters;
  void put(const QueuedUrl& url) { queues[url.host].emplace(url.order, url.record); }
  void remove(const QueuedUrl& url) {
    const auto queue = queues.find(url.host);
    if (queue == queues.end()) return;
    queue->second.erase(url.order);
    if (queue->second.empty()) queues.erase(queue);
  }

  // What was written so far.
  std::vector<Batch> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  // Waits until something was written; false if nothing was within this time.
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
  Result<void> write_parts(std::span<const BatchPart> parts, std::span<const LinksForOwner>) {
    for (const BatchPart& part : parts)
      if (auto done = write(*part.batch); !done) return done;
    return {};
  }
  Result<void> sync() override { return {}; }
  Result<void> trim_admissions(std::uint64_t) override { return {}; }
  Result<Counters> counters() const override { return stored_counters; }
  Result<void> replay_admissions(
      std::uint64_t,
      const std::function<void(std::uint64_t, std::span<const Fingerprint>)>&) const override {
    return {};
  }

  Result<void> read_queues(std::span<QueueRead> reads) const override {
    for (QueueRead& read : reads) {
      if (on_read) {
        if (auto allowed = on_read(read.limit); !allowed) return allowed;
      }
      auto urls = find_queued(read.host, read.after, read.limit + 1);
      std::size_t bytes = 0;
      read.ended = true;
      for (QueuedUrl& url : urls) {
        read.ended = read.urls.size() < read.limit && bytes < read.max_bytes;
        if (!read.ended) break;
        bytes += url.record.size();
        read.urls.push_back(std::move(url));
      }
    }
    return {};
  }
  Result<void> visit_queues(
      HostId from, std::size_t limit,
      const std::function<bool(HostId, const QueueBeginning&)>& visit) const override {
    for (auto it = queues.lower_bound(from); it != queues.end(); ++it) {
      QueueBeginning queue{.urls = {}, .whole = it->second.size() <= limit};
      for (const auto& [order, record] : it->second) {
        if (queue.urls.size() < limit) queue.urls.push_back({it->first, order, record});
      }
      if (!visit(it->first, queue)) break;
    }
    return {};
  }
  Result<void> visit_pending(std::optional<HostId> host,
                             const std::function<bool(HostId, const QueueOrder&, std::string_view)>&
                                 visit) const override {
    for (const auto& [id, queue] : queues) {
      if (host && *host != id) continue;
      for (const auto& [order, record] : queue) {
        if (!visit(id, order, record)) return {};
      }
    }
    return {};
  }
  std::unique_ptr<QueueView> view_queues() const override {
    class View final : public QueueView {
     public:
      explicit View(const FakeStore& store) : queues_(store.queues) {}
      Result<void> visit(HostId host, const std::function<bool()>& visit) override {
        const auto queue = queues_.find(host);
        if (queue == queues_.end()) return {};
        for (std::size_t i = 0; i < queue->second.size() && visit(); ++i) {
        }
        return {};
      }

     private:
      const std::map<HostId, std::map<QueueOrder, std::string>> queues_;
    };
    return std::make_unique<View>(*this);
  }
  Result<void> visit_deferred(const std::function<bool(const DeferredUrl&)>& visit) const override {
    for (const DeferredUrl& url : deferred) {
      if (!visit(url)) break;
    }
    return {};
  }

  Result<std::optional<HostRecord>> host(HostId host) const override {
    if (on_host) {
      if (auto allowed = on_host(host); !allowed) return tl::unexpected(allowed.error());
    }
    return find(host_records, host);
  }
  Result<void> read_hosts(std::span<HostRead> reads) const override {
    for (HostRead& read : reads) {
      auto record = host(read.host);
      if (!record) return tl::unexpected(record.error());
      read.record = std::move(*record);
    }
    return {};
  }
  Result<void> visit_hosts(HostId from,
                           const std::function<bool(HostId, HostRecord)>& visit) const override {
    for (auto it = host_records.lower_bound(from); it != host_records.end(); ++it) {
      if (!visit(it->first, it->second)) break;
    }
    return {};
  }

  Result<std::optional<LedgerRecord>> ledger(Fingerprint fingerprint) const override {
    return find(ledger_records, {fingerprint.high, fingerprint.low});
  }
  Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                              std::span<bool> found) const override {
    for (std::size_t i = 0; i < fingerprints.size(); ++i)
      found[i] = ledger_records.contains({fingerprints[i].high, fingerprints[i].low});
    return {};
  }
  Result<void> visit_ledger(
      const std::function<void(Fingerprint, const LedgerRecord&)>& visit) const override {
    for (const auto& [key, record] : ledger_records)
      visit(Fingerprint{.high = key.first, .low = key.second}, record);
    return {};
  }
  Result<std::optional<std::uint32_t>> depth(Fingerprint fingerprint) const override {
    return find(depths, {fingerprint.high, fingerprint.low});
  }
  Result<void> visit_depths(
      const std::function<bool(Fingerprint, std::uint32_t)>& visit) const override {
    for (const auto& [key, depth] : depths) {
      if (!visit(Fingerprint{.high = key.first, .low = key.second}, depth)) break;
    }
    return {};
  }
  Result<std::optional<std::string>> set_aside(Fingerprint fingerprint) const override {
    return find(set_aside_urls, {fingerprint.high, fingerprint.low});
  }
  Result<std::optional<SetAsideState>> set_aside_state(Fingerprint fingerprint) const override {
    const auto value = find(set_aside_urls, {fingerprint.high, fingerprint.low});
    const auto record = value ? decode_set_aside(*value) : std::nullopt;
    return record ? std::optional(record->state) : std::nullopt;
  }
  Result<void> visit_set_aside(
      const std::optional<Fingerprint>& after,
      const std::function<bool(Fingerprint, std::string_view)>& visit) const override {
    for (const auto& [key, value] : set_aside_urls) {
      const Fingerprint fingerprint{.high = key.first, .low = key.second};
      if (after && !(*after < fingerprint)) continue;
      if (!visit(fingerprint, value)) break;
    }
    return {};
  }
  Result<std::string> set_aside_rules() const override { return std::string(); }
  std::uint64_t memory() const override { return 0; }

 private:
  std::vector<QueuedUrl> find_queued(HostId host, const std::optional<QueueOrder>& after,
                                     std::size_t limit) const {
    std::vector<QueuedUrl> urls;
    const auto queue = queues.find(host);
    if (queue == queues.end()) return urls;
    auto it = after ? queue->second.upper_bound(*after) : queue->second.begin();
    for (; it != queue->second.end() && urls.size() < limit; ++it) {
      urls.push_back({host, it->first, it->second});
    }
    return urls;
  }

  template <class Map>
  static std::optional<typename Map::mapped_type> find(const Map& map,
                                                       const typename Map::key_type& key) {
    const auto it = map.find(key);
    if (it == map.end()) return std::nullopt;
    return it->second;
  }

  mutable std::mutex mutex_;  // guards the batches
  mutable std::condition_variable written_;
  std::vector<Batch> batches_;
};

}  // namespace trawl::test
