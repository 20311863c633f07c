#include "frontier/checkpointer.h"

#include <algorithm>

#include "filter/file_io.h"

namespace trawl {

Result<void> Checkpointer::take(const BlockedBloomFilter& filter, CommitQueue& commits,
                                Store& store) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t sequence = commits.counters().admitted;

  const std::uint64_t number = manifest_.next_checkpoint;
  const std::string path = Manifest::checkpoint_path(directory_, number).string();
  const std::string temporary = path + ".tmp";
  const auto written = filter.save(temporary)
                           .and_then([&](std::uint64_t) { return commits.flush(); })
                           .and_then([&] { return store.sync(); })
                           .and_then([&] { return publish_file(temporary, path); });
  if (!written) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return written;
  }

  Manifest next = manifest_;
  next.next_checkpoint = number + 1;
  next.checkpoints.push_back({.number = number, .sequence = sequence});
  if (next.checkpoints.size() > kept_) {
    next.checkpoints.erase(next.checkpoints.begin(), next.checkpoints.end() - kept_);
  }
  // With fewer checkpoints than are to be kept the whole log stays: it stands in for the missing.
  if (next.checkpoints.size() == kept_) {
    next.log_start = std::max(next.log_start, next.checkpoints.front().sequence);
  }
  if (auto published = next.publish(directory_); !published) return published;
  manifest_ = std::move(next);
  taken_.fetch_add(1, std::memory_order_relaxed);

  remove_strays(directory_, manifest_);
  return manifest_.log_start > 0 ? store.trim_admissions(manifest_.log_start) : Result<void>{};
}

void Checkpointer::remove_strays(const std::filesystem::path& directory, const Manifest& manifest) {
  std::error_code ignored;
  std::vector<std::filesystem::path> strays;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("filter-") && name != "MANIFEST.tmp") continue;
    const bool kept = std::ranges::any_of(manifest.checkpoints, [&](const CheckpointEntry& kept) {
      return entry.path() == Manifest::checkpoint_path(directory, kept.number);
    });
    if (!kept) strays.push_back(entry.path());
  }
  for (const auto& stray : strays)
    std::filesystem::remove(stray, ignored);
}

}  // namespace trawl
