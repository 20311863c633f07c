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
//
// Dropping a host can delete millions of URLs. It goes part by part, with a batch after each group,
// so that other operations do not wait long. It reads the host's queue for that, which nothing else
// does here: see CommitReads.
#include "frontier/commit/group_writer.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "base/wall_time.h"
#include "frontier/common/outcome_rules.h"

namespace trawl {

namespace {

// The most deferred URLs that one group queues, and the most URLs that one batch of a drop deletes.
// They bound memory and how long other operations wait.
constexpr std::size_t kPromotedAtOnce = 1024;
constexpr std::size_t kDroppedAtOnce = 4096;
// Beyond this number, a false "seen" of the same URL counts each time.
constexpr std::size_t kWrongOnesKept = 100'000;
// Size of the cache of recently held links; a power of 2.
constexpr std::size_t kHeldLately = 1u << 14;

}  // namespace

GroupWriter::GroupWriter(Store& store, Partition& partition, GroupWriterOptions options)
    : store_(store),
      partition_(partition),
      options_(std::move(options)),
      held_lately_(kHeldLately) {
  assert(options_.after_commit && options_.now);
  assert(options_.depths == nullptr || options_.identity != nullptr);
}

Result<void> GroupWriter::read_first_deferred() {
  std::int64_t first = Partition::kNever;
  auto read = store_.visit_deferred([&](const DeferredUrl& url) {
    first = url.not_before;
    return false;
  });
  partition_.set_next_deferred(first);
  return read;
}

Result<void> GroupWriter::write(OperationGroup& group) {
  const OneAtATime::Use use(writing_);
  if (group.empty()) return {};
  const Counters before = partition_.counters();
  Counters totals = before;
  const std::uint64_t first_admission = totals.admitted;
  batch_.clear();
  fingerprints_.clear();
  set_aside_now_.clear();
  note_new_ones(group);
  std::vector<QueuedUrl> promoted;
  const bool promote_due =
      std::ranges::any_of(group, [](const auto& operation) { return operation->promote; });
  // First: deferred URLs have waited longest.
  if (promote_due) {
    if (auto done = promote(totals, batch_, promoted); !done) return done;
  }
  // Before the admissions, which remove their URLs from those set aside: one operation of the group
  // may hold a link that another one admits.
  for (auto& operation : group) {
    if (auto held = hold_links(*operation, totals, batch_); !held) return held;
  }
  for (auto& operation : group) {
    if (auto added = add_admitted(*operation, totals, batch_); !added) return added;
    if (auto added = add_seen_only(*operation, totals, batch_); !added) return added;
    if (operation->ended) {
      if (auto ended = add_ended(*operation->ended, totals, batch_); !ended) return ended;
    }
    if (auto done = restore(*operation, totals, batch_, promoted); !done) return done;
    lower_depths(*operation, totals, batch_);
    totals.seen += operation->seen;
    totals.invalid += operation->invalid;
  }
  if (!fingerprints_.empty()) batch_.log_admissions(first_admission, fingerprints_);
  add_changed_hosts(group, batch_);

  if (options_.before_commit) {
    if (auto allowed = options_.before_commit(); !allowed) return allowed;
  }
  const bool wanted = std::ranges::any_of(
      group, [](const auto& operation) { return operation->flush || operation->stop; });
  if (batch_.empty() && !wanted && totals.differ_by_offers_alone(before)) {
    // Only counts of offers changed: they become durable with the next change.
    partition_.take_totals(before, totals);
  } else if (auto written = commit(batch_, before, totals); !written) {
    return written;
  }
  if (promote_due) {
    if (auto read = read_first_deferred(); !read) return read;
  }
  if (auto checked = check_seen(group); !checked) return checked;
  options_.after_commit(group, promoted);
  for (auto& operation : group) {
    if (!operation->drop) continue;
    if (auto dropped = drop_some(*operation->drop); !dropped) return dropped;
  }
  return {};
}

Result<void> GroupWriter::add_admitted(Operation& operation, Counters& totals,
                                       Store::Batch& batch) {
  for (Operation::Admitted& url : operation.admitted) {
    // A URL that was not admitted before can be set aside only as a held link, unless its key has
    // changed.
    const bool recrawl = is_recrawl_record(url.record);
    if ((recrawl || options_.set_aside_keys_changed ? totals.set_aside() : totals.held) > 0) {
      const auto was_there = forget_set_aside(url.fingerprint, totals, batch);
      if (!was_there) return tl::unexpected(was_there.error());
      if (*was_there && options_.depths != nullptr) options_.depths->remove_double(url.fingerprint);
    }
    // N1: the record is in the store from the batch that admits the URL until its lease ends.
    url.sequence = totals.sequence++;
    ++totals.admitted;
    totals.deepest = std::max<std::uint64_t>(totals.deepest, url.depth);
    fingerprints_.push_back(url.fingerprint);
    if (url.not_before == 0) {
      batch.add_pending(url.host, {.priority = url.priority, .sequence = url.sequence}, url.record);
    } else {
      defer(url.not_before, url.sequence, url.host, url.priority, url.record, totals, batch);
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
Result<void> GroupWriter::add_seen_only(const Operation& operation, Counters& totals,
                                        Store::Batch& batch) {
  totals.admitted += operation.seen_only.size();
  totals.seen_only += operation.seen_only.size();
  fingerprints_.insert(fingerprints_.end(), operation.seen_only.begin(), operation.seen_only.end());
  for (const Fingerprint fingerprint : operation.seen_only) {
    if (totals.held > 0) {
      if (auto done = forget_set_aside(fingerprint, totals, batch); !done)
        return tl::unexpected(done.error());
    }
    if (options_.ledger) batch.set_ledger(fingerprint, {});
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

Result<void> GroupWriter::add_ended(Operation::Ended& ended, Counters& totals,
                                    Store::Batch& batch) {
  using Kind = Operation::Ended::Kind;
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
    if (auto done = set_aside(*ended.set_aside, totals, batch); !done) return done;
  }
  if (ended.kind == Kind::kRetry || ended.kind == Kind::kRecrawl) {
    defer(ended.not_before, totals.sequence++, ended.host, ended.order.priority, ended.record,
          totals, batch);
  }
  if (!ended.keeps_by_fingerprint) return {};
  totals.depth_repairs += ended.depth_lowered ? 1 : 0;
  const auto aside =
      ended.set_aside ? set_aside_now_.find(ended.fingerprint) : set_aside_now_.end();
  const bool waits = ended.kind == Kind::kRetry || ended.kind == Kind::kRecrawl ||
                     (aside != set_aside_now_.end() && aside->second);
  end_depth(ended, waits, batch);
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
void GroupWriter::lower_depths(const Operation& operation, Counters& totals, Store::Batch& batch) {
  for (const auto& [fingerprint, depth] : operation.lowered_depths) {
    if (options_.depths != nullptr) {
      if (!options_.depths->is_deeper(fingerprint, depth)) continue;
      options_.depths->expect_notes();
      options_.depths->lower(fingerprint, depth);
    }
    batch.lower_depth(fingerprint, depth);
    ++totals.lowered;
  }
}

// `waits`: the URL still waits, with the depth of the lease.
void GroupWriter::end_depth(const Operation::Ended& ended, bool waits, Store::Batch& batch) {
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
  if (noted) batch.forget_depth(key);
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

Result<std::optional<SetAsideState>> GroupWriter::state_of(Fingerprint fingerprint) const {
  const auto changed = set_aside_now_.find(fingerprint);
  if (changed != set_aside_now_.end()) return changed->second;
  return store_.set_aside_state(fingerprint);
}

// A held link never replaces an entry; a URL that was queued replaces the entry of its fingerprint.
// Links may take only half of the room, since URLs that were queued are more important.
Result<void> GroupWriter::set_aside(const Operation::SetAside& url, Counters& totals,
                                    Store::Batch& batch) {
  const auto before = state_of(url.fingerprint);
  if (!before) return tl::unexpected(before.error());
  if (*before && !url.was_queued) return {};
  if (!*before) {
    const std::uint64_t most = url.was_queued ? options_.max_set_aside : options_.max_set_aside / 2;
    if (totals.set_aside() >= most && !url.always) {
      ++totals.not_set_aside;
      return {};
    }
  } else {
    --(**before == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
  }
  ++(url.state == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
  batch.set_aside(url.fingerprint, url.value);
  set_aside_now_[url.fingerprint] = url.state;
  return {};
}

Result<void> GroupWriter::hold_links(const Operation& operation, Counters& totals,
                                     Store::Batch& batch) {
  for (const Operation::SetAside& link : operation.links_held) {
    Fingerprint& lately = held_lately_[link.fingerprint.low % kHeldLately];
    if (lately == link.fingerprint) continue;
    if (options_.exact) {
      // It may have been admitted since AdmissionController::is_known().
      const auto known = store_.ledger(link.fingerprint);
      if (!known) return tl::unexpected(known.error());
      if (*known) continue;
    }
    lately = link.fingerprint;
    if (auto done = set_aside(link, totals, batch); !done) return done;
  }
  return {};
}

// Returns false if the URL is not set aside.
Result<bool> GroupWriter::forget_set_aside(Fingerprint fingerprint, Counters& totals,
                                           Store::Batch& batch) {
  const auto state = state_of(fingerprint);
  if (!state) return tl::unexpected(state.error());
  if (!*state) return false;
  --(**state == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
  batch.remove_set_aside(fingerprint);
  set_aside_now_[fingerprint] = std::nullopt;
  held_lately_[fingerprint.low % kHeldLately] = {};
  return true;
}

// A concurrent call may have restored some of them already.
Result<void> GroupWriter::restore(Operation& operation, Counters& totals, Store::Batch& batch,
                                  std::vector<QueuedUrl>& queued) {
  for (Operation::Restored& url : operation.restored) {
    const auto was_there = forget_set_aside(url.fingerprint, totals, batch);
    if (!was_there) return tl::unexpected(was_there.error());
    if (*was_there && url.record.empty() && options_.depths != nullptr)
      options_.depths->remove_double(url.fingerprint);
    if (!*was_there || url.record.empty()) continue;
    ++totals.requeued;
    if (options_.depths != nullptr && !options_.depths->may_wait(url.fingerprint))
      options_.depths->add(url.fingerprint, depth_of_record(url.record));
    const QueueOrder order{.priority = url.priority, .sequence = totals.sequence++};
    batch.add_pending(url.host, order, url.record);
    queued.push_back({.host = url.host, .order = order, .record = std::move(url.record)});
  }
  return {};
}

void GroupWriter::defer(std::int64_t not_before, std::uint64_t sequence, HostId host,
                        std::int32_t priority, std::string_view record, Counters& totals,
                        Store::Batch& batch) {
  batch.add_deferred(not_before, sequence, host, priority, record);
  ++totals.deferred;
  totals.recrawls_deferred += is_recrawl_record(record) ? 1 : 0;
  // Set before the batch is durable: a thread that comes too early finds nothing due, and the time
  // is read again.
  if (not_before < partition_.next_deferred()) partition_.set_next_deferred(not_before);
}

Result<void> GroupWriter::promote(Counters& totals, Store::Batch& batch,
                                  std::vector<QueuedUrl>& promoted) {
  const std::int64_t now = options_.now();
  return store_.visit_deferred([&](const DeferredUrl& url) {
    if (url.not_before > now || promoted.size() >= kPromotedAtOnce) return false;
    const QueueOrder order{.priority = url.priority, .sequence = totals.sequence++};
    batch.remove_deferred(url);
    batch.add_pending(url.host, order, url.record);
    promoted.push_back({.host = url.host, .order = order, .record = url.record});
    --totals.deferred;
    totals.recrawls_deferred -= is_recrawl_record(url.record) ? 1 : 0;
    return true;
  });
}

void GroupWriter::add_changed_hosts(const OperationGroup& group, Store::Batch& batch) const {
  for (const auto& operation : group) {
    for (const auto& [host, change] : operation->changed_hosts) {
      const auto record = options_.record_of(host, change);
      if (!record) continue;
      if (record->is_default() && !record->answered) {
        batch.remove_host(host);
      } else {
        batch.set_host(host, *record);
      }
    }
  }
}

Result<void> GroupWriter::commit(const Store::Batch& batch, const Counters& before,
                                 const Counters& changed) {
  assert(changed.admitted >= before.admitted && changed.sequence >= before.sequence);
  Counters totals = changed;
  totals.clock = static_cast<std::uint64_t>(std::max<std::int64_t>(options_.now(), 0));
  assert(&batch == &batch_);
  batch_.set_counters(totals);
  if (auto written = store_.write(batch); !written) return written;
  partition_.take_totals(before, totals);
  return {};
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

// Deletes the deferred URLs first and completely: otherwise one could be queued, between two parts,
// at a position that the drop has passed.
Result<void> GroupWriter::drop_some(Operation::Drop& drop) {
  assert(!drop.done);
  if (drop.deferred_done) return drop_some_queued(drop);
  return drop_deferred(drop).and_then([&] {
    drop.deferred_done = true;
    return read_first_deferred();
  });
}

Result<void> GroupWriter::drop_some_queued(Operation::Drop& drop) {
  batch_.clear();
  QueueRead read{.host = drop.host, .after = drop.behind, .limit = kDroppedAtOnce};
  if (auto done = store_.read_queues(std::span(&read, 1)); !done) return done;
  Dropped dropped;
  for (const QueuedUrl& url : read.urls) {
    if (options_.is_leased(drop.host, url.order.sequence)) continue;
    batch_.remove_pending(url.host, url.order);
    drop_depth(url.record, batch_);
    ++dropped.queued;
  }
  if (!read.urls.empty()) drop.behind = read.urls.back().order;
  auto committed = commit_drop(drop, dropped);
  drop.done = committed && read.ended;
  return committed;
}

// In one pass, since it reads the deferred URLs of all hosts.
Result<void> GroupWriter::drop_deferred(Operation::Drop& drop) {
  batch_.clear();
  Dropped dropped;
  Result<void> committed;
  auto read = store_.visit_deferred([&](const DeferredUrl& url) {
    if (url.host != drop.host) return true;
    batch_.remove_deferred(url);
    drop_depth(url.record, batch_);
    dropped.recrawls += is_recrawl_record(url.record) ? 1 : 0;
    if (++dropped.deferred < kDroppedAtOnce) return true;
    committed = commit_drop(drop, std::exchange(dropped, {}));
    batch_.clear();
    return committed.has_value();
  });
  if (!read) return read;
  return committed ? commit_drop(drop, dropped) : committed;
}

Result<void> GroupWriter::commit_drop(Operation::Drop& drop, const Dropped& dropped) {
  const std::size_t urls = dropped.queued + dropped.deferred;
  if (urls == 0) return {};
  const Counters before = partition_.counters();
  Counters totals = before;
  totals.dropped += urls;
  totals.deferred -= dropped.deferred;
  totals.recrawls_deferred -= dropped.recrawls;
  drop.dropped += urls;
  drop.dropped_queued += dropped.queued;
  return commit(batch_, before, totals);
}

}  // namespace trawl
