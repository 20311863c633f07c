// RecrawlPlan: the pages of a crawl that were fetched when it was not to fetch pages again, to be
// offered to the frontier again now that it is.
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
#include "base/file_lines.h"
#include "base/one_thread.h"
#include "crawler/decide/recrawl.h"
#include "crawler/decide/url_note.h"

namespace trawl {

struct PlannedRecrawl {
  std::string url;
  std::string parent;  // empty: a seed
  std::uint32_t depth = 0;
  UrlNote note;
  SystemTime not_before;
};

// Reads pages.jsonl from where it stopped the last time, which a small file in the state directory
// says. Takes the same memory for a million pages and a thousand million, so that a page with two
// lines (a crash had it fetched twice) is planned once if they are near each other, but may be
// planned twice if many thousand others are between them.
//
// For each run of a crawl, when its output is open and before anything is fetched: open(); then
// next(), offer what it gave, commit(), until next() gives nothing. What a crash leaves uncommitted
// is planned again. Not thread-safe.
class RecrawlPlan {
 public:
  // `pages` is the crawl's pages.jsonl, which need not exist. If the policy fetches nothing again,
  // next() gives nothing, and what the run fetches is planned for by the first run that does.
  // Errors: kCorrupt for the small file, kIo.
  static Result<RecrawlPlan> open(const std::filesystem::path& state_dir,
                                  const std::filesystem::path& pages, const RecrawlPolicy& policy);

  // The small file: to be deleted when the crawl begins anew.
  static std::filesystem::path marker_path(const std::filesystem::path& state_dir) {
    return state_dir / "recrawl-plan";
  }

  // The next pages, at most `limit`; none at the end. Of pages that were fetched well or
  // redirected, and that the policy has an interval for.
  Result<std::vector<PlannedRecrawl>> next(std::size_t limit);
  // Records that what next() gave was offered.
  Result<void> commit();

  std::uint64_t planned() const { return planned_; }
  std::uint64_t damaged_lines() const { return damaged_lines_; }  // from which no page can be read

 private:
  // The bytes of pages.jsonl below `next` are done with, those up to `end` are to be planned, and
  // those behind it need no plan if `recrawling`.
  struct Range {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    bool recrawling = false;

    void begin(bool recrawls, std::uint64_t size);
    // The line between these offsets is to be planned.
    bool has(std::uint64_t from, std::uint64_t to) const {
      return recrawling && from >= next && to <= end;
    }
  };
  // Each has an interval of its own, which may be given later than the other's.
  struct Marker {
    Range pages;
    Range redirects;
  };

  RecrawlPlan(const RecrawlPolicy& policy, std::string marker_file, std::string pages_file);

  Result<bool> read_marker();  // false: there is none
  Result<void> write_marker() const;
  Result<void> begin(std::uint64_t size);
  // `from`: where in pages.jsonl it begins.
  void take_line(std::string_view line, std::uint64_t from, std::vector<PlannedRecrawl>& into);
  bool was_near(std::string_view url);

  RecrawlPolicy policy_;
  std::string marker_file_;
  std::string pages_file_;
  OneAtATime using_;
  SystemTime now_;
  std::unique_ptr<InputFile> pages_;  // where it is when this is moved
  std::optional<FileLines> lines_;    // of those, what is to be planned
  Marker marker_;
  std::uint64_t end_ = 0;  // of what is to be read
  bool all_read_ = false;
  bool uncommitted_ = false;  // next() gave something since the last commit()
  KeyedHash hash_;
  std::vector<std::uint64_t> near_;  // hashes of the URLs planned last, each at its place
  std::uint64_t planned_ = 0;
  std::uint64_t damaged_lines_ = 0;
};

// Plans URLs that failed before the policy had an interval for such: from when they failed on. They
// are set aside no more, so that each is planned once. Those that the crawl crashed on stay.
// Returns how many. Errors: those of the frontier.
Result<std::uint64_t> plan_failed_urls(Frontier& frontier, const RecrawlPolicy& policy);

}  // namespace trawl
