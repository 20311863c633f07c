#include "frontier/shared/owned_bucket.h"

namespace trawl {

namespace {

// Of a node of a map, in addition to its value.
constexpr std::uint64_t kNode = 48;

template <class Map>
using EntryOf = std::pair<typename Map::key_type, typename Map::mapped_type>;

template <class Map>
std::optional<EntryOf<Map>> entry_after(const Map& map,
                                        const std::optional<typename Map::key_type>& after) {
  const auto next = after ? map.upper_bound(*after) : map.begin();
  return next == map.end() ? std::nullopt : std::optional<EntryOf<Map>>(*next);
}

template <class Map>
std::optional<typename Map::mapped_type> find_in(const Map& map,
                                                 const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t bytes_of(const DeferredUrl& url) {
  return url.record.size();
}
std::uint64_t bytes_of(const std::string& value) {
  return value.size();
}

// Replaces the value of a key, or adds one; returns by how much their bytes change.
template <class Map>
std::uint64_t put(Map& map, const typename Map::key_type& key, typename Map::mapped_type value) {
  auto& place = map[key];
  const std::uint64_t before = bytes_of(place);
  place = std::move(value);
  return bytes_of(place) - before;  // modulo 2^64
}
template <class Map>
std::uint64_t take(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  if (found == map.end()) return 0;
  const std::uint64_t bytes = bytes_of(found->second);
  map.erase(found);
  return bytes;
}

}  // namespace

class OwnedBucket::Changes final : public StoreChanges {
 public:
  explicit Changes(OwnedBucket& bucket) : bucket_(bucket), lock_(bucket.mutex_) {}

  void add_deferred(const DeferredUrl& url) override {
    bucket_.mutex_.assert_held();
    bucket_.bytes_ += put(bucket_.deferred_, {url.not_before, url.sequence}, url);
  }
  void remove_deferred(const DeferredUrl& url) override {
    bucket_.mutex_.assert_held();
    bucket_.bytes_ -= take(bucket_.deferred_, {url.not_before, url.sequence});
  }
  void set_aside(Fingerprint fingerprint, std::string_view value) override {
    bucket_.mutex_.assert_held();
    bucket_.bytes_ += put(bucket_.set_aside_, fingerprint, std::string(value));
  }
  void remove_set_aside(Fingerprint fingerprint) override {
    bucket_.mutex_.assert_held();
    bucket_.bytes_ -= take(bucket_.set_aside_, fingerprint);
  }
  // These are in Redis, or in BucketHosts; depths in NotedDepths.
  void add_pending(HostId, const QueueOrder&, std::string_view) override {}
  void remove_pending(HostId, const QueueOrder&) override {}
  void log_admissions(std::uint64_t, std::span<const Fingerprint>) override {}
  void set_host(HostId, const HostRecord&) override {}
  void remove_host(HostId) override {}
  void set_counters(const Counters&) override {}
  void take_message(const MessageId&) override {}

 private:
  OwnedBucket& bucket_;
  const MutexLock lock_;
};

void OwnedBucket::load(DeferredUrl url) {
  const MutexLock lock(mutex_);
  const DeferredOrder order(url.not_before, url.sequence);
  bytes_ += put(deferred_, order, std::move(url));
}

void OwnedBucket::load(Fingerprint fingerprint, std::string_view set_aside) {
  const MutexLock lock(mutex_);
  bytes_ += put(set_aside_, fingerprint, std::string(set_aside));
}

Result<void> OwnedBucket::apply(const StoreBatch& batch) {
  Changes changes(*this);
  return batch.visit(changes);
}

std::optional<DeferredUrl> OwnedBucket::next_deferred(
    const std::optional<DeferredOrder>& after) const {
  const MutexLock lock(mutex_);
  auto next = entry_after(deferred_, after);
  return next ? std::optional(std::move(next->second)) : std::nullopt;
}

std::optional<std::string> OwnedBucket::set_aside(Fingerprint fingerprint) const {
  const MutexLock lock(mutex_);
  return find_in(set_aside_, fingerprint);
}

std::optional<std::pair<Fingerprint, std::string>> OwnedBucket::next_set_aside(
    const std::optional<Fingerprint>& after) const {
  const MutexLock lock(mutex_);
  return entry_after(set_aside_, after);
}

std::uint64_t OwnedBucket::memory() const {
  const MutexLock lock(mutex_);
  return bytes_ + hosts->memory() + depths->memory() +
         deferred_.size() * (kNode + sizeof(DeferredUrl)) +
         set_aside_.size() * (kNode + sizeof(Fingerprint) + sizeof(std::string));
}

}  // namespace trawl
