#include "crawler/state/output_checks.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "base/file_io.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/output/output.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

bool is_lock(std::string_view name) {
  return name.starts_with('.') && name.ends_with(".lock");
}

bool is_locked(const fs::path& file) {
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<void> check_output_is_free(const CrawlConfig& config, std::span<const SinkKind> sinks) {
  const fs::path directory = output_directory(config);
  const auto used = Output::probe(config, directory, sinks);
  if (!used) return tl::unexpected(used.error());
  if (!*used) return {};
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "{} holds pages of another crawl: set another output.directory, or move the files away",
          directory.string()));
}

bool holds_output(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "lost+found" || is_lock(name)) continue;
    std::error_code ignored;
    const bool is_empty_file =
        it->symlink_status(ignored).type() == fs::file_type::regular && it->file_size(ignored) == 0;
    if (!is_empty_file) return true;
  }
  return false;
}

Result<void> check_nobody_writes(const fs::path& directory) {
  const CrawlConfig any;  // files with names that a config chooses have other locks
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    const std::string name = it->path().filename().string();
    if ((is_output_name(name, any) || is_lock(name)) && is_locked(it->path())) {
      return error(ErrorCode::kInUse, fmt::format("another crawl writes to {}: stop it, or choose "
                                                  "another output.directory",
                                                  directory.string()));
    }
  }
  return {};
}

bool is_output_name(std::string_view name, const CrawlConfig& config) {
  return std::ranges::any_of(built_in_sinks(),
                             [&](const SinkKind& kind) { return kind.owns(name, config); });
}

}  // namespace trawl
