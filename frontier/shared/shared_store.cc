#include "frontier/shared/shared_store.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"

namespace trawl {

namespace {

constexpr std::chrono::milliseconds kPause{50};  // between attempts to read
constexpr std::size_t kHostsOfARead = 1000;      // whose queues are read together
constexpr std::uint64_t kUrlsOfARead = 1000;     // of one queue
// Of a read for a thread that leases, whose transfers stand still meanwhile: those of a fetcher. A
// client waits for another 250 ms for answers that are on their way, and as many seconds may pass
// until the replica of a master that has died takes its place.
constexpr std::chrono::milliseconds kPatienceAtOnce{50};

// Each thread has always the same.
template <class Connections>
BucketConnection& connection_of_this_thread(const Connections& connections) {
  const std::size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  return *connections[thread % connections.size()];
}

tl::unexpected<Error> not_owned() {
  return error(ErrorCode::kInUse, "another crawler owns the bucket now");
}

}  // namespace

Result<std::unique_ptr<SharedStore>> SharedStore::open(Options options) {
  Connections connections;
  const auto connect = [&](Connection& connection,
                           std::chrono::milliseconds patience) -> Result<void> {
    auto opened = BucketConnection::open(options.redis, BucketKeys(options.crawl),
                                         options.replicated, patience);
    if (!opened) return tl::unexpected(opened.error());
    connection = std::move(*opened);
    return {};
  };
  for (Connection& one : connections.at_once)
    if (auto done = connect(one, kPatienceAtOnce); !done) return tl::unexpected(done.error());
  for (Connection& one : connections.readers)
    if (auto done = connect(one, options.patience); !done) return tl::unexpected(done.error());
  for (Connection* const one : {&connections.loader, &connections.writer})
    if (auto done = connect(*one, options.patience); !done) return tl::unexpected(done.error());
  return std::unique_ptr<SharedStore>(new SharedStore(std::move(options), std::move(connections)));
}

SharedStore::SharedStore(Options options, Connections connections)
    : options_(std::move(options)),
      connections_(std::move(connections)),
      writer_(connections_.writer->buckets_of_one_thread(), options_.identity, writer_options()) {}

SharedWriter::Options SharedStore::writer_options() const {
  return {.writer = {.kept = options_.kept,
                     .max_bytes = options_.max_kept_bytes,
                     .gives_up = [this] { return gives_up_.load(std::memory_order_relaxed); },
                     .clock = options_.clock},
          .lost = options_.lost,
          .messages_kept = options_.kept + std::chrono::seconds(20)};
}

SharedStore::BucketPtr SharedStore::find(BucketId bucket) const {
  const MutexLock lock(mutex_);
  const auto found = buckets_.find(bucket);
  return found == buckets_.end() ? nullptr : found->second;
}

std::vector<SharedStore::BucketPtr> SharedStore::owned() const {
  const MutexLock lock(mutex_);
  std::vector<BucketPtr> all;
  for (const auto& [id, bucket] : buckets_)
    all.push_back(bucket);
  return all;
}

std::string SharedStore::waits_for() const {
  if (std::string why = writer_.waits_for(); !why.empty()) return why;
  {
    const MutexLock lock(mutex_);
    if (!reads_wait_.empty()) return reads_wait_.begin()->second;
  }
  return nodes_away_.waits_for(std::chrono::steady_clock::now());
}

template <class Read>
Result<void> SharedStore::with_patience(BucketConnection& connection, const Read& read,
                                        const OwnedBucket* bucket) const {
  for (bool waited = false;; waited = true) {
    Result<void> done = connection.with(read);
    const bool away = !done && done.error().code == ErrorCode::kUnavailable;
    if (away || waited) {
      const MutexLock lock(mutex_);
      if (away) {
        reads_wait_[std::this_thread::get_id()] = done.error().message;
      } else {
        reads_wait_.erase(std::this_thread::get_id());
      }
    }
    if (!away || gives_up_.load(std::memory_order_relaxed)) return done;
    if (bucket != nullptr && bucket->ended()) return not_owned();
    std::this_thread::sleep_for(kPause);
  }
}

Result<Counters> SharedStore::take(BucketId id, const std::string& token, const BucketMeta& meta,
                                   const BucketVisitor& visitor) {
  const auto counters =
      meta.counters.empty() ? std::optional(Counters{}) : decode_counters(meta.counters);
  assert(counters);  // BucketStore::claim() has looked
  const auto bucket = std::make_shared<OwnedBucket>(id, token, meta);
  {
    const MutexLock lock(mutex_);
    loading_[id] = bucket;
  }
  BucketLoader loader(options_.identity, *bucket, options_.page_limit);
  BucketConnection& connection = *connections_.loader;
  auto done = with_patience(
      connection, [&](BucketStore& buckets) { return loader.load(buckets); }, bucket.get());
  if (done) done = begin_reads(bucket);
  if (done) done = take(*bucket, loader, visitor);
  if (done && bucket->ended()) done = not_owned();
  if (done) return *counters;
  const MutexLock lock(mutex_);
  for (auto* buckets : {&loading_, &buckets_}) {
    const auto found = buckets->find(id);
    if (found != buckets->end() && found->second == bucket) buckets->erase(found);
  }
  return tl::unexpected(done.error());
}

Result<void> SharedStore::begin_reads(const BucketPtr& bucket) {
  const MutexLock lock(mutex_);
  const auto loading = loading_.find(bucket->id);
  if (loading == loading_.end() || loading->second != bucket) return not_owned();
  loading_.erase(loading);
  buckets_[bucket->id] = bucket;
  return {};
}

Result<void> SharedStore::take(OwnedBucket& bucket, BucketLoader& loader,
                               const BucketVisitor& visitor) {
  BucketConnection& connection = *connections_.loader;
  if (visitor.fingerprints) {
    auto read = with_patience(
        connection,
        [&](BucketStore& buckets) { return loader.visit_fingerprints(buckets, visitor); }, &bucket);
    if (!read) return read;
  }
  for (bool others = true; others && !bucket.ended();) {
    auto read = with_patience(
        connection,
        [&](BucketStore& buckets) {
          return loader.load_some_queues(buckets, visitor).map([&](bool are) { others = are; });
        },
        &bucket);
    if (!read) return read;
  }
  return {};
}

void SharedStore::end_load(BucketId id) {
  const MutexLock lock(mutex_);
  for (auto* buckets : {&loading_, &buckets_}) {
    const auto found = buckets->find(id);
    if (found == buckets->end()) continue;
    found->second->end();
    buckets->erase(found);
  }
}

void SharedStore::end(BucketId id) {
  end_load(id);
  writer_.end(id);
}

Result<void> SharedStore::pass_on(BucketId bucket) {
  return writer_.pass_on(bucket);
}

Result<void> SharedStore::write_parts(std::span<const BatchPart> parts,
                                      std::span<const LinksForOwner> links) {
  std::vector<SharedWriter::Part> owned_parts;
  for (const BatchPart& part : parts)
    owned_parts.push_back({.id = part.bucket, .bucket = find(part.bucket), .batch = part.batch});
  return writer_.write(owned_parts, links);
}

Result<void> SharedStore::write(const StoreBatch& batch) {
  const auto buckets = owned();
  if (buckets.empty()) return not_owned();
  assert(buckets.size() == 1);
  const BatchPart part{.bucket = buckets.front()->id, .batch = &batch};
  if (auto done = write_parts(std::span(&part, 1), {}); !done) return done;
  return writer_.is_lost(part.bucket) ? Result<void>(not_owned()) : Result<void>{};
}

BucketQueueRead SharedStore::where(QueueRead& read) const {
  const BucketId id = bucket_of(read.host);
  const BucketPtr bucket = find(id);
  return {.read = &read,
          .bucket = id,
          .queues = bucket ? bucket->hosts->queues(read.host) : BucketHosts::Queues()};
}

Result<void> SharedStore::read_queues(std::span<QueueRead> reads) const {
  std::vector<BucketQueueRead> all;
  all.reserve(reads.size());
  for (QueueRead& read : reads)
    all.push_back(where(read));
  return with_patience(
      connection_of_this_thread(connections_.readers), [&](BucketStore& buckets) -> Result<void> {
        if (auto done = read_bucket_queues(buckets, all); !done) return done;
        const auto away =
            std::ranges::find_if(all, &std::optional<Error>::has_value, &BucketQueueRead::away);
        return away == all.end() ? Result<void>{} : tl::unexpected(*away->away);
      });
}

// A node that did not answer is left out before others wait for it too.
Result<void> SharedStore::read_queues_at_once(std::span<QueueRead> reads) const {
  using Clock = std::chrono::steady_clock;
  using Ask = NodesAway::Ask;
  BucketConnection& connection = connection_of_this_thread(connections_.at_once);
  return connection.with([&](BucketStore& buckets) -> Result<void> {
    std::map<NodesAway::Node, Ask> asked;
    std::vector<NodesAway::Node> nodes;
    std::vector<BucketQueueRead> all;
    for (QueueRead& read : reads) {
      const auto node = buckets.node_of(bucket_of(read.host));
      const auto [known, is_new] = asked.try_emplace(node);
      if (is_new) known->second = nodes_away_.may_ask(node, Clock::now());
      read.away = known->second == Ask::kNot;
      if (read.away) continue;
      nodes.push_back(node);
      all.push_back(where(read));
    }
    const auto is_patient = [](const auto& one) { return one.second == Ask::kPatiently; };
    buckets.set_patience(std::ranges::any_of(asked, is_patient) ? options_.patience
                                                                : kPatienceAtOnce);
    if (auto done = read_bucket_queues(buckets, all); !done) return done;
    std::set<NodesAway::Node> answered, away;
    for (std::size_t i = 0; i < all.size(); ++i) {
      // A slot may have moved: who did not answer has it now.
      if (all[i].away) {
        const auto node = buckets.node_of(all[i].bucket);
        if (away.insert(node).second)
          nodes_away_.note_away(node, std::move(all[i].away->message), Clock::now());
      } else if (!all[i].queues.empty()) {
        answered.insert(nodes[i]);
      }
    }
    for (const NodesAway::Node& node : answered)
      if (!away.contains(node)) nodes_away_.note_answer(node);
    return {};
  });
}

Result<void> SharedStore::read_hosts(std::span<HostRead> reads) const {
  for (HostRead& read : reads)
    read.record = *host(read.host);
  return {};
}

Result<std::optional<HostRecord>> SharedStore::host(HostId host) const {
  const BucketPtr bucket = find(bucket_of(host));
  return bucket ? bucket->hosts->record(host) : std::nullopt;
}

Result<void> SharedStore::visit_deferred_of(
    BucketId id, const std::function<bool(const DeferredUrl&)>& visit) const {
  const BucketPtr bucket = find(id);
  std::optional<OwnedBucket::DeferredOrder> after;
  while (bucket) {
    const auto url = bucket->next_deferred(after);
    if (!url || !visit(*url)) break;
    after.emplace(url->not_before, url->sequence);
  }
  return {};
}

Result<void> SharedStore::visit_deferred(
    const std::function<bool(const DeferredUrl&)>& visit) const {
  const auto buckets = owned();
  using First = std::tuple<std::int64_t, std::uint64_t, std::size_t>;  // with its bucket
  std::priority_queue<First, std::vector<First>, std::greater<>> firsts;
  std::vector<std::optional<DeferredUrl>> urls(buckets.size());
  const auto add_next = [&](std::size_t i, const std::optional<OwnedBucket::DeferredOrder>& after) {
    urls[i] = buckets[i]->next_deferred(after);
    if (urls[i]) firsts.emplace(urls[i]->not_before, urls[i]->sequence, i);
  };
  for (std::size_t i = 0; i < buckets.size(); ++i)
    add_next(i, std::nullopt);
  while (!firsts.empty()) {
    const auto [not_before, sequence, i] = firsts.top();
    firsts.pop();
    if (!visit(*urls[i])) break;
    add_next(i, std::pair(not_before, sequence));
  }
  return {};
}

Result<std::optional<SetAsideState>> SharedStore::set_aside_state(Fingerprint fingerprint) const {
  const auto value = set_aside(fingerprint);
  const auto record = *value ? decode_set_aside(**value) : std::nullopt;
  return record ? std::optional(record->state) : std::nullopt;
}

Result<void> SharedStore::find_in_ledger(std::span<const Fingerprint>,
                                         std::span<bool> found) const {
  std::ranges::fill(found, false);
  return {};
}

Result<void> SharedStore::visit_queues(
    HostId from, std::size_t limit,
    const std::function<bool(HostId, const QueueBeginning&)>& visit) const {
  for (const BucketPtr& bucket : owned()) {
    std::optional<HostId> next = from;
    while (next) {
      std::vector<QueueRead> queues;
      while (next && queues.size() < kHostsOfARead) {
        next = bucket->hosts->next_with_urls(*next);
        if (!next) break;
        queues.push_back({.host = *next, .limit = limit});
        next = *next == ~HostId{0} ? std::nullopt : std::optional(*next + 1);
      }
      if (limit > 0) {
        if (auto read = read_queues(std::span(queues)); !read) return read;
      }
      for (QueueRead& queue : queues)
        if (!visit(queue.host, {.urls = std::move(queue.urls), .whole = queue.ended})) return {};
    }
  }
  return {};
}

Result<void> SharedStore::visit_pending(
    std::optional<HostId> host,
    const std::function<bool(HostId, const QueueOrder&, std::string_view)>& visit) const {
  Result<void> done;
  const auto visit_host = [&](HostId id) {
    QueueRead queue{.host = id, .limit = std::numeric_limits<std::size_t>::max()};
    done = read_queues(std::span(&queue, 1));
    if (!done) return false;
    return std::ranges::all_of(
        queue.urls, [&](const QueuedUrl& url) { return visit(id, url.order, url.record); });
  };
  if (host) {
    visit_host(*host);
    return done;
  }
  auto visited = visit_queued_hosts(0, visit_host);
  return done ? visited : done;
}

Result<std::uint64_t> SharedStore::queued(HostId host) const {
  const BucketPtr bucket = find(bucket_of(host));
  std::uint64_t urls = 0;
  if (!bucket) return urls;
  for (const auto& queue : bucket->hosts->queues(host))
    urls += queue.second;
  return urls;
}

std::unique_ptr<Store::QueueView> SharedStore::view_queues() const {
  class View final : public QueueView {
   public:
    explicit View(const std::vector<BucketPtr>& buckets) {
      for (const BucketPtr& bucket : buckets) {
        const BucketHosts& hosts = *bucket->hosts;
        for (auto host = hosts.next_with_urls(0); host; host = hosts.next_with_urls(*host + 1)) {
          for (const auto& [priority, urls] : hosts.queues(*host))
            urls_[*host] += urls;
          if (*host == ~HostId{0}) break;
        }
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
  return std::make_unique<View>(owned());
}

Result<void> SharedStore::visit_hosts(HostId from,
                                      const std::function<bool(HostId, HostRecord)>& visit) const {
  for (const BucketPtr& bucket : owned()) {
    const BucketHosts& hosts = *bucket->hosts;
    for (auto host = hosts.next_with_record(from); host; host = hosts.next_with_record(*host + 1)) {
      auto record = hosts.record(*host);
      if (record && !visit(*host, std::move(*record))) return {};
      if (*host == ~HostId{0}) break;
    }
  }
  return {};
}

Result<std::optional<std::uint32_t>> SharedStore::depth(Fingerprint fingerprint) const {
  const BucketPtr bucket = find(bucket_of(fingerprint.high));
  return bucket ? bucket->depths->find(fingerprint) : std::nullopt;
}

Result<void> SharedStore::visit_depths(
    const std::function<bool(Fingerprint, std::uint32_t depth)>& visit) const {
  for (const BucketPtr& bucket : owned()) {
    const NotedDepths& depths = *bucket->depths;
    for (auto one = depths.next(std::nullopt); one; one = depths.next(one->first))
      if (!visit(one->first, one->second)) return {};
  }
  return {};
}

Result<std::optional<std::string>> SharedStore::set_aside(Fingerprint fingerprint) const {
  const BucketPtr bucket = find(bucket_of(fingerprint.high));
  return bucket ? bucket->set_aside(fingerprint) : std::nullopt;
}

Result<void> SharedStore::visit_set_aside(
    const std::optional<Fingerprint>& after,
    const std::function<bool(Fingerprint, std::string_view value)>& visit) const {
  for (const BucketPtr& bucket : owned()) {
    for (auto one = bucket->next_set_aside(after); one; one = bucket->next_set_aside(one->first))
      if (!visit(one->first, one->second)) return {};
  }
  return {};
}

// What ends moves the others to the front, where they are read later.
Result<void> SharedStore::visit_queue(
    HostId host, const std::function<bool(std::span<const QueuedUrl>)>& visit) const {
  const BucketPtr bucket = find(bucket_of(host));
  if (!bucket) return {};
  for (const auto& queue : bucket->hosts->queues(host)) {
    for (std::uint64_t from = queue.second; from > 0;) {
      const std::uint64_t limit = std::min<std::uint64_t>(from, kUrlsOfARead);
      from -= limit;
      std::vector<QueuedUrl> part;
      auto read = with_patience(
          connection_of_this_thread(connections_.readers),
          [&](BucketStore& buckets) {
            return buckets.read_queue(bucket->id, host, queue.first, from, limit)
                .map([&](std::vector<QueuedUrl> found) { part = std::move(found); });
          },
          bucket.get());
      if (!read) return read;
      if (!visit(part)) return {};
    }
  }
  return {};
}

void SharedStore::visit_admitted_of(
    BucketId id, const std::function<void(std::string_view host, std::uint64_t)>& visit) const {
  if (const BucketPtr bucket = find(id)) bucket->hosts->visit_admitted(visit);
}

void SharedStore::visit_set_aside_of(
    BucketId id, const std::function<void(Fingerprint, std::string_view value)>& visit) const {
  const BucketPtr bucket = find(id);
  if (!bucket) return;
  for (auto one = bucket->next_set_aside(std::nullopt); one;
       one = bucket->next_set_aside(one->first))
    visit(one->first, one->second);
}

std::uint64_t SharedStore::memory() const {
  std::uint64_t bytes = writer_.bytes();
  for (const BucketPtr& bucket : owned())
    bytes += bucket->memory();
  return bytes;
}

}  // namespace trawl
