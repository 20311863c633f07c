// CheckpointRecovery: the recovery of a frontier in a state directory, by checkpoints.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "trawl/embedded_options.h"

#include "frontier/recovery/checkpoint_schedule.h"
#include "frontier/recovery/checkpointer.h"
#include "frontier/recovery/directory_lock.h"
#include "frontier/recovery/manifest.h"
#include "frontier/recovery/recovery.h"

namespace trawl {

class CheckpointRecovery final : public Recovery {
 public:
  // `filter` as it was recovered. `lost_checkpoints`: none could be used, so that one is needed
  // soon.
  CheckpointRecovery(const EmbeddedOptions& options, DirectoryLock lock, const Manifest& manifest,
                     const GrowingBloomFilter& filter, bool lost_checkpoints);

  void begin(const GrowingBloomFilter& filter, CommitQueue& commits, Store& store) override;
  void admitted(std::uint64_t total) noexcept override { schedule_->admitted(total); }
  Result<void> save() override { return take(nullptr); }
  void request() override { schedule_->request(); }
  std::uint64_t saved() const noexcept override { return checkpointer_.taken(); }

  // Relaxed: publishes no other data.
  void hurry() noexcept override { hurry_.store(true, std::memory_order_relaxed); }
  Result<void> close() override { return schedule_->close(); }
  void stop() override { schedule_->stop(); }
  void release() override { lock_.reset(); }

 private:
  Result<void> take(const std::atomic<bool>* give_up);

  const CheckpointOptions options_;
  const double replayed_per_second_;
  const bool lost_checkpoints_;
  std::optional<DirectoryLock> lock_;
  Checkpointer checkpointer_;
  std::atomic<bool> hurry_{false};
  // Set by begin().
  const GrowingBloomFilter* filter_ = nullptr;
  CommitQueue* commits_ = nullptr;
  Store* store_ = nullptr;
  // Last, so that its thread ends before the members that it uses.
  std::optional<CheckpointSchedule> schedule_;
};

}  // namespace trawl
