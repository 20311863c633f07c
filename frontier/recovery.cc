#include "frontier/recovery.h"

#include <memory>

#include <fmt/format.h>

namespace trawl {

namespace {

// Inserts the admissions from `sequence` to `end`. Errors: kCorrupt if the log lacks some.
Result<GrowingBloomFilter> replay(GrowingBloomFilter filter, std::uint64_t sequence,
                                  std::uint64_t end, const Store& store, OpenReport& report) {
  std::uint64_t next = sequence;
  bool gap = false;
  auto read = store.replay_admissions(
      sequence, [&](std::uint64_t first, std::span<const Fingerprint> fingerprints) {
        gap |= first > next;
        next = first + fingerprints.size();
        const auto ignored = std::make_unique<bool[]>(fingerprints.size());
        filter.insert_batch(fingerprints, {ignored.get(), fingerprints.size()});
        report.replayed += fingerprints.size();
      });
  if (!read) return tl::unexpected(read.error());
  if (gap || next != end) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the store is damaged: its log lacks some of the admissions {} to {}; "
                            "restore the state directory from a backup, or start over",
                            sequence, end));
  }
  return filter;
}

Result<GrowingBloomFilter> load(const std::filesystem::path& path, const CheckpointEntry& entry,
                                std::uint64_t admitted, const GrowingBloomFilter::Options& fresh) {
  // The store lost its end. What an older checkpoint and the older store say together is what was
  // true at that moment; this newer one would call URLs seen that are lost.
  if (entry.sequence > admitted) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} knows {} admissions, but the store has {} only: its newest writes "
                            "are damaged or missing",
                            path.string(), entry.sequence, admitted));
  }
  auto filter = GrowingBloomFilter::load(path.string(), fresh.max_memory_bytes);
  if (filter && fresh.hash && filter->hash().key() != fresh.hash->key()) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("{} is of another crawl: its hash key is not that of the manifest",
                            path.string()));
  }
  return filter;
}

// Whether an older checkpoint may be better. A filter that does not fit into memory, say, would
// not fit from an older one either.
bool is_damage(const Error& error) {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNotFound ||
         error.code == ErrorCode::kIo;
}

}  // namespace

Result<GrowingBloomFilter> recover_filter(const std::filesystem::path& directory,
                                          Manifest& manifest, const Store& store,
                                          const GrowingBloomFilter::Options& fresh,
                                          OpenReport& report) {
  const auto counters = store.counters();
  if (!counters) return tl::unexpected(counters.error());
  while (!manifest.checkpoints.empty()) {
    const CheckpointEntry entry = manifest.checkpoints.back();
    const auto path = Manifest::checkpoint_path(directory, entry.number);
    auto filter = load(path, entry, counters->admitted, fresh);
    if (filter) {
      report.checkpoint = path.string();
      return replay(std::move(*filter), entry.sequence, counters->admitted, store, report);
    }
    if (!is_damage(filter.error())) return filter;
    report.warnings.push_back(filter.error().message + "; going back to what is older");
    manifest.checkpoints.pop_back();
  }
  if (manifest.log_start == 0) {
    auto filter = GrowingBloomFilter::create(fresh);
    if (!filter) return filter;
    return replay(std::move(*filter), 0, counters->admitted, store, report);
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
