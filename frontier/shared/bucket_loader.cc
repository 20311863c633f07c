#include "frontier/shared/bucket_loader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "frontier/store/set_aside_record.h"

namespace trawl {

namespace {

constexpr std::size_t kHostsAtOnce = 1000;

}  // namespace

struct BucketLoader::Loading {
  HostId id = 0;
  const BucketHost* value = nullptr;
  std::vector<std::vector<QueuedUrl>> queues;  // their first URLs, in the order of the priorities
  std::vector<std::uint64_t> sizes;            // of the queues
};

Result<void> BucketLoader::load(BucketStore& buckets) {
  hosts_.clear();
  auto read = buckets.visit_hosts(bucket_.id, [&](HostId host, BucketHost value) {
    apply_limit(value.record);
    if (value.priorities.empty()) {
      bucket_.hosts->load(host, value, {});
    } else {
      hosts_.insert_or_assign(host, std::move(value));  // HSCAN may return one twice
    }
  });
  if (!read) return read;
  read = buckets.visit_deferred(bucket_.id, [&](DeferredUrl url) { bucket_.load(std::move(url)); });
  if (!read) return read;
  const auto load_aside = [&](std::uint64_t low, std::string_view value) {
    const auto record = decode_set_aside(value);
    const auto url = record ? decode_record(record->url_record) : std::nullopt;
    const auto fingerprint = url ? identity_.of(*url) : std::nullopt;
    // A damaged one counts as absent.
    if (fingerprint && fingerprint->low == low) bucket_.load(*fingerprint, value);
  };
  return buckets.visit_set_aside(bucket_.id, load_aside,
                                 [&](Fingerprint fingerprint, std::uint32_t depth) {
                                   if (identity_.bucket_of(fingerprint.high) == bucket_.id)
                                     bucket_.depths->lower(fingerprint, depth);
                                 });
}

void BucketLoader::apply_limit(HostRecord& record) const {
  if (!page_limit_ || !record.limit || !record.remaining) return;
  const std::uint64_t used = *record.limit - std::min(*record.limit, *record.remaining);
  record.limit = page_limit_(record.name);
  record.remaining = record.limit;
  if (record.limit) *record.remaining -= std::min(*record.limit, used);
}

Result<void> BucketLoader::visit_fingerprints(BucketStore& buckets,
                                              const BucketVisitor& visitor) const {
  std::vector<Fingerprint> fingerprints;
  return buckets.visit_fingerprints(bucket_.id, bucket_.meta.segment,
                                    [&](std::span<const std::uint64_t> part) {
                                      fingerprints.clear();
                                      fingerprints.reserve(part.size());
                                      for (const std::uint64_t low : part)
                                        fingerprints.push_back({.high = 0, .low = low});
                                      visitor.fingerprints(fingerprints);
                                    });
}

// The length of a queue is asked for only if its beginning is not all of it.
Result<void> BucketLoader::read_queues(BucketStore& buckets, std::span<Loading> hosts,
                                       std::size_t beginning) const {
  std::vector<BucketStore::QueuePart> parts;
  for (const Loading& host : hosts) {
    for (const std::int32_t priority : host.value->priorities)
      parts.push_back(
          {.bucket = bucket_.id, .host = host.id, .priority = priority, .limit = beginning + 1});
  }
  auto queues = buckets.read_queues(parts);
  std::vector<BucketStore::QueueName> longer;
  auto queue = queues.begin();
  for (Loading& host : hosts) {
    for (const std::int32_t priority : host.value->priorities) {
      if (!*queue) return tl::unexpected(queue->error());
      host.queues.push_back(std::move(**queue++));
      if (host.queues.back().size() > beginning)
        longer.push_back({.host = host.id, .priority = priority});
    }
  }
  const auto sizes = buckets.queue_sizes(bucket_.id, longer);
  auto size = sizes.begin();
  for (Loading& host : hosts) {
    for (const auto& urls : host.queues) {
      if (urls.size() <= beginning) {
        host.sizes.push_back(urls.size());
        continue;
      }
      if (!*size) return tl::unexpected(size->error());
      host.sizes.push_back(**size++);
    }
  }
  return {};
}

Result<bool> BucketLoader::load_some_queues(BucketStore& buckets, const BucketVisitor& visitor) {
  std::vector<Loading> hosts;
  auto next = hosts_.begin();
  for (; next != hosts_.end() && hosts.size() < kHostsAtOnce; ++next)
    hosts.push_back({.id = next->first, .value = &next->second, .queues = {}, .sizes = {}});
  if (auto read = read_queues(buckets, hosts, visitor.beginning); !read)
    return tl::unexpected(read.error());
  for (Loading& host : hosts) {
    bucket_.hosts->load(host.id, *host.value, host.sizes);
    if (!visitor.host) continue;
    LoadedHost loaded{.host = host.id, .record = bucket_.hosts->record(host.id), .queue = {}};
    for (std::size_t i = 0; i < host.queues.size(); ++i) {
      loaded.urls += host.sizes[i];
      for (QueuedUrl& url : host.queues[i])
        loaded.queue.urls.push_back(std::move(url));
    }
    if (loaded.urls == 0) continue;
    std::ranges::sort(loaded.queue.urls, {}, &QueuedUrl::order);
    loaded.queue.whole = loaded.urls <= visitor.beginning;
    if (loaded.queue.urls.size() > visitor.beginning) loaded.queue.urls.resize(visitor.beginning);
    visitor.host(loaded);
  }
  hosts_.erase(hosts_.begin(), next);
  return !hosts_.empty();
}

}  // namespace trawl
