#include "frontier/recovery/stopped_frontier.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "frontier/recovery/state_directory.h"
#include "frontier/store/memory_plan.h"
#include "frontier/store/rocks_store.h"

namespace trawl {

namespace {

Result<void> check_holds_frontier(const std::filesystem::path& directory) {
  if (holds_store(directory)) return {};
  std::error_code failure;
  const bool manifest = std::filesystem::exists(Manifest::path_in(directory), failure);
  if (failure) {
    return tl::unexpected(
        system_error(failure.value(), "cannot look for a crawl in " + directory.string()));
  }
  if (manifest) {
    return error(ErrorCode::kCorrupt,
                 fmt::format("{} holds a MANIFEST, but its store/ is missing or empty: restore it "
                             "from a backup, or start over",
                             directory.string()));
  }
  return error(ErrorCode::kNotFound, directory.string() + " holds no crawl");
}

template <class Open>
Result<StoppedFrontier> with_store(std::optional<DirectoryLock> lock,
                                   const std::filesystem::path& directory, Open open) {
  StoppedFrontier stopped{std::move(lock), std::nullopt, {}, nullptr};
  if (auto manifest = Manifest::read(directory)) {
    stopped.manifest = std::move(*manifest);
    if (!stopped.manifest) stopped.warnings.push_back(lost_manifest(directory).message);
  } else {
    stopped.warnings.push_back(manifest.error().message);
  }
  auto store =
      open(store_path(directory),
           RocksStore::Options{.sync = false, .memory = MemoryPlan::of(kMinFrontierMemory)});
  if (!store) return tl::unexpected(store.error());
  stopped.store = std::move(*store);
  return stopped;
}

}  // namespace

Result<StoppedFrontier> StoppedFrontier::open(const std::filesystem::path& directory) {
  // Before anything, including the lock file, is created in the directory.
  if (auto holds = check_holds_frontier(directory); !holds) return tl::unexpected(holds.error());
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  // The process that held the lock before may have removed the frontier.
  if (auto holds = check_holds_frontier(directory); !holds) return tl::unexpected(holds.error());
  return with_store(std::move(*lock), directory, RocksStore::open);
}

Result<StoppedFrontier> StoppedFrontier::open_to_read(const std::filesystem::path& directory) {
  if (auto holds = check_holds_frontier(directory); !holds) return tl::unexpected(holds.error());
  auto lock = DirectoryLock::share(directory);
  if (!lock) return tl::unexpected(lock.error());
  if (auto holds = check_holds_frontier(directory); !holds) return tl::unexpected(holds.error());
  return with_store(std::move(*lock), directory, RocksStore::open_to_read);
}

}  // namespace trawl
