#include "frontier/recovery/state_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/database_state.h"
#include "base/directory_entries.h"
#include "base/file_io.h"
#include "base/text_file.h"
#include "frontier/recovery/checkpointer.h"

namespace trawl {

namespace {

constexpr const char* kLock = "LOCK";
constexpr const char* kManifest = "MANIFEST";
// The name of the manifest while the crawl is being removed. If a crash leaves it, the next call
// that opens or removes the directory finishes the removal.
constexpr const char* kRemovedManifest = "MANIFEST.removed";
constexpr const char* kStore = "store";

std::filesystem::path removed_manifest(const std::filesystem::path& directory) {
  return directory / kRemovedManifest;
}

// A lock file is empty or has the digits of a process id.
bool is_lock_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::regular)
    return false;
  const auto text = read_text_file(path, 64);
  return text && std::ranges::all_of(*text, [](char c) { return c >= '0' && c <= '9'; });
}

// A store next to a lock file: of a frontier whose creation was interrupted, or which has lost its
// manifest.
bool has_remains(const std::filesystem::path& directory) {
  return is_lock_file(directory / kLock) && holds_any_database(store_path(directory));
}

// "MANIFEST, 2 checkpoints, store"
std::string description_of(const std::filesystem::path& directory, bool has_manifest) {
  std::vector<std::string> names;
  if (has_manifest) names.emplace_back(kManifest);
  int checkpoints = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    checkpoints += name.starts_with("filter-") && name.ends_with(".ckpt") ? 1 : 0;
  }
  if (checkpoints > 0)
    names.push_back(fmt::format("{} checkpoint{}", checkpoints, checkpoints == 1 ? "" : "s"));
  if (is_entry(directory / kStore)) names.emplace_back(kStore);
  return fmt::format("{}", fmt::join(names, ", "));
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

// Keeps files that are not the database's, and returns the directories that hold them.
Result<std::vector<std::filesystem::path>> remove_store(const std::filesystem::path& directory) {
  const auto stays = remove_database(store_path(directory));
  if (!stays) return tl::unexpected(stays.error());
  std::vector<std::filesystem::path> left;
  if (*stays) left.push_back(store_path(directory));
  return left;
}

// Requires the directory lock.
Result<std::vector<std::filesystem::path>> finish_removal(const std::filesystem::path& directory) {
  Checkpointer::remove_strays(directory, Manifest{});
  auto left = remove_store(directory);
  if (!left) return left;
  std::error_code error;
  std::filesystem::remove(removed_manifest(directory), error);
  if (error) return os_error(error, "cannot remove", removed_manifest(directory));
  if (auto synced = sync_directory(directory.string()); !synced)
    return tl::unexpected(synced.error());
  return left;
}

Result<Manifest> existing_manifest(const Manifest& manifest, const EmbeddedOptions& options) {
  const std::string directory = options.directory.string();
  if (options.mode == OpenMode::kCreate) {
    return error(ErrorCode::kAlreadyExists, directory + " already holds a crawl");
  }
  if (manifest.profile != options.seen.profile.name() && !options.seen.replace_profile) {
    return error(
        ErrorCode::kProfileMismatch,
        fmt::format("{} was crawled with other rules for canonical keys, so its URLs seen do not "
                    "match the new rules:\n{}",
                    directory, profile_changes(manifest.profile, options.seen.profile)));
  }
  if (options.seen.mode == FilterMode::kExact && !manifest.ledger) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} was begun without a ledger, which exact mode needs: continue in bloom mode "
                    "(filter.mode = \"bloom\" in a config), or begin a new crawl in "
                    "exact mode",
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
  if (current.expected_urls == 0) {
    current.expected_urls = options.seen.expected_urls;
    current.false_positive_rate = options.seen.false_positive_rate;
  }
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
  manifest.expected_urls = options.seen.expected_urls;
  manifest.false_positive_rate = options.seen.false_positive_rate;
  return manifest;
}

}  // namespace

std::filesystem::path store_path(const std::filesystem::path& directory) {
  return directory / kStore;
}

bool holds_store(const std::filesystem::path& directory) {
  return holds_database(store_path(directory));
}

Result<FrontierDirectory> inspect_state_directory(const std::filesystem::path& directory) {
  if (auto own = refuse_links(directory, {kLock, kManifest, kRemovedManifest, kStore}); !own)
    return tl::unexpected(own.error());
  FrontierDirectory found;
  std::error_code error;
  const auto manifest_file = std::filesystem::symlink_status(Manifest::path_in(directory), error);
  found.resumable = std::filesystem::exists(manifest_file);
  if (error && manifest_file.type() != std::filesystem::file_type::not_found)
    return os_error(error, "cannot look for", Manifest::path_in(directory));
  found.holds_one =
      Manifest::is_at(Manifest::path_in(directory)) || Manifest::is_at(removed_manifest(directory));
  found.has_remains = has_remains(directory);
  if (const auto manifest = Manifest::read(directory); manifest && *manifest)
    found.ledger = (*manifest)->ledger;
  const bool locked = is_lock_file(directory / kLock);
  if (locked) found.names.emplace_back(kLock);
  if (found.holds_one || found.has_remains || (locked && is_empty_directory(store_path(directory))))
    found.names.emplace_back(kStore);
  found.description = description_of(directory, found.resumable);
  return found;
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
    if (auto left = finish_removal(directory); !left) return tl::unexpected(left.error());
  }
  const auto found = Manifest::read(directory);
  if (!found) return tl::unexpected(found.error());
  const bool resumed = found->has_value();
  auto manifest = resumed ? existing_manifest(**found, options) : new_manifest(options);
  if (!manifest) return tl::unexpected(manifest.error());
  const bool replaced = resumed && manifest->profile != (*found)->profile;
  // A manifest restored from a backup may not know the numbers used since.
  const std::uint64_t unused = resumed ? Checkpointer::first_unused_number(directory) : 0;
  const bool renumbered = unused > manifest->next_checkpoint;
  if (renumbered) manifest->next_checkpoint = unused;
  if (replaced || renumbered) {
    // Published now: a crash must not restore the old rules after keys of the new rules were
    // admitted.
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
          fmt::format("{} holds a store with URLs but no MANIFEST, which holds the key of the "
                      "fingerprints: restore the file from a backup, or dump the "
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

Result<std::vector<std::filesystem::path>> remove_state_directory(
    const std::filesystem::path& directory, bool remains) {
  const auto manifest = Manifest::path_in(directory);
  const auto removed = removed_manifest(directory);
  // Without a manifest the directory holds no crawl.
  bool holds_crawl = false;
  for (const auto& path : {manifest, removed}) {
    std::error_code error;
    holds_crawl |= std::filesystem::exists(path, error);
    if (error) return os_error(error, "cannot look for", path);
  }
  // The lock file is removed last, so it identifies the remains even if the store's CURRENT file is
  // gone.
  const bool holds_remains =
      remains && is_lock_file(directory / kLock) && is_entry(store_path(directory));
  if (!holds_crawl && !holds_remains) return std::vector<std::filesystem::path>();
  auto lock = DirectoryLock::acquire(directory);
  if (!lock) return tl::unexpected(lock.error());
  if (!holds_crawl) return remove_store(directory);
  if (is_there(manifest)) {
    if (auto renamed = publish_file(manifest.string(), removed.string()); !renamed)
      return tl::unexpected(renamed.error());
  }
  auto left = finish_removal(directory);
  if (!left) return left;
  std::error_code error;
  std::filesystem::remove(directory / kLock, error);
  if (error) return os_error(error, "cannot remove", directory / kLock);
  return left;
}

}  // namespace trawl
