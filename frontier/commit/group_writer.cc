// The order of a batch.
//
// Deferred URLs that are due are queued first, since they have waited longest. Then links are held,
// and only after that URLs are admitted, so that a link held by one operation and admitted by
// another of the same group is not left among those set aside. Each operation's admissions come
// before the end of its lease (N3 holds for any order, since the batch is atomic; N1 needs the
// removal of a URL and what follows it, a retry or a recrawl, in one batch). The counters are part
// of the batch, so that they always agree with the records.
//
// The writer knows the order of commits, which no other part of the frontier does. So everything
// that depends on whether a URL still waits is decided here: smaller depths, URLs set aside, and
// whether a recrawled URL was admitted before. set_aside_now_ and new_ones_ hold what the batch
// itself changes, since the store does not show it yet.
#include "frontier/commit/group_writer.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "base/wall_time.h"
#include "frontier/common/outcome_rules.h"

namespace trawl {

namespace {

// The most deferred URLs that one group queues: bounds memory and how long other operations wait.
constexpr std::size_t kPromotedAtOnce = 1024;
// Beyond this number, a false "seen" of the same URL counts each time.
constexpr std::size_t kWrongOnesKept = 100'000;
// Links for another owner in one message.
constexpr std::size_t kLinksInAMessage = 256;
// Size of the cache of recently held links; a power of 2.
constexpr std::size_t kHeldLately = 1u << 14;

}  // namespace

GroupWriter::GroupWriter(Store& store, Partitions& partitions, GroupWriterOptions options)
    : store_(store),
      partitions_(partitions),
      options_(std::move(options)),
      parts_(partitions.buckets()),
      held_lately_(kHeldLately) {
  assert(options_.after_commit && options_.now);
  assert(options_.depths == nullptr || options_.identity != nullptr);
}

GroupWriter::Part* GroupWriter::part_of(std::uint64_t id) {
  return part_of_bucket(partitions_.is_shared() ? options_.identity->bucket_of(id) : 0);
}

GroupWriter::Part* GroupWriter::part_since(std::uint32_t openings, std::uint64_t id) {
  Part* const part = part_of(id);
  return part == nullptr || part->partition->epoch() > openings ? nullptr : part;
}

GroupWriter::Part* GroupWriter::part_of_bucket(std::uint32_t bucket) {
  auto& part = parts_[bucket];
  if (part && part->partition != nullptr) return part.get();
  Partition* const partition = partitions_.writing(bucket);
  if (partition == nullptr) return nullptr;
  if (!part) part = std::make_unique<Part>();
  part->bucket = bucket;
  part->partition = partition;
  part->before = part->totals = partition->counters();
  in_use_.push_back(part.get());
  return part.get();
}

// With what the operation changes, so that the counts need no batch of their own.
GroupWriter::Part* GroupWriter::part_of_offers(const Operation& operation) {
  if (!partitions_.is_shared()) return part_of_bucket(0);
  if (operation.queued) return part_of_bucket(operation.queued->parts().front().bucket);
  if (!operation.admitted.empty()) return part_of(operation.admitted.front().host);
  if (operation.ended) return part_of(operation.ended->host);
  return in_use_.empty() ? nullptr : in_use_.front();
}

// A bucket that is handed over is closed before its last changes are written: it is not lost.
bool GroupWriter::is_lost(HostId host) const {
  if (!partitions_.is_shared()) return false;
  const Partition* const partition = partitions_.writing(options_.identity->bucket_of(host));
  return partition == nullptr || partition->is_lost();
}

void GroupWriter::clear_parts() {
  for (Part* part : in_use_) {
    part->partition = nullptr;
    part->batch.clear();
    part->fingerprints.clear();
  }
  in_use_.clear();
}

Result<void> GroupWriter::read_first_deferred(std::uint32_t bucket) {
  std::int64_t first = Partition::kNever;
  auto read = store_.visit_deferred_of(bucket, [&](const DeferredUrl& url) {
    first = url.not_before;
    return false;
  });
  partitions_.set_next_deferred(bucket, first);
  return read;
}

Result<void> GroupWriter::write(OperationGroup& group) {
  const OneAtATime::Use use(writing_);
  if (group.empty()) return {};
  clear_parts();
  set_aside_now_.clear();
  set_aside_before_.reset();
  set_aside_change_ = 0;
  note_new_ones(group);
  std::vector<QueuedUrl> promoted;
  const bool promote_due =
      std::ranges::any_of(group, [](const auto& operation) { return operation->promote; });
  // First: deferred URLs have waited longest.
  if (promote_due) {
    if (auto done = promote(promoted); !done) return done;
  }
  // Before the admissions, which remove their URLs from those set aside: one operation of the group
  // may hold a link that another one admits.
  for (auto& operation : group) {
    if (auto held = hold_links(*operation); !held) return held;
  }
  for (auto& operation : group) {
    if (auto added = add_queued(*operation); !added) return added;
    if (auto added = add_admitted(*operation); !added) return added;
    if (auto added = add_seen_only(*operation); !added) return added;
    if (operation->ended) {
      if (auto ended = add_ended(*operation); !ended) return ended;
    }
    if (auto done = restore(*operation, promoted); !done) return done;
    lower_depths(*operation);
    if (operation->seen + operation->invalid == 0) continue;
    if (Part* part = part_of_offers(*operation)) {
      part->totals.seen += operation->seen;
      part->totals.invalid += operation->invalid;
    } else {
      partitions_.count_offers(operation->seen, operation->invalid);
    }
  }
  for (Part* part : in_use_) {
    if (!part->fingerprints.empty())
      part->batch.log_admissions(part->before.admitted, part->fingerprints);
  }
  add_changed_hosts(group);
  take_messages(group);

  if (options_.before_commit) {
    if (auto allowed = options_.before_commit(); !allowed) return allowed;
  }
  const bool wanted = std::ranges::any_of(
      group, [](const auto& operation) { return operation->flush || operation->stop; });
  if (auto written = commit(group, wanted); !written) return written;
  if (promote_due) {
    for (const Part* part : in_use_) {
      if (auto read = read_first_deferred(part->bucket); !read) return read;
    }
  }
  for (auto& operation : group) {
    if (operation->ended) continue;
    for (const Operation::ChangedHost& changed : operation->changed_hosts)
      operation->lost = operation->lost || is_lost(changed.host);
  }
  if (auto checked = check_seen(group); !checked) return checked;
  options_.after_commit(group, promoted);
  retire(group);
  for (auto& operation : group) {
    if (!operation->drop) continue;
    if (auto dropped = drop_some(*operation); !dropped) return dropped;
    operation->lost = operation->lost || is_lost(operation->drop->host);
  }
  clear_parts();  // M1: runs are needed no more
  return {};
}

// What is done here for each URL limits how many a second may be new, whatever the number of
// threads: it is nothing, unless URLs are set aside, there is a ledger, or hosts' URLs are limited.
Result<void> GroupWriter::add_queued(Operation& operation) {
  if (!operation.queued) return {};
  if (auto written = operation.queued->written(); !written) return written;
  const std::span<QueueRun::Part> parts = operation.queued->parts();
  for (std::size_t first = 0, end = 0; first < parts.size(); first = end) {
    Part* const part = part_of_bucket(parts[first].bucket);
    assert(part != nullptr);  // see Partitions
    Counters& totals = part->totals;
    for (; end < parts.size() && parts[end].bucket == parts[first].bucket; ++end) {
      QueueRun::Part& queued = parts[end];
      const auto fingerprints = std::as_const(*operation.queued).fingerprints(queued);
      for (const Fingerprint& fingerprint : fingerprints) {
        if (!may_be_set_aside(totals, false)) break;
        if (auto done = end_set_aside(fingerprint, *part); !done) return done;
      }
      queued.sequence = totals.sequence;
      totals.sequence += queued.urls;
      totals.admitted += queued.urls;
      totals.deepest = std::max<std::uint64_t>(totals.deepest, queued.deepest);
      part->fingerprints.insert(part->fingerprints.end(), fingerprints.begin(), fingerprints.end());
      if (options_.counts_admitted) count_queued(*operation.queued, queued, part->batch);
      if (!options_.ledger) continue;
      for (const Fingerprint& fingerprint : fingerprints)
        part->batch.set_ledger(fingerprint, {});
    }
    // N1: the records are in the store from the batch that admits the URLs until their leases end.
    part->batch.add_run(operation.queued, parts.subspan(first, end - first));
  }
  return {};
}

void GroupWriter::count_queued(const QueueRun& run, const QueueRun::Part& queued,
                               Store::Batch& batch) {
  RunReader urls = run.read(queued);
  while (const auto url = urls.next())
    count_admitted(url->host, url->record, batch);
}

void GroupWriter::count_admitted(HostId host, std::string_view record, Store::Batch& batch) {
  if (const auto url = decode_record(record)) batch.count_admitted(host, queue_of(*url));
}

Result<void> GroupWriter::add_admitted(Operation& operation) {
  for (Operation::Admitted& url : operation.admitted) {
    Part* const part = part_of(url.host);
    assert(part != nullptr);  // see Partitions
    Counters& totals = part->totals;
    Store::Batch& batch = part->batch;
    const bool recrawl = is_recrawl_record(url.record);
    if (may_be_set_aside(totals, recrawl)) {
      if (auto done = end_set_aside(url.fingerprint, *part); !done) return done;
    }
    // N1: the record is in the store from the batch that admits the URL until its lease ends.
    url.sequence = totals.sequence++;
    ++totals.admitted;
    totals.deepest = std::max<std::uint64_t>(totals.deepest, url.depth);
    part->fingerprints.push_back(url.fingerprint);
    if (options_.counts_admitted && !recrawl) count_admitted(url.host, url.record, batch);
    if (url.not_before == 0) {
      batch.add_pending(url.host, {.priority = url.priority, .sequence = url.sequence}, url.record);
    } else {
      defer(url.not_before, url.sequence, url.host, url.priority, url.record, *part);
    }
    auto known = recrawl ? was_admitted(url.fingerprint) : false;
    if (!known) return tl::unexpected(known.error());
    totals.readmitted += *known ? 1 : 0;
    // A recrawled URL has a ledger record already.
    if (options_.ledger && !*known) batch.set_ledger(url.fingerprint, {});
  }
  return {};
}

// They are logged as all admissions are, so that each way to restore the filter restores them too.
Result<void> GroupWriter::add_seen_only(const Operation& operation) {
  for (const Fingerprint fingerprint : operation.seen_only) {
    Part* const part = part_of(fingerprint.high);
    assert(part != nullptr);  // see Partitions
    ++part->totals.admitted;
    ++part->totals.seen_only;
    part->fingerprints.push_back(fingerprint);
    if (part->totals.held > 0) {
      if (auto done = forget_set_aside(fingerprint, *part); !done)
        return tl::unexpected(done.error());
    }
    if (options_.ledger) part->batch.set_ledger(fingerprint, {});
  }
  return {};
}

void GroupWriter::note_new_ones(const OperationGroup& group) {
  new_ones_.clear();
  const auto is_again = [](const auto& url) { return is_recrawl_record(url.record); };
  const bool any = options_.ledger && std::ranges::any_of(group, [&](const auto& operation) {
                     return std::ranges::any_of(operation->admitted, is_again);
                   });
  if (!any) return;
  for (const auto& operation : group) {
    for (const Operation::Admitted& url : operation->admitted) {
      if (!is_again(url)) new_ones_.insert(url.fingerprint);
    }
    if (operation->queued) {
      const auto fingerprints = operation->queued->fingerprints();
      new_ones_.insert(fingerprints.begin(), fingerprints.end());
    }
    new_ones_.insert(operation->seen_only.begin(), operation->seen_only.end());
  }
}

// Whether a URL offered with `again` that the filter calls seen was admitted before. If there is a
// ledger it decides: the filter may give a false positive, and a missing ledger record would make
// the ledger incomplete for recovery. The operation that first admitted the URL may be later in
// this group.
Result<bool> GroupWriter::was_admitted(Fingerprint fingerprint) {
  if (!options_.ledger || new_ones_.contains(fingerprint)) return true;
  const auto record = store_.ledger(fingerprint);
  if (!record) return tl::unexpected(record.error());
  if (!*record) new_ones_.insert(fingerprint);
  return record->has_value();
}

Result<void> GroupWriter::add_ended(Operation& operation) {
  using Kind = Operation::Ended::Kind;
  Operation::Ended& ended = *operation.ended;
  Part* const part = part_since(operation.openings, ended.host);
  ended.is_void = part == nullptr;
  if (ended.is_void) return {};
  Counters& totals = part->totals;
  Store::Batch& batch = part->batch;
  // N1: in the same batch as the retry or recrawl that follows.
  batch.remove_pending(ended.host, ended.order);
  if (ended.kind == Kind::kRetry) {
    ++totals.retried;
  } else {
    ++totals.completed;
    totals.failed += ended.outcome.error.empty() || ended.kind == Kind::kHeld ? 0 : 1;
    totals.skipped += ended.outcome.requested ? 0 : 1;
    totals.recrawls += ended.kind == Kind::kRecrawl ? 1 : 0;
    if (has_succeeded(ended.outcome)) {
      ++totals.succeeded;
      totals.seeds_succeeded += ended.outcome.seed ? 1 : 0;
    }
  }
  if (ended.set_aside) {
    if (auto done = set_aside(*ended.set_aside); !done) return done;
  }
  if (ended.kind == Kind::kRetry || ended.kind == Kind::kRecrawl) {
    defer(ended.not_before, totals.sequence++, ended.host, ended.order.priority, ended.record,
          *part);
  }
  if (!ended.keeps_by_fingerprint) return {};
  totals.depth_repairs += ended.depth_lowered ? 1 : 0;
  const auto aside =
      ended.set_aside ? set_aside_now_.find(ended.fingerprint) : set_aside_now_.end();
  const bool waits = ended.kind == Kind::kRetry || ended.kind == Kind::kRecrawl ||
                     (aside != set_aside_now_.end() && aside->second);
  end_depth(ended, waits, *part);
  if (options_.ledger && ended.outcome.requested) {
    batch.set_ledger(ended.fingerprint, {.fetches = ended.fetches,
                                         .status = ended.outcome.status,
                                         .fetched = to_milliseconds(options_.wall_clock())});
  }
  return {};
}

// Only in the order of commits is it certain which URLs wait: an offered URL may be done by now.
// depths_ is changed before the batch is durable; a lookup in between finds no note, which is
// harmless.
void GroupWriter::lower_depths(const Operation& operation) {
  for (const auto& [fingerprint, depth] : operation.lowered_depths) {
    Part* const part = part_of(fingerprint.high);
    if (part == nullptr) continue;
    if (options_.depths != nullptr) {
      if (!options_.depths->is_deeper(fingerprint, depth)) continue;
      options_.depths->expect_notes();
      options_.depths->lower(fingerprint, depth);
    }
    part->batch.lower_depth(fingerprint, depth);
    ++part->totals.lowered;
  }
}

// `waits`: the URL still waits, with the depth of the lease.
void GroupWriter::end_depth(const Operation::Ended& ended, bool waits, Part& part) {
  const Fingerprint key = ended.fingerprint;
  const std::uint32_t depth = ended.lease.depth;
  bool noted = ended.depth_noted;
  if (options_.depths != nullptr) {
    noted = noted || options_.depths->may_be_noted(key, ended.stored_depth);
    // Keep the note: a smaller depth may have been noted since the lease.
    if (waits && options_.depths->may_be_noted(key, depth)) return;
    if (!waits || depth == 0) options_.depths->remove(key, ended.stored_depth);
  } else if (waits) {
    return;
  }
  if (noted) part.batch.forget_depth(key);
}

void GroupWriter::defer(std::int64_t not_before, std::uint64_t sequence, HostId host,
                        std::int32_t priority, std::string_view record, Part& part) {
  part.batch.add_deferred(not_before, sequence, host, priority, record);
  ++part.totals.deferred;
  part.totals.recrawls_deferred += is_recrawl_record(record) ? 1 : 0;
  // Set before the batch is durable: a thread that comes too early finds nothing due, and the time
  // is read again.
  if (not_before < part.partition->next_deferred())
    partitions_.set_next_deferred(part.bucket, not_before);
}

Result<void> GroupWriter::promote(std::vector<QueuedUrl>& promoted) {
  const std::int64_t now = options_.now();
  for (std::uint32_t bucket = 0; bucket < partitions_.buckets(); ++bucket) {
    const Partition* const partition = partitions_.writing(bucket);
    if (partition == nullptr || !partitions_.is_open(bucket) || partition->next_deferred() > now)
      continue;
    if (auto done = promote(*part_of_bucket(bucket), promoted); !done) return done;
  }
  return {};
}

Result<void> GroupWriter::promote(Part& part, std::vector<QueuedUrl>& promoted) {
  const std::int64_t now = options_.now();
  return store_.visit_deferred_of(part.bucket, [&](const DeferredUrl& url) {
    if (url.not_before > now || promoted.size() >= kPromotedAtOnce) return false;
    const QueueOrder order{.priority = url.priority, .sequence = part.totals.sequence++};
    part.batch.remove_deferred(url);
    part.batch.add_pending(url.host, order, url.record);
    promoted.push_back({.host = url.host, .order = order, .record = url.record});
    --part.totals.deferred;
    part.totals.recrawls_deferred -= is_recrawl_record(url.record) ? 1 : 0;
    return true;
  });
}

void GroupWriter::add_changed_hosts(const OperationGroup& group) {
  for (const auto& operation : group) {
    if (partitions_.is_shared()) {
      const auto lost =
          std::erase_if(operation->changed_hosts, [&](const Operation::ChangedHost& changed) {
            return part_since(operation->openings, changed.host) == nullptr;
          });
      operation->lost = lost > 0;
    }
    for (const auto& [host, change] : operation->changed_hosts) {
      Part* const part = part_of(host);
      const auto record = part != nullptr ? options_.record_of(host, change) : std::nullopt;
      if (!record) continue;
      if (record->is_default() && !record->answered) {
        part->batch.remove_host(host);
      } else {
        part->batch.set_host(host, *record);
      }
    }
  }
}

void GroupWriter::take_messages(const OperationGroup& group) {
  for (const auto& operation : group) {
    for (const Operation::Taken& taken : operation->taken) {
      Part* const part = part_of_bucket(taken.bucket);
      // Its next owner reads it.
      if (part == nullptr || part->partition->epoch() > operation->openings) continue;
      taken.is_command ? part->batch.take_command(taken.id) : part->batch.take_message(taken.id);
    }
  }
}

std::vector<LinksForOwner> GroupWriter::links_of(const OperationGroup& group) const {
  struct Links {
    std::vector<UrlRequest> requests;
    std::vector<GivenIdentity> given;
    bool any_given = false;
  };
  std::map<std::uint32_t, Links> by_bucket;
  for (const auto& operation : group) {
    for (const Operation::Forwarded& url : operation->forwarded) {
      Links& of_bucket = by_bucket[url.bucket];
      of_bucket.requests.push_back(url.request());
      of_bucket.given.push_back(url.given);
      of_bucket.any_given = of_bucket.any_given || url.given.fingerprint;
    }
  }
  std::vector<LinksForOwner> links;
  for (const auto& [bucket, of_bucket] : by_bucket) {
    const std::span requests(of_bucket.requests);
    const std::span given(of_bucket.given);
    for (std::size_t first = 0; first < requests.size(); first += kLinksInAMessage) {
      const std::size_t n = std::min(requests.size() - first, kLinksInAMessage);
      links.push_back({.bucket = bucket,
                       .requests = options_.encode_links(
                           requests.subspan(first, n),
                           of_bucket.any_given ? given.subspan(first, n) : given.first(0))});
    }
  }
  return links;
}

// Counts of offers alone become durable with the next change.
Result<void> GroupWriter::commit(const OperationGroup& group, bool all) {
  if (all) {
    for (std::uint32_t bucket = 0; bucket < partitions_.buckets(); ++bucket) {
      const Partition* const partition = partitions_.writing(bucket);
      if (partition != nullptr && (!partitions_.is_shared() || partition->has_unsaved_counts()))
        part_of_bucket(bucket);
    }
  }
  std::vector<Part*> changed;
  for (Part* part : in_use_) {
    const bool counted = part->totals != part->before || part->partition->has_unsaved_counts();
    if (part->is_changed() || (all && (counted || !partitions_.is_shared()))) {
      changed.push_back(part);
    } else {
      part->partition->take_totals(part->before, part->totals, false);
    }
  }
  return write_parts(changed, links_of(group), all);
}

Result<void> GroupWriter::write_parts(std::span<Part* const> parts,
                                      std::span<const LinksForOwner> links, bool always) {
  const bool wanted = always && partitions_.is_shared();
  if (parts.empty() && links.empty() && !wanted) return {};
  std::vector<BatchPart> batches;
  for (Part* part : parts) {
    assert(part->totals.admitted >= part->before.admitted &&
           part->totals.sequence >= part->before.sequence);
    part->totals.clock = static_cast<std::uint64_t>(std::max<std::int64_t>(options_.now(), 0));
    part->batch.set_counters(part->totals);
    batches.push_back({.bucket = part->bucket, .batch = &part->batch});
  }
  auto written = options_.write_parts ? options_.write_parts(batches, links)
                                      : store_.write(*batches.front().batch);
  if (!written) return written;
  for (Part* part : parts)
    part->partition->take_totals(part->before, part->totals);
  return {};
}

// What was admitted to them is written, or with the next owner.
void GroupWriter::retire(const OperationGroup& group) {
  for (const auto& operation : group) {
    for (const std::uint32_t bucket : operation->retired) {
      clear_parts();  // which refer to the partition
      partitions_.remove(bucket);
      options_.retired(bucket);
    }
  }
}

// The admissions that made the filter call a URL seen are in this group or an earlier one (N4), and
// durable now. So a URL that is missing in the ledger was a false positive.
Result<void> GroupWriter::check_seen(const OperationGroup& group) {
  for (const auto& operation : group) {
    const auto& fingerprints = operation->seen_to_check;
    if (fingerprints.empty()) continue;
    const std::size_t n = fingerprints.size();
    const auto found = std::make_unique<bool[]>(n);
    if (auto read = store_.find_in_ledger(fingerprints, {found.get(), n}); !read) return read;
    checked_.fetch_add(n, std::memory_order_relaxed);
    for (std::size_t i = 0; i < n; ++i) {
      if (found[i]) continue;
      const bool is_new = wrong_ones_.size() < kWrongOnesKept
                              ? wrong_ones_.insert(fingerprints[i]).second
                              : !wrong_ones_.contains(fingerprints[i]);
      if (is_new) wrong_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return {};
}

}  // namespace trawl
