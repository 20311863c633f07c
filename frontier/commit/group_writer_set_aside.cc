// GroupWriter: URLs set aside, held or failed.
#include <utility>

#include "frontier/commit/group_writer.h"

namespace trawl {

namespace {

// URLs set aside that are known without a look at the store.
constexpr std::size_t kSetAsideLately = 1u << 14;

}  // namespace

// A URL that was not admitted before can be set aside only as a held link, unless its key has
// changed.
bool GroupWriter::may_be_set_aside(const Counters& totals, bool recrawl) const {
  return (recrawl || options_.set_aside_keys_changed ? totals.set_aside() : totals.held) > 0;
}

Result<void> GroupWriter::end_set_aside(Fingerprint fingerprint, Part& part) {
  const auto was_there = forget_set_aside(fingerprint, part);
  if (!was_there) return tl::unexpected(was_there.error());
  if (*was_there && options_.depths != nullptr) options_.depths->remove_double(fingerprint);
  return {};
}

Result<std::optional<SetAsideState>> GroupWriter::state_of(Fingerprint fingerprint,
                                                           const Part& part) const {
  const auto changed = set_aside_now_.find(fingerprint);
  if (changed != set_aside_now_.end()) return changed->second;
  const bool knows_all =
      !partitions_.is_shared() && set_aside_lately_.size() == part.totals.set_aside();
  if (knows_all && !set_aside_lately_.contains(fingerprint)) return std::nullopt;
  return store_.set_aside_state(fingerprint);
}

// A held link never replaces an entry; a URL that was queued replaces the entry of its fingerprint.
// Links may take only half of the room, since URLs that were queued are more important.
Result<void> GroupWriter::set_aside(const Operation::SetAside& url) {
  Part* const part = part_of(url.fingerprint.high);
  if (part == nullptr) return {};
  Counters& totals = part->totals;
  const auto before = state_of(url.fingerprint, *part);
  if (!before) return tl::unexpected(before.error());
  if (*before && !url.was_queued) return {};
  if (!*before) {
    const std::uint64_t most = url.was_queued ? options_.max_set_aside : options_.max_set_aside / 2;
    if (set_aside_in_all(*part) >= most && !url.always) {
      ++totals.not_set_aside;
      return {};
    }
    if (!partitions_.is_shared() && set_aside_lately_.size() < kSetAsideLately)
      set_aside_lately_.insert(url.fingerprint);
  } else {
    --(**before == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
    --set_aside_change_;
  }
  ++set_aside_change_;
  ++(url.state == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
  part->batch.set_aside(url.fingerprint, url.value);
  set_aside_now_[url.fingerprint] = url.state;
  return {};
}

// Those of all partitions of this process: in a shared frontier the limit is one of each process.
std::uint64_t GroupWriter::set_aside_in_all(const Part& part) {
  if (!partitions_.is_shared()) return part.totals.set_aside();
  if (!set_aside_before_) set_aside_before_ = partitions_.counters().set_aside();
  return *set_aside_before_ + static_cast<std::uint64_t>(set_aside_change_);
}

Result<void> GroupWriter::hold_links(const Operation& operation) {
  for (const Operation::SetAside& link : operation.links_held) {
    Fingerprint& lately = held_lately_[link.fingerprint.low % held_lately_.size()];
    if (lately == link.fingerprint) continue;
    if (options_.exact) {
      // It may have been admitted since AdmissionController::is_known().
      const auto known = store_.ledger(link.fingerprint);
      if (!known) return tl::unexpected(known.error());
      if (*known) continue;
    }
    lately = link.fingerprint;
    if (auto done = set_aside(link); !done) return done;
  }
  return {};
}

// Returns false if the URL is not set aside.
Result<bool> GroupWriter::forget_set_aside(Fingerprint fingerprint, Part& part) {
  const auto state = state_of(fingerprint, part);
  if (!state) return tl::unexpected(state.error());
  if (!*state) return false;
  Counters& totals = part.totals;
  --set_aside_change_;
  --(**state == SetAsideState::kHeld ? totals.held : totals.set_aside_failed);
  part.batch.remove_set_aside(fingerprint);
  set_aside_lately_.erase(fingerprint);
  set_aside_now_[fingerprint] = std::nullopt;
  held_lately_[fingerprint.low % held_lately_.size()] = {};
  return true;
}

// A concurrent call may have restored some of them already.
Result<void> GroupWriter::restore(Operation& operation, std::vector<QueuedUrl>& queued) {
  for (Operation::Restored& url : operation.restored) {
    Part* const part = part_of(url.fingerprint.high);
    if (part == nullptr) continue;
    const auto was_there = forget_set_aside(url.fingerprint, *part);
    if (!was_there) return tl::unexpected(was_there.error());
    if (*was_there && url.record.empty() && options_.depths != nullptr)
      options_.depths->remove_double(url.fingerprint);
    if (!*was_there || url.record.empty()) continue;
    ++part->totals.requeued;
    if (options_.depths != nullptr && !options_.depths->may_wait(url.fingerprint))
      options_.depths->add(url.fingerprint, depth_of_record(url.record));
    const QueueOrder order{.priority = url.priority, .sequence = part->totals.sequence++};
    part->batch.add_pending(url.host, order, url.record);
    queued.push_back({.host = url.host, .order = order, .record = std::move(url.record)});
  }
  return {};
}

}  // namespace trawl
