#include "crawler/cli/filter_report.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trawl/sizing.h"

#include "crawler/cli/filter_values.h"
#include "crawler/cli/say.h"
#include "filter/exact/exact_keys_format.h"

namespace trawl::cli {

Result<void> check_filter_output(const std::string& path, bool force) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) {
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("cannot write {}: it is not a regular file", path));
    }
    if (!force) {
      return error(ErrorCode::kAlreadyExists,
                   fmt::format("{} exists: give --force to replace it, or another --output", path));
    }
  }
  // The keys cannot be made again without the lines.
  for (const std::string& keys : {exact_keys_path(path), coming_exact_keys_path(path)}) {
    if (force || !is_exact_keys_file(keys)) continue;
    return error(ErrorCode::kAlreadyExists,
                 fmt::format("{} has the keys of a filter that is no longer here: move the file to "
                             "that filter, or give --force to delete it",
                             keys));
  }
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return tl::unexpected<Error>(
        system_error(errno, fmt::format("cannot write {} into {}", path, directory)));
  }
  return {};
}

Result<void> check_exact_output(const std::string& filter, bool force) {
  std::error_code failure;
  for (const std::string& path : {exact_keys_path(filter), coming_exact_keys_path(filter)}) {
    if (!std::filesystem::exists(path, failure) || is_exact_keys_file(path)) continue;
    return error(ErrorCode::kAlreadyExists,
                 fmt::format("the filter's keys would be written to {}, which is another file: "
                             "move that file away, or give another --output",
                             path));
  }
  return check_filter_output(exact_keys_path(filter), force);
}

Result<void> remove_stale_keys(const std::string& filter, bool quiet) {
  for (const std::string& path : {exact_keys_path(filter), coming_exact_keys_path(filter)}) {
    if (!is_exact_keys_file(path)) continue;
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) return tl::unexpected<Error>(system_error(error.value(), "cannot remove " + path));
    if (!quiet) say(stderr, "removed {}, the keys of the replaced filter\n", path);
  }
  return {};
}

std::string filter_summary(const FilterStats& stats, std::uint64_t file_bytes) {
  return fmt::format("{} keys, {}, false-positive rate now {:.2g}", stats.inserted,
                     readable_bytes(file_bytes), stats.current_rate);
}

void warn_if_overfull(const std::string& path, const FilterStats& stats) {
  if (!stats.overfull()) return;
  say(stderr,
      "trawl: warning: {} is overfull: it has {} keys and was planned for {}, so its "
      "false-positive rate is {:.2g} instead of {:.2g}; build it again with a --capacity of at "
      "least {:.0f}\n",
      path, stats.inserted, stats.capacity, stats.current_rate, stats.target_rate,
      static_cast<double>(stats.inserted) + stats.expected_false_positives);
}

std::string capacity_advice(const FilterStats& stats, std::string_view option) {
  const auto better = better_capacity(stats);
  if (!better) return "";
  const auto right = filter_size(FilterKind::kGrowing,
                                 {.capacity = *better, .false_positive_rate = stats.target_rate});
  if (!right) return "";
  std::string text =
      fmt::format("{} {} would have taken {} of memory instead of {}", option, *better,
                  readable_bytes(right->memory_bytes()), readable_bytes(stats.memory_bytes));
  if (stats.layers > 1)
    text += fmt::format(", and for each new key 1 cache miss instead of {}", stats.layers);
  return text;
}

}  // namespace trawl::cli
