#include "frontier/recovery/checkpointer.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_io.h"

namespace trawl {

namespace {

// The digits of filter-<digits>.ckpt or filter-<digits>.ckpt.tmp; empty for any other file.
std::string_view checkpoint_digits(std::string_view name) {
  if (name.ends_with(".tmp")) name.remove_suffix(4);
  constexpr std::string_view kPrefix = "filter-";
  constexpr std::string_view kSuffix = ".ckpt";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return {};
  const auto digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  const bool ours = digits.size() >= 6 &&
                    std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return ours ? digits : std::string_view();
}

// Whether the frontier alone creates files of this name.
bool is_our_file(std::string_view name) {
  return name == "MANIFEST.tmp" || !checkpoint_digits(name).empty();
}

}  // namespace

Result<void> write_checkpoint(const GrowingBloomFilter& filter, const std::filesystem::path& path,
                              const SnapshotPace& pace,
                              const std::function<Result<void>()>& before) {
  const std::string temporary = path.string() + ".tmp";
  auto written = filter.write_unpublished(temporary, pace)
                     .and_then([&](std::uint64_t) { return before(); })
                     .and_then([&] { return publish_file(temporary, path.string()); });
  if (!written) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
  }
  return written;
}

Result<void> Checkpointer::take(const GrowingBloomFilter& filter, CommitQueue& commits,
                                Store& store, const SnapshotPace& pace) {
  const MutexLock lock(mutex_);
  if (auto open = commits.check(); !open) return open;
  const std::uint64_t sequence = commits.counters().admitted;

  const auto number = manifest_.take_checkpoint_number(directory_);
  if (!number) return tl::unexpected(number.error());
  std::uint64_t end = 0;
  const auto path = Manifest::checkpoint_path(directory_, *number);
  auto written = write_checkpoint(filter, path, pace, [&] {
    // N2: what set the bits that were copied is durable before the checkpoint is published.
    return commits.flush().and_then([&] {
      end = commits.counters().admitted;
      return store.sync();
    });
  });
  if (!written) return written;

  // N2: admissions beyond `sequence` whose bits may be in the file are durable and in the log.
  assert(end >= sequence);
  assert(manifest_.checkpoints.empty() || manifest_.checkpoints.back().sequence <= sequence);
  Manifest next = manifest_;
  next.checkpoints.push_back({.number = *number, .sequence = sequence, .end = end});
  if (next.checkpoints.size() > kept_) {
    next.checkpoints.erase(next.checkpoints.begin(), next.checkpoints.end() - kept_);
  }
  // While there are fewer checkpoints than `kept_`, the whole log stays: it replaces the missing
  // ones.
  if (next.checkpoints.size() == kept_) {
    next.log_start = std::max(next.log_start, next.checkpoints.front().sequence);
  }
  if (auto published = next.publish(directory_); !published) return published;
  manifest_ = std::move(next);
  taken_.fetch_add(1, std::memory_order_relaxed);
  covered_.store(sequence, std::memory_order_relaxed);

  remove_strays(directory_, manifest_);
  return manifest_.log_start > 0 ? store.trim_admissions(manifest_.log_start) : Result<void>{};
}

void Checkpointer::remove_strays(const std::filesystem::path& directory, const Manifest& manifest) {
  std::vector<std::filesystem::path> strays;
  std::error_code error;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::filesystem::path path = it->path();
    const bool kept = std::ranges::any_of(manifest.checkpoints, [&](const CheckpointEntry& entry) {
      return path == Manifest::checkpoint_path(directory, entry.number);
    });
    if (!kept && is_our_file(path.filename().string())) strays.push_back(path);
  }
  for (const auto& stray : strays)
    std::filesystem::remove(stray, error);
}

std::uint64_t Checkpointer::first_unused_number(const std::filesystem::path& directory) {
  std::uint64_t unused = 1;
  std::error_code error;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    const auto digits = checkpoint_digits(name);
    std::uint64_t number = 0;
    const auto end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, number);
    if (parsed.ec == std::errc() && number < std::numeric_limits<std::uint64_t>::max())
      unused = std::max(unused, number + 1);
  }
  return unused;
}

}  // namespace trawl
