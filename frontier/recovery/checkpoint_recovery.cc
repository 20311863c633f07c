#include "frontier/recovery/checkpoint_recovery.h"

#include <cassert>
#include <utility>

namespace trawl {

CheckpointRecovery::CheckpointRecovery(const EmbeddedOptions& options, DirectoryLock lock,
                                       const Manifest& manifest, const GrowingBloomFilter& filter,
                                       bool lost_checkpoints)
    : options_(options.checkpoints),
      replayed_per_second_(manifest.replayed_per_second),
      lost_checkpoints_(lost_checkpoints),
      lock_(std::move(lock)),
      checkpointer_(options.directory, manifest, options.checkpoints.keep, filter) {}

void CheckpointRecovery::begin(const GrowingBloomFilter& filter, CommitQueue& commits,
                               Store& store) {
  assert(!schedule_);
  filter_ = &filter;
  commits_ = &commits;
  store_ = &store;
  schedule_.emplace(
      CheckpointPlan{.rule = CheckpointRule::of(options_),
                     .replayed_per_second = replayed_per_second_,
                     .take = [this](const std::atomic<bool>& give_up) { return take(&give_up); },
                     .covered = [this] { return checkpointer_.covered(); },
                     .report = options_.on_taken},
      commits.counters().admitted);
  if (lost_checkpoints_) schedule_->request();
}

Result<void> CheckpointRecovery::take(const std::atomic<bool>* give_up) {
  const SnapshotPace pace{
      .bytes_per_second = options_.max_rate, .hurry = &hurry_, .give_up = give_up};
  return checkpointer_.take(*filter_, *commits_, *store_, pace);
}

}  // namespace trawl
