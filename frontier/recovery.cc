#include "frontier/recovery.h"

#include <ranges>

#include <fmt/format.h>

namespace trawl {

namespace {

Result<BlockedBloomFilter> replay(BlockedBloomFilter filter, std::uint64_t sequence,
                                  const Store& store, OpenReport& report) {
  auto read = store.replay_admissions(
      sequence, [&](std::uint64_t, std::span<const Fingerprint> fingerprints) {
        for (const Fingerprint fingerprint : fingerprints)
          filter.insert(fingerprint);
        report.replayed += fingerprints.size();
      });
  if (!read) return tl::unexpected(read.error());
  return filter;
}

}  // namespace

Result<BlockedBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          const Manifest& manifest, const Store& store,
                                          const BlockedBloomFilter::Options& fresh,
                                          OpenReport& report) {
  for (const CheckpointEntry& entry : std::views::reverse(manifest.checkpoints)) {
    const std::string path = Manifest::checkpoint_path(directory, entry.number).string();
    auto filter = BlockedBloomFilter::load(path);
    if (filter) {
      report.checkpoint = path;
      return replay(std::move(*filter), entry.sequence, store, report);
    }
    // Only damage is a reason to look further: a filter that does not fit into memory, say, would
    // not fit from an older checkpoint either.
    const ErrorCode code = filter.error().code;
    if (code != ErrorCode::kCorrupt && code != ErrorCode::kNotFound) {
      return tl::unexpected(filter.error());
    }
    report.warnings.push_back(filter.error().message + "; going back to what is older");
  }
  if (manifest.log_start == 0) {
    auto filter = BlockedBloomFilter::create(fresh);
    if (!filter) return filter;
    return replay(std::move(*filter), 0, store, report);
  }
  std::string message = fmt::format(
      "no checkpoint in {} is intact, and the admission log begins at admission {} only, so that "
      "it is not known which URLs were seen before. Restore a filter-*.ckpt from a backup, or "
      "start "
      "over",
      directory.string(), manifest.log_start);
  for (const auto& warning : report.warnings)
    message += "\n  " + warning;
  return fail(ErrorCode::kCorrupt, std::move(message));
}

}  // namespace trawl
