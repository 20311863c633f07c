#include "crawler/state/output_guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "base/file_io.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/output/output.h"
#include "crawler/warc/warc_names.h"

namespace trawl {

namespace {

namespace fs = std::filesystem;

bool is_line_file(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kNames = {"pages.jsonl", "links.jsonl",
                                                             "skipped.jsonl"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_lock(std::string_view name) {
  return name.starts_with('.') && name.ends_with(".lock");
}

bool is_locked(const fs::path& file) {
  const FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace

Result<void> check_output_is_free(const CrawlConfig& config) {
  const fs::path directory = output_directory(config);
  const auto used = Output::probe(config, directory);
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
  std::error_code failure;
  for (fs::directory_iterator it(directory, failure), end; !failure && it != end;
       it.increment(failure)) {
    const std::string name = it->path().filename().string();
    if ((is_line_file(name) || is_lock(name)) && is_locked(it->path())) {
      return error(
          ErrorCode::kInUse,
          fmt::format("another crawl is writing to {}: stop it, or set another output.directory",
                      directory.string()));
    }
  }
  return {};
}

bool is_output_name(std::string_view name, std::string_view warc_prefix) {
  return is_line_file(name) || is_warc_name(name, warc_prefix);
}

}  // namespace trawl
