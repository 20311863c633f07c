// The buckets of a shared frontier, as they come and go.
//
// A bucket comes in from back to front: its hosts are in their shard before anything is admitted to
// it or leased from it, so that each URL reaches the shard once. It goes in the order of commits.
// What was admitted before its partition was closed is written first, or handed to the next owner by
// the store; the committer forgets the hosts after that, so that the shard gets nothing of them
// later. Leases that are open then are void (Operation::Ended::epoch).
#include <algorithm>
#include <utility>

#include "frontier/frontier_impl.h"

namespace trawl {

Result<void> FrontierImpl::take_bucket(std::uint32_t bucket, std::unique_ptr<Partition> partition) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  const auto [first, last] = identity_.hosts_of(bucket);
  std::vector<HostId> uncounted;
  QueueRestorer restorer(*store_,
                         {.restore =
                              [this](HostId host, const std::optional<HostRecord>& record,
                                     const QueueBeginning& queue) {
                                shard_of(host).restore_host(host, record, queue);
                              },
                          .restored_some = [] {},
                          .finished = [&](std::vector<HostId> hosts) { uncounted = std::move(hosts); },
                          .failed = [](const Error&) {}},
                         first, last);
  if (auto read = restorer.run(); !read) return read;
  if (!uncounted.empty()) {
    const auto queues = store_->view_queues();
    for (const HostId host : uncounted) {
      std::uint64_t urls = 0;
      auto counted = queues->visit(host, [&] { return ++urls > 0; });
      if (!counted) return counted;
      shard_of(host).add_counted(host, urls);
    }
  }
  partitions_->open(bucket, std::move(partition));
  wakes_.announce(shard_index(first));
  return {};
}

Result<void> FrontierImpl::retire_bucket(std::uint32_t bucket) {
  if (!partitions_->is_open(bucket)) return {};
  partitions_->close(bucket);
  return commits_->submit([&](Operation& operation) { operation.retired.push_back(bucket); });
}

void FrontierImpl::forget_bucket(std::uint32_t bucket) {
  const auto [first, last] = identity_.hosts_of(bucket);
  static_cast<void>(first), static_cast<void>(last);  // TEMP shard_of(first).forget_hosts(first, last);
  announce_leases();
}

std::size_t FrontierImpl::leased_in(std::uint32_t bucket) const {
  const auto [first, last] = identity_.hosts_of(bucket);
  static_cast<void>(first), static_cast<void>(last);
  return 0;  // TEMP shard_of(first).leased_in(first, last);
}

// A message stays where it is if its bucket is lost in between. What of it was sent on then is sent
// twice, which does no harm.
Result<std::future<Result<void>>> FrontierImpl::take_message(std::uint32_t bucket,
                                                             const MessageId& id,
                                                             std::span<const UrlRequest> requests) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  std::vector<Admission> answers(requests.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  if (auto done = prepare(requests, answers, prepared); !done) return tl::unexpected(done.error());
  return commits_->submit_watched([&](Operation& operation) {
    using_store_.assert_shared();
    admit(requests, prepared, {}, answers, operation);
    const bool ours = partitions_->is_open(bucket) &&
                      std::ranges::find(answers, Admission::kForwarded) == answers.end();
    if (ours) operation.taken.push_back({.bucket = bucket, .id = id});
  });
}

Result<std::future<Result<void>>> FrontierImpl::take_command(std::uint32_t bucket,
                                                             const MessageId& id) {
  return commits_->submit_watched([&](Operation& operation) {
    operation.taken.push_back({.bucket = bucket, .id = id, .is_command = true});
  });
}

}  // namespace trawl
