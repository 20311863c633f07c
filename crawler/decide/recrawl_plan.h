// RecrawlPlan: schedules recrawls of pages that were fetched before [recrawl] was set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/frontier.h"
#include "trawl/result.h"

#include "base/file_io.h"
#include "base/file_line_reader.h"
#include "base/one_thread.h"
#include "crawler/decide/recrawl_policy.h"
#include "crawler/decide/url_note.h"

namespace trawl {

struct PlannedRecrawl {
  std::string url;
  std::string parent;  // empty for a seed
  std::uint32_t depth = 0;
  UrlNote note;
  SystemTime not_before;
};

// Reads pages.jsonl from where it stopped the last time, which is stored in a small file of the
// state directory. Uses constant memory, so a page with two lines (a crash caused a second fetch)
// is planned once if the lines are near each other, but may be planned twice if many thousand lines
// are between them. Used in each run, after the output is opened and before anything is fetched:
// open(); then next(), offer its pages, commit(), until next() returns none. Pages not committed
// before a crash are planned again. Not thread-safe.
class RecrawlPlan {
 public:
  // `pages`: the crawl's pages.jsonl, which need not exist. If the policy has no recrawls, next()
  // returns none, and pages of this run are planned by the first run that has recrawls. Errors:
  // kCorrupt for the small file, kIo.
  static Result<RecrawlPlan> open(const std::filesystem::path& state_dir,
                                  const std::filesystem::path& pages, const RecrawlPolicy& policy);

  // The small file, which --fresh deletes.
  static std::filesystem::path marker_path(const std::filesystem::path& state_dir) {
    return state_dir / "recrawl-plan";
  }

  // The next pages, at most `limit`; none at the end. Returns pages that were fetched successfully
  // or redirected, and for which the policy has an interval.
  Result<std::vector<PlannedRecrawl>> next(std::size_t limit);
  // Records that the pages of next() were offered.
  Result<void> commit();

  std::uint64_t planned() const { return planned_; }
  std::uint64_t damaged_lines() const { return damaged_lines_; }  // lines that could not be read

 private:
  // In pages.jsonl, lines before `next` are done, lines up to `end` are to be planned, and later
  // lines need no plan if `recrawling`.
  struct Range {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    bool recrawling = false;

    void begin(bool recrawls, std::uint64_t size);
    // Whether the line between these offsets is to be planned.
    bool has(std::uint64_t from, std::uint64_t to) const {
      return recrawling && from >= next && to <= end;
    }
  };
  // Pages and redirects have separate intervals, which may be set in different runs.
  struct Marker {
    Range pages;
    Range redirects;
  };

  RecrawlPlan(const RecrawlPolicy& policy, std::string marker_file, std::string pages_file);

  Result<bool> read_marker();  // false: no marker file
  Result<void> write_marker() const;
  Result<void> begin(std::uint64_t size);
  // `from`: offset of the line in pages.jsonl.
  void take_line(std::string_view line, std::uint64_t from, std::vector<PlannedRecrawl>& into);
  bool was_near(std::string_view url);

  RecrawlPolicy policy_;
  std::string marker_file_;
  std::string pages_file_;
  OneAtATime using_;
  SystemTime now_;
  std::unique_ptr<InputFile> pages_;     // its address stays valid when this object is moved
  std::optional<FileLineReader> lines_;  // the part of pages_ to be planned
  Marker marker_;
  std::uint64_t end_ = 0;  // end of the part to read
  bool all_read_ = false;
  bool uncommitted_ = false;  // next() returned pages since the last commit()
  KeyedHash hash_;
  std::vector<std::uint64_t> near_;  // hashes of recently planned URLs, indexed by hash
  std::uint64_t planned_ = 0;
  std::uint64_t damaged_lines_ = 0;
};

// Schedules URLs that failed before recrawl.failed was set, counting from the time of the failure.
// They are no longer set aside afterwards, so each is planned once. URLs that crashed the crawl
// stay set aside. Returns how many. Errors: those of the frontier.
Result<std::uint64_t> plan_failed_urls(Frontier& frontier, const RecrawlPolicy& policy);

}  // namespace trawl
