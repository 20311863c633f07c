// PagesWriter: pages.jsonl, one line for each finished fetch.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "trawl/frontier.h"
#include "trawl/result.h"

#include "filter/file_io.h"

namespace trawl {

// What a line tells beyond what the frontier knows; the `context` of an Outcome.
struct PageRecord {
  std::string redirect;  // where a redirect led; empty: it was none
  std::string content_type;
  std::uint64_t bytes = 0;                           // of the body, decompressed
  std::uint64_t links = 0;                           // found on the page, in scope or not
  std::chrono::system_clock::time_point fetched_at;  // when the URL's turn came
  std::chrono::milliseconds elapsed{0};
};

// The line of a completion, with its newline.
std::string to_json_line(const Completion& completion, const PageRecord& page);

// Used by one thread at a time.
class PagesWriter {
 public:
  // Opens `directory`/pages.jsonl for appending, creating both if missing, and cuts a half line
  // that a crash left at its end. Errors: kInUse if another process writes to it.
  static Result<PagesWriter> open(const std::filesystem::path& directory);

  // Appends the lines of the completions that have a PageRecord. If that fails, none of them is
  // left in the file.
  Result<void> append(std::span<const Completion> completions);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  PagesWriter(FileDescriptor fd, std::string path, std::uint64_t size)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}
  FileDescriptor fd_;
  std::string path_;
  std::uint64_t size_;
};

}  // namespace trawl
