#include "crawler/pages_writer.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {

namespace {

// RFC 3339 in UTC with milliseconds.
std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto ms = whole.time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), ms);
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

// Where the last whole line ends.
Result<std::uint64_t> end_of_whole_lines(int fd, std::uint64_t size, const std::string& path) {
  char block[64 * 1024];
  for (std::uint64_t end = size; end > 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, sizeof block);
    const ssize_t n = ::pread(fd, block, end - begin, static_cast<off_t>(begin));
    if (n != static_cast<ssize_t>(end - begin)) {
      return tl::unexpected(system_error(n < 0 ? errno : EIO, "cannot read " + path));
    }
    const std::string_view bytes(block, end - begin);
    if (const auto newline = bytes.rfind('\n'); newline != std::string_view::npos) {
      return begin + newline + 1;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

std::string to_json_line(const Completion& completion, const PageRecord& page) {
  const nlohmann::ordered_json line = {
      {"url", completion.lease.url},
      {"status", completion.outcome.status},
      {"error", text_or_null(completion.outcome.error)},
      {"redirect", text_or_null(page.redirect)},
      {"content_type", text_or_null(page.content_type)},
      {"bytes", page.bytes},
      {"depth", completion.lease.depth},
      {"parent", text_or_null(completion.lease.parent)},
      {"links", page.links},
      {"new_links", completion.new_links},
      {"fetched_at", timestamp(page.fetched_at)},
      {"elapsed_ms", page.elapsed.count()},
  };
  // Header values may be any bytes: what is not UTF-8 is replaced.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<PagesWriter> PagesWriter::open(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot create the directory " + directory.string()));
  }
  const std::string path = (directory / "pages.jsonl").string();
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  struct stat status {};
  if (fd.get() < 0 || ::fstat(fd.get(), &status) != 0) {
    return tl::unexpected(system_error(errno, "cannot open " + path));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kInUse, path +
                                       " is being written by another crawl: choose another "
                                       "output.directory");
  }
  const auto end = end_of_whole_lines(fd.get(), static_cast<std::uint64_t>(status.st_size), path);
  if (!end) return tl::unexpected(end.error());
  if (::ftruncate(fd.get(), static_cast<off_t>(*end)) != 0) {
    return tl::unexpected(system_error(errno, "cannot cut the half line at the end of " + path));
  }
  return PagesWriter(std::move(fd), path, *end);
}

Result<void> PagesWriter::append(std::span<const Completion> completions) {
  std::string lines;
  for (const Completion& completion : completions) {
    if (const auto* page = static_cast<const PageRecord*>(completion.outcome.context.get())) {
      lines += to_json_line(completion, *page);
    }
  }
  const auto written = write_all(fd_.get(), lines, path_);
  if (!written) {
    // The part that was written would otherwise be glued to the next line.
    [[maybe_unused]] const int cut = ::ftruncate(fd_.get(), static_cast<off_t>(size_));
    return written;
  }
  size_ += lines.size();
  return {};
}

}  // namespace trawl
