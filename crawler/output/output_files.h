// OutputFiles: the files of a crawl's output and the order in which they are written.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "base/one_thread.h"
#include "crawler/config/config.h"
#include "crawler/output/content_index.h"
#include "crawler/output/line_file.h"
#include "crawler/output/page_output.h"
#include "crawler/warc/warc_files.h"

namespace trawl {

// Not thread-safe, except for const functions. After an error nothing more is to be written.
class OutputFiles {
 public:
  // See Output::open().
  static Result<OutputFiles> open(const CrawlConfig& config, const std::filesystem::path& directory,
                                  const std::filesystem::path& state_dir, bool sync);
  // See Output::probe().
  static Result<bool> probe(const CrawlConfig& config, const std::filesystem::path& directory);
  static Result<std::vector<std::string>> repair_warc_files(const CrawlConfig& config,
                                                            const std::filesystem::path& directory);

  // Appends the records of a page, and notes in page.written what became of it.
  Result<void> write_page(PageOutput& page);
  Result<void> write_records(const WarcRecords& records);
  // Ends a group of pages whose records were written: these are flushed, then the claims are made,
  // then the lines written; on an error the lines are taken back. Frees the lines.
  Result<void> finish(std::span<PageOutput* const> pages);
  // Whether a page leaves anything in these files.
  bool keeps(const PageOutput& page) const noexcept;
  // What is to be done from time to time if nothing is written.
  Result<void> tick();
  // Closes all of them; nothing is to be written any more. After an error claims are not kept:
  // their records may be missing.
  Result<void> close(bool keep_claims);

  const ContentIndex* index() const noexcept { return index_.get(); }  // null when closed
  const std::string& pages_path() const noexcept { return pages_path_; }
  const std::vector<std::string>& repairs() const noexcept { return repairs_; }

 private:
  // A file of lines and what is about to be appended to it.
  struct Lines {
    LineFile file;
    std::string buffer = {};
    Result<void> add(std::string_view lines);
    Result<void> flush();
  };

  OutputFiles() = default;
  Result<void> open_lines(std::optional<Lines>& lines, const std::filesystem::path& path);
  Result<void> open_warc(const CrawlConfig& config, const std::filesystem::path& directory);
  // Notes whether the body is a copy; the first of its kind becomes the one that others are copies
  // of.
  Result<void> look_for_copies(PageOutput& page);
  Result<void> write_lines(std::span<PageOutput* const> pages);
  Result<void> add_lines(PageOutput& page);
  Result<void> flush_lines();
  void take_lines_back(const std::array<std::uint64_t, 3>& sizes);
  std::array<std::optional<Lines>*, 3> line_files() { return {&links_, &skipped_, &pages_}; }

  std::string pages_path_;
  bool sync_ = false;
  std::unique_ptr<ContentIndex> index_;
  std::unique_ptr<WarcFiles> warc_;
  std::optional<Lines> links_, skipped_, pages_;  // those that are wanted
  std::vector<std::string> repairs_;
  OneAtATime using_;
};

}  // namespace trawl
