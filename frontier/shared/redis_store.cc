#include "frontier/shared/redis_store.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

// URLs that are leased, or in a shard's head, and so before those that are wanted; at first.
constexpr std::size_t kBefore = 64;

template <class Map>
using EntryOf = std::pair<typename Map::key_type, typename Map::mapped_type>;

template <class Map>
std::optional<EntryOf<Map>> entry_after(const Map& map,
                                        const std::optional<typename Map::key_type>& after) {
  const auto next = after ? map.upper_bound(*after) : map.begin();
  return next == map.end() ? std::nullopt : std::optional<EntryOf<Map>>(*next);
}

// Calls `visit` for one entry after the other, without the lock that `next` takes.
template <class Next, class Key, class Visit>
void visit_entries(Next next, std::optional<Key> after, Visit visit) {
  for (auto entry = next(after); entry && visit(entry->first, entry->second); entry = next(after))
    after = entry->first;
}

template <class Map>
std::optional<typename Map::mapped_type> find_in(const Map& map,
                                                 const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

class RedisStore::Mirror final : public StoreChanges {
 public:
  explicit Mirror(RedisStore& store) : store_(store), lock_(store.mutex_) {}

  void add_deferred(const DeferredUrl& url) override {
    store_.mutex_.assert_held();
    store_.deferred_[{url.not_before, url.sequence}] = url;
  }
  void remove_deferred(const DeferredUrl& url) override {
    store_.mutex_.assert_held();
    store_.deferred_.erase({url.not_before, url.sequence});
  }
  void set_aside(Fingerprint fingerprint, std::string_view value) override {
    store_.mutex_.assert_held();
    store_.set_aside_[fingerprint] = value;
  }
  void remove_set_aside(Fingerprint fingerprint) override {
    store_.mutex_.assert_held();
    store_.set_aside_.erase(fingerprint);
  }
  void lower_depth(Fingerprint fingerprint, std::uint32_t depth) override {
    store_.mutex_.assert_held();
    const auto [noted, is_new] = store_.depths_.try_emplace(fingerprint, depth);
    if (!is_new) noted->second = std::min(noted->second, depth);
  }
  void forget_depth(Fingerprint fingerprint) override {
    store_.mutex_.assert_held();
    store_.depths_.erase(fingerprint);
  }
  // These are in Redis, or in BucketHosts.
  void add_pending(HostId, const QueueOrder&, std::string_view) override {}
  void remove_pending(HostId, const QueueOrder&) override {}
  void log_admissions(std::uint64_t, std::span<const Fingerprint>) override {}
  void set_host(HostId, const HostRecord&) override {}
  void remove_host(HostId) override {}
  void set_counters(const Counters&) override {}
  void take_message(const MessageId&) override {}

 private:
  RedisStore& store_;
  const MutexLock lock_;
};

Result<std::unique_ptr<RedisStore>> RedisStore::load(BucketWriter& writer, Reader& reader,
                                                     const UrlIdentity& identity, BucketId bucket,
                                                     const std::string& token,
                                                     const BucketMeta& meta) {
  std::unique_ptr<RedisStore> store(new RedisStore(writer, reader, bucket));
  if (auto loaded = store->load(identity, meta); !loaded) return tl::unexpected(loaded.error());
  writer.begin(bucket, token, meta, store->hosts_);
  return store;
}

Result<void> RedisStore::load(const UrlIdentity& identity, const BucketMeta& meta) {
  segment_ = meta.segment;
  if (!meta.counters.empty()) {
    const auto counters = decode_counters(meta.counters);
    if (!counters) {
      return error(ErrorCode::kCorrupt,
                   fmt::format("the counters of bucket {} in Redis are damaged", bucket_));
    }
    counters_ = *counters;
  }
  const MutexLock reading(reader_.mutex);
  BucketStore& buckets = reader_.buckets;
  std::map<HostId, BucketHost> values;
  auto read = buckets.visit_hosts(bucket_, [&](HostId host, BucketHost value) {
    values.insert_or_assign(host, std::move(value));
  });
  if (!read) return read;
  std::vector<BucketStore::QueueName> queues;
  for (const auto& [host, value] : values) {
    for (const std::int32_t priority : value.priorities)
      queues.push_back({.host = host, .priority = priority});
  }
  const auto sizes = buckets.queue_sizes(bucket_, queues);
  auto size = sizes.begin();
  for (const auto& [host, value] : values) {
    std::vector<std::uint64_t> urls;
    for (std::size_t i = 0; i < value.priorities.size(); ++i, ++size) {
      if (!*size) return tl::unexpected(size->error());
      urls.push_back(**size);
    }
    hosts_->load(host, value, urls);
  }
  const MutexLock lock(mutex_);
  read = buckets.visit_deferred(bucket_, [&](DeferredUrl url) {
    mutex_.assert_held();
    const DeferredOrder order(url.not_before, url.sequence);
    deferred_.insert_or_assign(order, std::move(url));
  });
  if (!read) return read;
  return buckets.visit_set_aside(bucket_, [&](std::uint64_t low, std::string_view value) {
    mutex_.assert_held();
    const auto record = decode_set_aside(value);
    const auto url = record ? decode_record(record->url_record) : std::nullopt;
    const auto fingerprint = url ? identity.of(*url) : std::nullopt;
    // A damaged one counts as absent.
    if (fingerprint && fingerprint->low == low) set_aside_[*fingerprint] = value;
  });
}

Result<void> RedisStore::write(const StoreBatch& batch) {
  BucketWriter::Part part{.bucket = bucket_, .batch = &batch};
  writer_.write(std::span(&part, 1));
  if (!part.result) return part.result;
  Mirror mirror(*this);
  return batch.visit(mirror);
}

Result<bool> RedisStore::visit_queue(HostId host, const std::optional<QueueOrder>& after,
                                     std::size_t limit,
                                     const std::function<bool(QueuedUrl&&)>& visit) const {
  for (const auto& known : hosts_->queues(host)) {
    const std::int32_t priority = known.first;
    if (after && priority > after->priority) continue;
    constexpr std::size_t kAll = std::numeric_limits<std::int64_t>::max();
    for (std::size_t n = std::min(limit, kAll / 4) + kBefore;; n *= 4) {
      const auto read = [&] {
        const MutexLock reading(reader_.mutex);
        return reader_.buckets.read_queue(bucket_, host, priority, 0, std::min(n, kAll));
      };
      auto queue = read();
      if (!queue) return tl::unexpected(queue.error());
      const bool whole = queue->size() < n;
      if (after) std::erase_if(*queue, [&](const QueuedUrl& url) { return url.order <= *after; });
      if (!whole && queue->size() < limit) continue;  // it needs a larger part
      for (QueuedUrl& url : *queue)
        if (!visit(std::move(url))) return false;
      if (!whole) return false;
      break;
    }
  }
  return true;
}

Result<void> RedisStore::read_queues(std::span<QueueRead> reads) const {
  for (QueueRead& read : reads) {
    std::size_t bytes = 0;
    const auto ended = visit_queue(read.host, read.after, read.limit + 1, [&](QueuedUrl&& url) {
      if (read.urls.size() == read.limit || bytes >= read.max_bytes) return false;
      bytes += url.record.size();
      read.urls.push_back(std::move(url));
      return true;
    });
    if (!ended) return tl::unexpected(ended.error());
    read.ended = *ended;
  }
  return {};
}

Result<void> RedisStore::read_hosts(std::span<HostRead> reads) const {
  for (HostRead& read : reads)
    read.record = hosts_->record(read.host);
  return {};
}

Result<void> RedisStore::visit_deferred(
    const std::function<bool(const DeferredUrl&)>& visit) const {
  visit_entries(
      [this](const auto& after) {
        const MutexLock lock(mutex_);
        return entry_after(deferred_, after);
      },
      std::optional<DeferredOrder>(),
      [&](const auto&, const DeferredUrl& url) { return visit(url); });
  return {};
}

Result<std::optional<SetAsideState>> RedisStore::set_aside_state(Fingerprint fingerprint) const {
  const auto value = set_aside(fingerprint);
  const auto record = *value ? decode_set_aside(**value) : std::nullopt;
  return record ? std::optional(record->state) : std::nullopt;
}

Result<void> RedisStore::find_in_ledger(std::span<const Fingerprint>, std::span<bool> found) const {
  std::ranges::fill(found, false);
  return {};
}

Result<void> RedisStore::replay_admissions(
    std::uint64_t sequence,
    const std::function<void(std::uint64_t first, std::span<const Fingerprint>)>& visit) const {
  std::uint64_t next = 0;
  std::vector<Fingerprint> fingerprints;
  const MutexLock reading(reader_.mutex);
  return reader_.buckets.visit_fingerprints(bucket_, segment_,
                                            [&](std::span<const std::uint64_t> part) {
                                              fingerprints.clear();
                                              for (const std::uint64_t low : part)
                                                fingerprints.push_back({.high = 0, .low = low});
                                              if (next + part.size() > sequence)
                                                visit(next, fingerprints);
                                              next += part.size();
                                            });
}

Result<void> RedisStore::visit_queues(
    HostId from, std::size_t limit,
    const std::function<bool(HostId, const QueueBeginning&)>& visit) const {
  for (auto host = hosts_->next_with_urls(from); host; host = hosts_->next_with_urls(*host + 1)) {
    QueueBeginning queue;
    if (limit > 0) {
      const auto ended = visit_queue(*host, std::nullopt, limit + 1, [&](QueuedUrl&& url) {
        if (queue.urls.size() == limit) return false;
        queue.urls.push_back(std::move(url));
        return true;
      });
      if (!ended) return tl::unexpected(ended.error());
      queue.whole = *ended;
    }
    if (!visit(*host, queue) || *host == ~HostId{0}) break;
  }
  return {};
}

Result<void> RedisStore::visit_pending(
    std::optional<HostId> host,
    const std::function<bool(HostId, const QueueOrder&, std::string_view)>& visit) const {
  for (auto next = hosts_->next_with_urls(host.value_or(0)); next && (!host || *next == *host);
       next = hosts_->next_with_urls(*next + 1)) {
    bool stops = false;
    const auto ended = visit_queue(*next, std::nullopt, std::numeric_limits<std::size_t>::max(),
                                   [&](QueuedUrl&& url) {
                                     stops = !visit(url.host, url.order, url.record);
                                     return !stops;
                                   });
    if (!ended) return tl::unexpected(ended.error());
    if (stops || *next == ~HostId{0}) break;
  }
  return {};
}

std::unique_ptr<Store::QueueView> RedisStore::view_queues() const {
  class View final : public QueueView {
   public:
    explicit View(const BucketHosts& hosts) {
      for (auto host = hosts.next_with_urls(0); host; host = hosts.next_with_urls(*host + 1)) {
        for (const auto& [priority, urls] : hosts.queues(*host))
          urls_[*host] += urls;
        if (*host == ~HostId{0}) break;
      }
    }
    Result<void> visit(HostId host, const std::function<bool()>& visit) override {
      for (std::uint64_t urls = urls_[host]; urls > 0 && visit(); --urls) {
      }
      return {};
    }

   private:
    std::map<HostId, std::uint64_t> urls_;
  };
  return std::make_unique<View>(*hosts_);
}

Result<void> RedisStore::visit_hosts(HostId from,
                                     const std::function<bool(HostId, HostRecord)>& visit) const {
  for (auto host = hosts_->next_with_record(from); host;
       host = hosts_->next_with_record(*host + 1)) {
    auto record = hosts_->record(*host);
    if ((record && !visit(*host, std::move(*record))) || *host == ~HostId{0}) break;
  }
  return {};
}

Result<std::optional<std::uint32_t>> RedisStore::depth(Fingerprint fingerprint) const {
  const MutexLock lock(mutex_);
  return find_in(depths_, fingerprint);
}

Result<void> RedisStore::visit_depths(
    const std::function<bool(Fingerprint, std::uint32_t depth)>& visit) const {
  visit_entries(
      [this](const auto& last) {
        const MutexLock lock(mutex_);
        return entry_after(depths_, last);
      },
      std::optional<Fingerprint>(), visit);
  return {};
}

Result<std::optional<std::string>> RedisStore::set_aside(Fingerprint fingerprint) const {
  const MutexLock lock(mutex_);
  return find_in(set_aside_, fingerprint);
}

Result<void> RedisStore::visit_set_aside(
    const std::optional<Fingerprint>& after,
    const std::function<bool(Fingerprint, std::string_view value)>& visit) const {
  visit_entries(
      [this](const auto& last) {
        const MutexLock lock(mutex_);
        return entry_after(set_aside_, last);
      },
      after, visit);
  return {};
}

}  // namespace trawl
