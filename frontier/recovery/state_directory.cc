#include "frontier/recovery/state_directory.h"

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "base/file_io.h"
#include "frontier/recovery/checkpointer.h"
#include "frontier/store/database_directory.h"

namespace trawl {

namespace {

// What the manifest is called while the crawl is being removed. A crash in between leaves this,
// and whoever opens or removes the directory next finishes the removal.
std::filesystem::path removed_manifest(const std::filesystem::path& directory) {
  return directory / "MANIFEST.removed";
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

tl::unexpected<Error> os_error(const std::error_code& error, std::string_view doing,
                               const std::filesystem::path& path) {
  return tl::unexpected(system_error(error.value(), fmt::format("{} {}", doing, path.string())));
}

Result<void> make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return os_error(error, "cannot create the directory", directory);
  return {};
}

// With the directory locked.
Result<void> finish_removal(const std::filesystem::path& directory) {
  Checkpointer::remove_strays(directory, Manifest{});
  // What others put beside the database's files stays.
  if (auto removed = remove_database(store_path(directory)); !removed)
    return tl::unexpected(removed.error());
  std::error_code error;
  std::filesystem::remove(removed_manifest(directory), error);
  if (error) return os_error(error, "cannot remove", removed_manifest(directory));
  return sync_directory(directory.string());
}

Result<Manifest> existing_manifest(const Manifest& manifest, const EmbeddedOptions& options) {
  const std::string directory = options.directory.string();
  if (options.mode == OpenMode::kCreate) {
    return error(ErrorCode::kAlreadyExists, directory + " holds a crawl already");
  }
  if (manifest.profile != options.seen.profile.name() && !options.seen.replace_profile) {
    return error(
        ErrorCode::kProfileMismatch,
        fmt::format("{} was made with other rules for canonical keys, so that its record of "
                    "the URLs seen does not fit these:\n{}",
                    directory, profile_changes(manifest.profile, options.seen.profile)));
  }
  if (options.seen.mode == FilterMode::kExact && !manifest.ledger) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} was begun without a ledger, which alone could tell a \"seen\" that "
                    "is false: go on with FilterMode::kBloom, or begin a new crawl with "
                    "FilterMode::kExact",
                    directory));
  }
  if (!holds_store(options.directory)) {
    return error(
        ErrorCode::kCorrupt,
        fmt::format(
            "{} holds a MANIFEST, but its store/ is missing, empty or unfinished: restore it "
            "from a backup, or start over",
            directory));
  }
  Manifest current = manifest;
  current.profile = options.seen.profile.name();
  return current;
}

Result<Manifest> new_manifest(const EmbeddedOptions& options) {
  if (options.mode == OpenMode::kResume) {
    return error(
        ErrorCode::kNotFound,
        fmt::format("{} holds no crawl{}", options.directory.string(),
                    holds_store(options.directory) ? ": there is a store/, but no MANIFEST" : ""));
  }
  Manifest manifest;
  manifest.hash_key = (options.testing.hash ? *options.testing.hash : KeyedHash::random()).key();
  manifest.ledger = options.seen.ledger || options.seen.mode == FilterMode::kExact;
  manifest.profile = options.seen.profile.name();
  return manifest;
}

}  // namespace

std::filesystem::path store_path(const std::filesystem::path& directory) {
  return directory / "store";
}

bool holds_store(const std::filesystem::path& directory) {
  return holds_database(store_path(directory));
}

Result<StateDirectory> open_state_directory(const EmbeddedOptions& options) {
  const std::filesystem::path& directory = options.directory;
  if (options.mode == OpenMode::kResume && !is_there(directory)) {
    return error(ErrorCode::kNotFound, directory.string() + " does not exist");
  }
  if (auto made = make_directory(directory); !made) return tl::unexpected(made.error());
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  if (is_there(removed_manifest(directory))) {
    if (auto removed = finish_removal(directory); !removed) return tl::unexpected(removed.error());
  }
  const auto found = Manifest::read(directory);
  if (!found) return tl::unexpected(found.error());
  const bool resumed = found->has_value();
  auto manifest = resumed ? existing_manifest(**found, options) : new_manifest(options);
  if (!manifest) return tl::unexpected(manifest.error());
  const bool replaced = resumed && manifest->profile != (*found)->profile;
  // A manifest that was put back from a backup does not know which numbers were used since.
  const std::uint64_t unused = resumed ? Checkpointer::first_unused_number(directory) : 0;
  const bool renumbered = unused > manifest->next_checkpoint;
  if (renumbered) manifest->next_checkpoint = unused;
  if (replaced || renumbered) {
    // At once: a crash must not bring the old rules back after keys of the new ones were admitted.
    if (auto published = manifest->publish(directory); !published)
      return tl::unexpected(published.error());
  }
  const bool ledger = manifest->ledger;
  return StateDirectory{.lock = std::move(*lock),
                        .manifest = std::move(*manifest),
                        .resumed = resumed,
                        .ledger = ledger,
                        .profile_replaced = replaced};
}

Error lost_manifest(const std::filesystem::path& directory) {
  return {ErrorCode::kCorrupt,
          fmt::format("{} holds a store with URLs but no MANIFEST, and with it the key is lost by "
                      "which they are known again: restore the file from a backup, or dump the "
                      "queue with `trawl frontier dump` and load it into a new one",
                      directory.string())};
}

Result<void> publish_new_crawl(const Manifest& manifest, std::uint64_t admitted,
                               const std::filesystem::path& directory) {
  if (admitted > 0) {
    return tl::unexpected(lost_manifest(directory));
  }
  return manifest.publish(directory).and_then(
      [&] { return sync_directory(directory.parent_path().string()); });
}

Result<void> remove_state_directory(const std::filesystem::path& directory) {
  const auto manifest = Manifest::path_in(directory);
  const auto removed = removed_manifest(directory);
  // Without a manifest there is no crawl of ours, whatever else is there.
  bool holds_crawl = false;
  for (const auto& path : {manifest, removed}) {
    std::error_code error;
    holds_crawl |= std::filesystem::exists(path, error);
    if (error) return os_error(error, "cannot look for", path);
  }
  if (!holds_crawl) return {};
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  if (is_there(manifest)) {
    if (auto renamed = publish_file(manifest.string(), removed.string()); !renamed) return renamed;
  }
  if (auto finished = finish_removal(directory); !finished) return finished;
  std::error_code error;
  std::filesystem::remove(directory / "LOCK", error);
  if (error) return os_error(error, "cannot remove", directory / "LOCK");
  return {};
}

}  // namespace trawl
