// trawl filter add, trawl filter erase
//
// A change replaces the filter's file, so that a crash leaves the old or the new filter. Changes of
// one filter exclude each other by a lock on the file itself, which leaves no lock file behind. A
// command that waited for the lock may hold the lock of a file that was replaced meanwhile; it then
// locks the new file.
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/cli/any_filter.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/filter_pair.h"
#include "crawler/cli/filter_report.h"
#include "crawler/cli/interrupt_cleanup.h"
#include "crawler/cli/line_reader.h"
#include "crawler/cli/say.h"
#include "filter/exact/exact_keys.h"
#include "filter/exact/exact_keys_builder.h"

namespace trawl::cli {

namespace {

constexpr mode_t kPermissions = 07777;

struct LockedFilter {
  InputFile file;
  struct stat status;
};

Result<void> lock(const InputFile& file, bool quiet) {
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) {
    if (!quiet)
      say(stderr, "trawl: waiting for another command that is changing {}\n", file.path());
    int locked = 0;
    do {
      locked = ::flock(file.descriptor(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked == 0) return {};
  }
  return tl::unexpected<Error>(system_error(errno, "cannot lock " + file.path()));
}

Result<LockedFilter> lock_filter(const std::string& path, bool quiet) {
  while (true) {
    auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if (const auto locked = lock(*file, quiet); !locked) return tl::unexpected(locked.error());
    struct stat status;
    if (::fstat(file->descriptor(), &status) != 0)
      return tl::unexpected<Error>(system_error(errno, "cannot read " + path));
    if (file->is_current()) return LockedFilter{std::move(*file), status};
  }
}

struct Change {
  std::uint64_t lines = 0;
  std::uint64_t changed = 0;  // lines added or erased
};

Result<std::size_t> apply(const FilterChangeArguments& arguments, AnyFilter& filter,
                          std::span<const Fingerprint> keys) {
  if (arguments.erase) return filter.erase_batch(keys);
  std::array<bool, LineReader::kMaxLines> admitted;
  auto added = filter.insert_batch(keys, {admitted.data(), keys.size()});
  // A full filter must not exit with kOutOfSpace, which means a lack of memory or disk.
  if (!added && added.error().code == ErrorCode::kNoSpace) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} is full: it has {} keys and was planned for {}; the file is "
                             "unchanged: build it again with a larger --capacity or another --kind",
                             arguments.filter, filter.stats().inserted, filter.stats().capacity));
  }
  return added;
}

Result<Change> change_lines(const FilterChangeArguments& arguments, AnyFilter& filter,
                            std::optional<ExactKeysBuilder>& exact) {
  const KeyedHash hash = filter.hash();
  LineReader reader(arguments.inputs);
  std::array<Fingerprint, LineReader::kMaxLines> keys;
  Change change;
  while (true) {
    const auto lines = reader.next();
    if (!lines) return tl::unexpected(lines.error());
    if (lines->empty()) return change;
    for (std::size_t i = 0; i < lines->size(); ++i)
      keys[i] = hash((*lines)[i]);
    const auto changed = apply(arguments, filter, {keys.data(), lines->size()});
    if (!changed) return tl::unexpected(changed.error());
    if (exact) {
      if (auto added = exact->add({keys.data(), lines->size()}); !added)
        return tl::unexpected(added.error());
    }
    change.lines += lines->size();
    change.changed += *changed;
  }
}

// Copies permissions from the old filter, and the owner if this process may.
Result<void> take_over(const std::string& path, const struct stat& old) {
  mode_t mode = old.st_mode & kPermissions;
  if (::chown(path.c_str(), old.st_uid, old.st_gid) != 0 &&
      ::chown(path.c_str(), static_cast<uid_t>(-1), old.st_gid) != 0)
    mode &= ~static_cast<mode_t>(S_IRWXG);
  if (::chmod(path.c_str(), mode) == 0) return {};
  return tl::unexpected<Error>(system_error(errno, "cannot set the permissions of " + path));
}

// The new files are never readable by other users, since they hold the hash key.
Result<std::uint64_t> replace(const AnyFilter& filter, const std::string& path,
                              const struct stat& old, std::optional<ExactKeysBuilder>& exact) {
  InterruptCleanup guard;
  guard.arm();
  const mode_t before = ::umask(0777 & ~(old.st_mode & S_IRWXU));
  const auto save = [&](const std::string& to) { return filter.save(to); };
  const auto take = [&](const std::string& file) { return take_over(file, old); };
  auto saved =
      exact ? exact->finish().and_then([&] { return save_with_keys(path, save, *exact, take); })
            : save(path);
  ::umask(before);
  if (saved && !exact) {
    if (auto owned = take(path); !owned) return tl::unexpected(owned.error());
  }
  return saved;
}

