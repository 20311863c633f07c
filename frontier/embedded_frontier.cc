#include "trawl/embedded_frontier.h"

#include <utility>

#include "frontier/embedded_options_checks.h"
#include "frontier/frontier_impl.h"
#include "frontier/recovery/checkpoint_recovery.h"
#include "frontier/recovery/filter_recovery.h"
#include "frontier/recovery/frontier_repair.h"
#include "frontier/recovery/revive.h"
#include "frontier/recovery/set_aside_keys.h"
#include "frontier/recovery/state_directory.h"
#include "frontier/store/rocks_store.h"

namespace trawl {

namespace {

Result<EmbeddedOptions> checked(const EmbeddedOptions& given) {
  if (auto valid = check_options(given); !valid) return tl::unexpected(valid.error());
  EmbeddedOptions options = given;
  std::error_code error;
  options.directory = std::filesystem::absolute(given.directory, error).lexically_normal();
  if (error) {
    return tl::unexpected(system_error(error.value(), "cannot find " + given.directory.string()));
  }
  if (!options.testing.clock)
    options.testing.clock = [] { return std::chrono::steady_clock::now(); };
  if (!options.testing.wall_clock)
    options.testing.wall_clock = [] { return std::chrono::system_clock::now(); };
  return options;
}

}  // namespace

Result<FrontierDirectory> EmbeddedFrontier::look_at(const std::filesystem::path& directory) {
  return inspect_state_directory(directory);
}

Result<std::shared_ptr<const void>> EmbeddedFrontier::lock(const std::filesystem::path& directory) {
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  return std::make_shared<const DirectoryLock>(*std::move(lock));
}

Result<std::vector<std::filesystem::path>> EmbeddedFrontier::remove(
    const std::filesystem::path& directory, bool remains) {
  return remove_state_directory(directory, remains);
}

Result<ReviveReport> EmbeddedFrontier::revive(const std::filesystem::path& directory,
                                              std::span<const std::string> hosts) {
  return revive_hosts_in(directory, hosts);
}

Result<RepairReport> EmbeddedFrontier::repair(const EmbeddedOptions& given) {
  auto options = checked(given);
  if (!options) return tl::unexpected(options.error());
  return repair_frontier(*options);
}

Result<std::unique_ptr<Frontier>> EmbeddedFrontier::open(const EmbeddedOptions& given,
                                                         OpenReport* report_out) {
  auto options = checked(given);
  if (!options) return tl::unexpected(options.error());
  auto state = open_state_directory(*options);
  if (!state) return tl::unexpected(state.error());
  OpenReport report;
  report.resumed = state->resumed;
  if (state->profile_replaced) {
    report.warnings.push_back(
        "the rules for canonical keys have changed: URLs seen under the old rules may be "
        "fetched once more");
  }
  // Without a manifest every file is kept: a lost manifest may be restored from a backup.
  if (state->resumed) Checkpointer::remove_strays(options->directory, state->manifest);
  auto store = RocksStore::open(store_path(options->directory),
                                {.sync = options->store.durability == Durability::kSync,
                                 .memory = MemoryPlan::of(options->store.max_memory),
                                 .least_run_in_file = options->testing.least_run_in_file});
  if (!store) return tl::unexpected(store.error());
  auto counters = (*store)->counters();
  if (!counters) return tl::unexpected(counters.error());
  if (!state->resumed && counters->admitted > 0)
    return tl::unexpected(lost_manifest(options->directory));
  const KeyedHash hash = KeyedHash::from_key(state->manifest.hash_key);
  const bool had_checkpoint = !state->manifest.checkpoints.empty();
  auto filter = recover_filter(options->directory, state->manifest, **store,
                               filter_options(*options, state->manifest), report);
  if (!filter) return tl::unexpected(filter.error());
  if (!state->resumed) {
    auto published = publish_new_crawl(state->manifest, counters->admitted, options->directory);
    if (!published) return tl::unexpected(published.error());
    Checkpointer::remove_strays(options->directory, state->manifest);
  }
  const auto keys_changed = fit_set_aside_keys(**store, options->seen.profile, hash, *counters);
  if (!keys_changed) return tl::unexpected(keys_changed.error());
  const bool lost_checkpoints = had_checkpoint && report.checkpoint.empty();
  auto recovery = std::make_unique<CheckpointRecovery>(*options, std::move(state->lock),
                                                       state->manifest, *filter, lost_checkpoints);
  auto frontier = std::make_unique<FrontierImpl>(
      *options, FrontierParts{.recovery = std::move(recovery),
                              .store = std::move(*store),
                              .partitions = std::make_unique<Partitions>(
                                  std::make_unique<Partition>(std::move(*filter), *counters)),
                              .clock = static_cast<std::int64_t>(counters->clock),
                              .hash = hash,
                              .ledger = state->manifest.ledger,
                              .set_aside_keys_changed = *keys_changed,
                              .resumed = report.resumed,
                              .real_clock = !given.testing.clock,
                              .ends_follow_links = options->testing.ends_follow_links});
  if (auto restored = frontier->restore(); !restored) return tl::unexpected(restored.error());
  if (options->revive_hosts) {
    const auto revived = frontier->revive_hosts();
    if (!revived) return tl::unexpected(revived.error());
    report.hosts_revived = *revived;
  }
  if (report_out != nullptr) *report_out = std::move(report);
  return frontier;
}

}  // namespace trawl
