// GroupWriter: dropping a host.
//
// It can delete millions of URLs. It goes part by part, with a batch after each group, so that
// other operations do not wait long. It reads the host's queue for that, which nothing else does
// here: see CommitReads.
#include <cassert>
#include <utility>

#include "frontier/commit/group_writer.h"
#include "frontier/common/outcome_rules.h"

namespace trawl {

namespace {

// The most URLs that one batch deletes: bounds memory and how long other operations wait.
constexpr std::size_t kDroppedAtOnce = 4096;

}  // namespace

// Deletes the deferred URLs first and completely: otherwise one could be queued, between two parts,
// at a position that the drop has passed. In a bucket that was lost there is nothing to drop.
Result<void> GroupWriter::drop_some(Operation& operation) {
  Operation::Drop& drop = *operation.drop;
  assert(!drop.done);
  clear_parts();
  Part* const part = part_since(operation.openings, drop.host);
  if (part == nullptr) {
    drop.done = operation.lost = true;
    return {};
  }
  if (drop.deferred_done) return drop_some_queued(drop, *part);
  return drop_deferred(drop, *part).and_then([&] {
    drop.deferred_done = true;
    return read_first_deferred(part->bucket);
  });
}

Result<void> GroupWriter::drop_some_queued(Operation::Drop& drop, Part& part) {
  QueueRead read{.host = drop.host, .after = drop.behind, .limit = kDroppedAtOnce};
  if (auto done = store_.read_queues(std::span(&read, 1)); !done) return done;
  Dropped dropped;
  for (const QueuedUrl& url : read.urls) {
    if (options_.is_leased(drop.host, url.order.sequence)) continue;
    part.batch.remove_pending(url.host, url.order);
    drop_depth(url.record, part.batch);
    ++dropped.queued;
  }
  if (!read.urls.empty()) drop.behind = read.urls.back().order;
  auto committed = commit_drop(drop, dropped, part);
  drop.done = committed && read.ended;
  return committed;
}

// In one pass, since it reads the deferred URLs of all hosts.
Result<void> GroupWriter::drop_deferred(Operation::Drop& drop, Part& part) {
  Dropped dropped;
  Result<void> committed;
  auto read = store_.visit_deferred_of(part.bucket, [&](const DeferredUrl& url) {
    if (url.host != drop.host) return true;
    part.batch.remove_deferred(url);
    drop_depth(url.record, part.batch);
    dropped.recrawls += is_recrawl_record(url.record) ? 1 : 0;
    if (++dropped.deferred < kDroppedAtOnce) return true;
    committed = commit_drop(drop, std::exchange(dropped, {}), part);
    return committed.has_value();
  });
  if (!read) return read;
  return committed ? commit_drop(drop, dropped, part) : committed;
}

Result<void> GroupWriter::commit_drop(Operation::Drop& drop, const Dropped& dropped, Part& part) {
  const std::size_t urls = dropped.queued + dropped.deferred;
  if (urls == 0) return {};
  part.totals.dropped += urls;
  part.totals.deferred -= dropped.deferred;
  part.totals.recrawls_deferred -= dropped.recrawls;
  drop.dropped += urls;
  drop.dropped_queued += dropped.queued;
  Part* const parts[] = {&part};
  auto written = write_parts(parts, {});
  part.batch.clear();
  part.before = part.totals = part.partition->counters();
  return written;
}

// Forgets the depth of a dropped URL.
void GroupWriter::drop_depth(std::string_view record, Store::Batch& batch) {
  if (options_.depths == nullptr || depth_of_record(record) == 0) return;
  const auto url = decode_record(record);
  const auto fingerprint = url ? options_.identity->of(*url) : std::nullopt;
  if (!fingerprint) return;
  const Fingerprint key = *fingerprint;
  if (options_.depths->may_be_noted(key, url->depth)) batch.forget_depth(key);
  options_.depths->remove(key, url->depth);
}

}  // namespace trawl
