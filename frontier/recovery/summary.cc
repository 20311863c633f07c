// summarize_frontier.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "trawl/frontier_dump.h"
#include "trawl/mapped_filter.h"

#include "base/wall_time.h"
#include "frontier/recovery/filter_recovery.h"
#include "frontier/recovery/state_directory.h"
#include "frontier/recovery/stopped_frontier.h"
#include "frontier/schedule/host_record_info.h"
#include "frontier/store/longest_queues.h"
#include "frontier/store/queued_url.h"

namespace trawl {

namespace {

// Counts the queues while they are read one after the other, and keeps the longest.
class QueueCounts {
 public:
  explicit QueueCounts(std::size_t kept) : longest_(kept) {}

  void count(HostId host, std::string_view record) {
    if (hosts_ == 0 || host != current_.host) {
      finish_current();
      ++hosts_;
      current_ = {.urls = 0, .host = host, .what = {}};
    }
    ++current_.urls;
    // The first intact record names the host.
    std::string& name = current_.what;
    if (!name.empty()) return;
    if (const auto url = decode_record(record)) name = queue_of(*url);
  }

  std::uint64_t hosts() const { return hosts_; }

  Result<std::vector<HostInfo>> finish(const Store& store, std::int64_t now) {
    finish_current();
    std::vector<HostInfo> infos;
    for (const Longest::Queue& queue : longest_.take()) {
      const auto record = store.host(queue.host);
      if (!record) return tl::unexpected(record.error());
      HostInfo info = *record ? host_info(**record, now) : HostInfo{};
      // The host record has the name if no URL of the queue can be read.
      if (!queue.what.empty()) info.host = queue.what;
      info.queued = queue.urls;
      infos.push_back(std::move(info));
    }
    return infos;
  }

 private:
  using Longest = LongestQueues<std::string>;  // with their names

  void finish_current() {
    if (hosts_ > 0) longest_.add(std::move(current_));
  }

  std::uint64_t hosts_ = 0;
  Longest::Queue current_{};
  Longest longest_;
};

Result<void> add_hosts(const Store& store, std::size_t longest_queues, FrontierSummary& summary) {
  const std::int64_t now = to_milliseconds(std::chrono::system_clock::now());
  auto read = store.visit_hosts(0, [&](HostId, const HostRecord& host) {
    summary.stats.hosts_parked += host.given_up ? 1 : 0;
    summary.stats.hosts_blocked += !host.given_up && host.blocked_until > now ? 1 : 0;
    return true;
  });
  if (!read) return read;
  if (longest_queues == 0)
    return store.visit_queued_hosts(0, [&](HostId) {
      ++summary.stats.hosts;
      return true;
    });
  QueueCounts queues(longest_queues);
  read = store.visit_pending(std::nullopt,
                             [&](HostId host, const QueueOrder&, std::string_view record) {
                               queues.count(host, record);
                               return true;
                             });
  if (!read) return read;
  summary.stats.hosts = queues.hosts();
  auto longest = queues.finish(store, now);
  if (!longest) return tl::unexpected(longest.error());
  summary.longest_queues = std::move(*longest);
  return {};
}

// 0 if the file is missing.
std::uint64_t file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// Files may appear and vanish meanwhile, since the store is open.
std::uint64_t tree_bytes(const std::filesystem::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error))
    bytes += file_bytes(it->path());
  return bytes;
}

void add_checkpoints(const std::filesystem::path& directory, const Manifest& manifest,
                     FrontierSummary& summary) {
  for (const CheckpointEntry& entry : manifest.checkpoints) {
    const auto path = Manifest::checkpoint_path(directory, entry.number);
    const std::string name = path.filename().string();
    summary.checkpoints.push_back({name, entry.sequence, file_bytes(path)});
    if (summary.checkpoints.back().bytes == 0)
      summary.warnings.push_back(fmt::format("the checkpoint {} is missing or empty", name));
    if (entry.end > summary.stats.admitted) {
      summary.warnings.push_back(fmt::format(
          "the checkpoint {} covers {} admissions, but the store, which lost its newest "
          "writes, has {}: the checkpoint is not used",
          name, entry.end, summary.stats.admitted));
    }
  }
}

// Reads the header and a sample of the bits of the newest readable checkpoint. A crawl that has
// none yet has few URLs.
void add_filter(const std::filesystem::path& directory, const std::optional<Manifest>& manifest,
                std::uint64_t urls, FrontierSummary& summary) {
  for (auto it = summary.checkpoints.rbegin(); it != summary.checkpoints.rend(); ++it) {
    const auto filter = MappedFilter::open((directory / it->file).string());
    if (!filter) continue;
    summary.stats.filter = filter->stats();
    summary.filter_known = true;
    return;
  }
  if (!manifest || manifest->expected_urls == 0) return;
  const auto expected = GrowingBloomFilter::expected_stats(filter_options({}, *manifest), urls);
  if (!expected) return;
  summary.stats.filter = *expected;
  summary.filter_known = true;
}

// Without a MANIFEST, checkpoints are found by their file names.
void add_files(const std::filesystem::path& directory, bool list_checkpoints,
               FrontierSummary& summary) {
  summary.store_bytes = tree_bytes(store_path(directory));
  summary.disk_bytes = summary.store_bytes;
  std::error_code error;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool checkpoint = name.starts_with("filter-") &&
                            (name.find(".ckpt") != name.npos || name.find(".layer") != name.npos);
    if (!checkpoint && !name.starts_with("MANIFEST") && name != "LOCK") continue;
    const std::uint64_t bytes = file_bytes(it->path());
    summary.disk_bytes += bytes;
    if (list_checkpoints && checkpoint && name.ends_with(".ckpt"))
      summary.checkpoints.push_back({name, std::nullopt, bytes});
  }
  if (list_checkpoints)
    std::ranges::sort(summary.checkpoints, {}, &FrontierSummary::Checkpoint::file);
}

}  // namespace

Result<FrontierSummary> summarize_frontier(const std::filesystem::path& directory,
                                           std::size_t longest_queues) {
  auto stopped = StoppedFrontier::open_to_read(directory);
  if (!stopped) return tl::unexpected(stopped.error());
  FrontierSummary summary;
  summary.warnings = std::move(stopped->warnings);
  const auto counters = stopped->store->counters();
  if (!counters) return tl::unexpected(counters.error());
  static_cast<FrontierCounters&>(summary.stats) = *counters;
  summary.stats.queued = counters->open() - std::min(counters->open(), counters->deferred);
  if (auto read = add_hosts(*stopped->store, longest_queues, summary); !read)
    return tl::unexpected(read.error());
  if (stopped->manifest) {
    summary.profile = stopped->manifest->profile;
    summary.ledger = stopped->manifest->ledger;
    add_checkpoints(directory, *stopped->manifest, summary);
  }
  add_files(directory, !stopped->manifest, summary);
  add_filter(directory, stopped->manifest, counters->urls(), summary);
  return summary;
}

}  // namespace trawl
