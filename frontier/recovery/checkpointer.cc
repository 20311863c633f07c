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

// The digits of filter-<digits>.ckpt and filter-<digits>.layer, with or without .tmp after it;
// empty for any other file.
std::string_view checkpoint_digits(std::string_view name) {
  if (name.ends_with(".tmp")) name.remove_suffix(4);
  constexpr std::string_view kPrefix = "filter-";
  if (!name.starts_with(kPrefix)) return {};
  const auto dot = name.find('.');
  if (dot == name.npos || (name.substr(dot) != ".ckpt" && name.substr(dot) != ".layer")) return {};
  const auto digits = name.substr(kPrefix.size(), dot - kPrefix.size());
  const bool ours = digits.size() >= 6 &&
                    std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return ours ? digits : std::string_view();
}

// Whether the frontier alone creates files of this name.
bool is_our_file(std::string_view name) {
  return name == "MANIFEST.tmp" || !checkpoint_digits(name).empty();
}

}  // namespace

namespace {

// Publishes what `write` has written to a temporary file, or removes it.
template <class Write>
Result<void> write_and_publish(const std::filesystem::path& path, const Write& write) {
  const std::string temporary = path.string() + ".tmp";
  Result<void> written =
      write(temporary).and_then([&] { return publish_file(temporary, path.string()); });
  if (!written) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
  }
  return written;
}

}  // namespace

Result<void> write_checkpoint(const GrowingBloomFilter& filter,
                              std::span<const GrowingBloomFilter::LayerFile> layers,
                              const std::filesystem::path& path, const SnapshotPace& pace,
                              const std::function<Result<void>()>& before) {
  return write_and_publish(path, [&](const std::string& temporary) {
    return filter.write_unpublished(temporary, pace, layers).and_then([&](std::uint64_t) {
      return before();
    });
  });
}

Result<void> Checkpointer::write_full_layers(const GrowingBloomFilter& filter,
                                             const SnapshotPace& pace) {
  while (layers_.size() < filter.full_layers()) {
    const auto number = manifest_.take_checkpoint_number(directory_);
    if (!number) return tl::unexpected(number.error());
    const std::size_t layer = layers_.size();
    GrowingBloomFilter::LayerFile file;
    auto written = write_and_publish(
        Manifest::layer_path(directory_, *number), [&](const std::string& temporary) {
          return filter.write_layer(layer, *number, temporary, pace)
              .map([&](const GrowingBloomFilter::LayerFile& written) { file = written; });
        });
    if (!written) return written;
    layers_.push_back(file);
  }
  return {};
}

Result<void> Checkpointer::take(const GrowingBloomFilter& filter, CommitQueue& commits,
                                Store& store, const SnapshotPace& pace) {
  const MutexLock lock(mutex_);
  if (auto open = commits.check(); !open) return open;
  std::uint64_t sequence = commits.counters().admitted;
  if (sequence == covered()) {
    if (auto flushed = commits.flush(); !flushed) return flushed;
    sequence = commits.counters().admitted;
    if (sequence == covered()) return {};
  }

  if (auto layers = write_full_layers(filter, pace); !layers) return layers;
  const auto number = manifest_.take_checkpoint_number(directory_);
  if (!number) return tl::unexpected(number.error());
  std::uint64_t end = 0;
  const auto path = Manifest::checkpoint_path(directory_, *number);
  auto written = write_checkpoint(filter, layers_, path, pace, [&] {
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
  for (const GrowingBloomFilter::LayerFile& layer : layers_)
    next.checkpoints.back().layers.push_back(layer.number);
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
      return path == Manifest::checkpoint_path(directory, entry.number) ||
             std::ranges::any_of(entry.layers, [&](std::uint64_t layer) {
               return path == Manifest::layer_path(directory, layer);
             });
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
