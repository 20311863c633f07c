// KnownBodies: the bodies that earlier crawls have kept, by the indexes of their WARC files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/output/content_index.h"

namespace trawl {

// Only find() is thread-safe. Kept in a directory, so that each index is read once.
class KnownBodies {
 public:
  // Reads the CDXJ files that `patterns` name ("old/*.cdxj", '*' and '?' in the last part) unless
  // that was done before and they have not changed. If one of those read before has changed or is
  // not named any more, all are read again, and what only that one had is gone. Errors:
  // kInvalidArgument if a pattern names no file or a file is not such an index, which the message
  // says; those of reading, and of ContentIndex::open().
  static Result<std::unique_ptr<KnownBodies>> open(const std::filesystem::path& directory,
                                                   const std::vector<std::string>& patterns);

  // By output.known, with a line in the log. Null if it names none, or if `archives` is false: the
  // crawl keeps no records. Then nothing stays of those that were named before.
  static Result<std::unique_ptr<KnownBodies>> open(const CrawlConfig& config, bool archives);
  // Removes the directory, if there is one.
  static Result<void> forget(const std::filesystem::path& directory);

  // The list of the indexes that were read, in the directory.
  static std::filesystem::path list_path(const std::filesystem::path& directory) {
    return directory / "FILES";
  }

  // Which response record has the body, with its WARC-Date, if any. `digest`: "sha1:...".
  Result<std::optional<FirstCopy>> find(std::string_view digest) const;

  std::uint64_t bodies() const { return index_->bodies(); }
  std::uint64_t damaged_lines() const { return damaged_; }  // of the files read now

 private:
  explicit KnownBodies(std::unique_ptr<ContentIndex> index) : index_(std::move(index)) {}
  Result<void> read(const std::filesystem::path& file);

  std::unique_ptr<ContentIndex> index_;
  std::uint64_t damaged_ = 0;
};

}  // namespace trawl
