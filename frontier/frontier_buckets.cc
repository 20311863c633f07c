// The buckets of a shared frontier, as they come and go.
//
// A bucket comes in from back to front: its hosts are in their shard before anything is admitted to
// it or leased from it, so that each URL reaches the shard once. It goes in the order of commits.
// What was admitted before its partition was closed is written first, or handed to the next owner
// by the store; the committer forgets the hosts after that, so that the shard gets nothing of them
// later. Leases that are open then are void.
#include <algorithm>
#include <memory>
#include <utility>

#include "frontier/frontier_impl.h"

namespace trawl {

void FrontierImpl::begin_bucket(std::uint32_t bucket, SteadyTime since) {
  shard_of_bucket(bucket).begin_taking(hosts_of(bucket), since);
}

void FrontierImpl::add_host(HostId host, const std::optional<HostRecord>& record,
                            const QueueBeginning& queue, std::uint64_t urls) {
  HostShard& shard = shard_of(host);
  shard.restore_host(host, record, queue);
  if (!queue.whole) shard.add_counted(host, urls);
}

// Any thread may add depths, and only the committer may lower them: so a URL for which a smaller
// depth was noted is added with that. It may have an entry: of an earlier time of the bucket here,
// or since it was admitted after the bucket was opened. If it ends before this adds it, its entry
// is left; then a smaller depth is noted for nothing.
bool FrontierImpl::add_waiting(std::string_view record) {
  const std::uint32_t stored = depth_of_record(record);
  const auto url = stored > 0 ? decode_record(record) : std::nullopt;
  const auto fingerprint = url ? identity_.of(*url) : std::nullopt;
  if (!fingerprint) return true;
  const StoreUse use(*this);
  if (!use || depths_.is_full()) return false;
  const auto noted = store_->depth(*fingerprint);
  const bool is_noted = noted && *noted;
  if (is_noted) depths_.expect_notes();
  const bool is_known =
      depths_.may_wait(*fingerprint) && (!is_noted || depths_.may_be_noted(*fingerprint, stored));
  if (!is_known) depths_.add(*fingerprint, is_noted ? std::min(stored, **noted) : stored);
  return true;
}

void FrontierImpl::open_bucket(std::uint32_t bucket, std::unique_ptr<Partition> partition) {
  shard_of_bucket(bucket).end_taking(hosts_of(bucket));
  partitions_->open(bucket, std::move(partition));
  wakes_.announce(shard_index(hosts_of(bucket).first));
}

Result<void> FrontierImpl::retire_bucket(std::uint32_t bucket) {
  partitions_->close(bucket);
  return commits_->submit([&](Operation& operation) {
    operation.retired.push_back(bucket);
    operation.hurries = true;
  });
}

void FrontierImpl::forget_bucket(std::uint32_t bucket) {
  shard_of_bucket(bucket).forget_hosts(hosts_of(bucket));
  announce_leases();
}

std::size_t FrontierImpl::leased_in(std::uint32_t bucket) const {
  return shard_of_bucket(bucket).leased_in(hosts_of(bucket));
}

// A message stays where it is if its bucket is lost in between: it is the next owner's. What of it
// was sent on then is sent twice, which does no harm.
std::vector<Admission> FrontierImpl::take_message(std::uint32_t bucket, const MessageId& id,
                                                  std::span<const UrlRequest> requests,
                                                  std::span<const GivenIdentity> given, Done done) {
  const auto fail = [&done](const Error& error) {
    done(tl::unexpected(error));
    return std::vector<Admission>();
  };
  const StoreUse use(*this);
  if (!use) return fail(use.error());
  std::vector<Admission> answers(requests.size());
  PreparedUrls& prepared = PreparedUrls::of_this_thread();
  if (auto ready = prepare(requests, answers, prepared, given); !ready) return fail(ready.error());
  const auto submitted = commits_->submit([&](Operation& operation) {
    using_store_.assert_shared();
    Partition* const partition = partitions_->admitting(bucket);
    const bool repeated = partition != nullptr &&
                          std::ranges::any_of(requests, &UrlRequest::again) &&
                          !partition->note_message(id);
    if (!repeated) admit(requests, prepared, {}, answers, operation);
    // What was sent on must be with its owner before the message goes.
    Operation* last = &operation;
    if (std::ranges::find(answers, Admission::kForwarded) != answers.end()) {
      operation.then = std::make_unique<Operation>();
      last = operation.then.get();
    }
    if (partition != nullptr) last->taken.push_back({.bucket = bucket, .id = id});
    last->done = done;
  });
  if (!submitted) return fail(submitted.error());
  return answers;
}

void FrontierImpl::take_command(std::uint32_t bucket, const MessageId& id, std::uint32_t openings,
                                Done done) {
  const auto submitted = commits_->submit([&](Operation& operation) {
    operation.openings = openings;
    operation.taken.push_back({.bucket = bucket, .id = id, .is_command = true});
    operation.done = done;
  });
  if (!submitted) done(submitted);
}

}  // namespace trawl
