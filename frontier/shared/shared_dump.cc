#include "frontier/shared/shared_dump.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/wall_time.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/stored_url_dump.h"

namespace trawl {

namespace {

constexpr std::size_t kQueuesAtOnce = 256;
constexpr std::size_t kHead = 64;         // URLs of each of them
constexpr std::size_t kQueuePart = 1000;  // further ones of one queue

using Visit = std::function<Result<void>(const DumpedUrl&)>;

class SharedDump {
 public:
  SharedDump(SharedCrawl& crawl, const DumpOptions& options, const Visit& visit)
      : crawl_(crawl), options_(options), visit_(visit), buckets_(crawl.buckets()) {
    if (options.host.empty()) return;
    host_ = crawl.identity().host(options.host);
    buckets_ = {crawl.identity().bucket_of(*host_)};
  }

  Result<void> run() {
    const auto each = [&](bool wanted, Result<void> (SharedDump::*read)(BucketId)) -> Result<void> {
      for (std::size_t i = 0; wanted && i < buckets_.size(); ++i)
        if (auto done = (this->*read)(buckets_[i]); !done) return done;
      return {};
    };
    if (auto done = each(wants(WaitingState::kQueued), &SharedDump::visit_queued); !done)
      return done;
    if (auto done = each(wants(WaitingState::kDeferred), &SharedDump::visit_deferred); !done)
      return done;
    return each(wants(WaitingState::kHeld) || wants(WaitingState::kFailed),
                &SharedDump::visit_set_aside);
  }

 private:
  bool wants(WaitingState state) const { return options_.state.value_or(state) == state; }
  bool wants(HostId host) const { return host_.value_or(host) == host; }

  Result<void> visit_queued(BucketId bucket) {
    std::vector<BucketStore::QueueName> queues;
    auto read = visit_hosts_once(crawl_, bucket, [&](HostId host, BucketHost found) {
      if (!wants(host)) return;
      std::ranges::sort(found.priorities, std::ranges::greater());
      for (const std::int32_t priority : found.priorities)
        queues.push_back({.host = host, .priority = priority});
    });
    for (std::size_t i = 0; read && i < queues.size(); i += kQueuesAtOnce)
      read = visit_queues(
          bucket, std::span(queues).subspan(i).first(std::min(kQueuesAtOnce, queues.size() - i)));
    return read;
  }

  Result<void> visit_queues(BucketId bucket, std::span<const BucketStore::QueueName> queues) {
    std::vector<BucketStore::QueuePart> parts;
    for (const auto& [host, priority] : queues)
      parts.push_back({.bucket = bucket, .host = host, .priority = priority, .limit = kHead});
    const auto heads = crawl_.bucket_store().read_queues(parts);
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (!heads[i]) return tl::unexpected(heads[i].error());
      if (auto taken = take_all(*heads[i]); !taken) return taken;
      bool ended = heads[i]->size() < kHead;
      for (std::size_t from = kHead; !ended; from += kQueuePart) {
        const auto part = crawl_.bucket_store().read_queue(bucket, queues[i].host,
                                                           queues[i].priority, from, kQueuePart);
        if (!part) return tl::unexpected(part.error());
        if (auto taken = take_all(*part); !taken) return taken;
        ended = part->size() < kQueuePart;
      }
    }
    return {};
  }

  Result<void> take_all(const std::vector<QueuedUrl>& urls) {
    for (const QueuedUrl& url : urls)
      if (auto taken = take(url.record, url.order.priority, std::nullopt); !taken) return taken;
    return {};
  }

  Result<void> visit_deferred(BucketId bucket) {
    Result<void> done;
    auto read = crawl_.bucket_store().visit_deferred(bucket, [&](const DeferredUrl& url) {
      if (done && wants(url.host))
        done = take(url.record, url.priority, from_milliseconds(url.not_before));
    });
    return read ? done : read;
  }

  // The store has checked the record.
  Result<void> take(std::string_view record, std::int32_t priority,
                    std::optional<SystemTime> not_before) {
    const auto decoded = decode_record(record);
    if (!decoded) return {};
    const std::string queue = queue_of(*decoded);
    DumpedUrl url = dumped_url(*decoded, queue);
    url.priority = priority;
    url.state = not_before ? WaitingState::kDeferred : WaitingState::kQueued;
    url.not_before = not_before;
    return visit_(url);
  }

  Result<void> visit_set_aside(BucketId bucket) {
    Result<void> done;
    std::set<std::uint64_t> visited;
    auto read = crawl_.bucket_store().visit_set_aside(
        bucket, [&](std::uint64_t fingerprint, std::string_view value) {
          if (!done || !visited.insert(fingerprint).second) return;
          const auto record = decode_set_aside(value);
          const auto url = record ? set_aside_url(*record) : std::nullopt;
          if (!url || (!options_.host.empty() && url->host != options_.host)) return;
          const DumpedUrl dumped = dumped_url(*url);
          if (wants(dumped.state)) done = visit_(dumped);
        });
    return read ? done : read;
  }

  SharedCrawl& crawl_;
  const DumpOptions& options_;
  const Visit& visit_;
  std::vector<BucketId> buckets_;
  std::optional<HostId> host_;  // of options_.host
};

}  // namespace

Result<void> dump_shared_crawl(SharedCrawl& crawl, const DumpOptions& options,
                               const std::function<Result<void>(const DumpedUrl&)>& visit) {
  return SharedDump(crawl, options, visit).run();
}

Result<void> visit_hosts_once(SharedCrawl& crawl, BucketId bucket,
                              const std::function<void(HostId, BucketHost)>& visit) {
  std::set<HostId> visited;
  return crawl.bucket_store().visit_hosts(bucket, [&](HostId host, BucketHost found) {
    if (visited.insert(host).second) visit(host, std::move(found));
  });
}

}  // namespace trawl