Result<FilterKind> kind_to_change(const FilterChangeArguments& arguments, const std::string& path) {
  const auto index = read_filter_index(path);
  if (!index) return tl::unexpected(index.error());
  const FilterKind kind = index->header.kind;
  if (!arguments.erase || AnyFilter::can_erase(kind)) return kind;
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "cannot erase keys from {}, a {} filter: only counting and cuckoo filters can erase",
          arguments.filter, name_of(kind)));
}

Result<void> check_inputs(const FilterChangeArguments& arguments) {
  if (auto readable = LineReader::check_inputs(arguments.inputs); !readable) return readable;
  for (const auto& input : arguments.inputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(input, arguments.filter, ignored)) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("{} is both the filter and an input", input));
    }
  }
  return {};
}

tl::unexpected<Error> no_erasing_from(const ExactKeys& keys, const std::string& filter) {
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "cannot erase keys from {}: its exact keys in {} cannot be erased; build the filter "
          "again, or remove that file to use the filter with its false-positive rate",
          filter, keys.path()));
}

// A symbolic link to the filter must not have a keys file: it would stay behind when the filter
// itself is replaced.
Result<void> check_keys_near(const std::string& filter, const std::string& path) {
  std::error_code failure;
  const std::string keys = exact_keys_path(filter);
  if (!std::filesystem::is_symlink(filter, failure) || !is_exact_keys_file(keys) ||
      std::filesystem::equivalent(keys, exact_keys_path(path), failure)) {
    return {};
  }
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{} is a symbolic link, and its keys are in the directory of the link: "
                           "move {} to {}, so that filter and keys can be changed together",
                           filter, keys, exact_keys_path(path)));
}

Result<void> change_filter(const FilterChangeArguments& arguments) {
  if (const auto ready = check_inputs(arguments); !ready) return ready;
  // A symbolic link is followed: the file is replaced, not the link.
  std::error_code error;
  const std::string path = std::filesystem::canonical(arguments.filter, error).string();
  if (error)
    return tl::unexpected<Error>(system_error(error.value(), "cannot read " + arguments.filter));
  if (const auto near = check_keys_near(arguments.filter, path); !near) return near;
  const auto locked = lock_filter(path, arguments.quiet);
  if (!locked) return tl::unexpected(locked.error());
  const auto kind = kind_to_change(arguments, path);
  if (!kind) return tl::unexpected(kind.error());
  if (const auto writable = check_filter_output(path, true); !writable) return writable;
  const auto old_keys = ExactKeys::open_for(path);
  if (!old_keys) return tl::unexpected(old_keys.error());
  if (*old_keys && arguments.erase) return no_erasing_from(**old_keys, arguments.filter);
  if (*old_keys) {
    // Damage must be found now: the merged keys get a new checksum.
    if (auto intact = (*old_keys)->verify(); !intact) return intact;
  }
  auto filter = AnyFilter::load(*kind, path);
  if (!filter) return tl::unexpected(filter.error());
  std::optional<ExactKeysBuilder> exact;
  if (*old_keys) {
    exact.emplace(ExactKeysBuilder::Options{path, filter->hash().key()});
    exact->add_all_of(**old_keys);
  }
  auto change = change_lines(arguments, *filter, exact);
  if (!change) return tl::unexpected(change.error());
  const auto bytes = replace(*filter, path, locked->status, exact);
  if (!bytes) return tl::unexpected(bytes.error());
  if (exact) change->changed = exact->keys() - (*old_keys)->size();
  const FilterStats stats = filter->stats();
  if (!arguments.quiet) {
    say(stderr, "{}: {} lines, {} of them {}; {}\n", arguments.filter, change->lines,
        change->lines - change->changed, arguments.erase ? "not present" : "already present",
        filter_summary(stats, *bytes));
  }
  if (const auto warning = filter->growth_error(); !warning.empty())
    say(stderr, "trawl: warning: {}\n", warning);
  warn_if_overfull(arguments.filter, stats);
  return {};
}

}  // namespace

int run_filter_change(const FilterChangeArguments& arguments) {
  const auto changed = change_filter(arguments);
  return changed ? kDone : report(changed.error());
}

}  // namespace trawl::cli
