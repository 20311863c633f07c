// Output: everything a crawl writes for its user, one thread at a time: WARC files, pages.jsonl,
// links.jsonl, skipped.jsonl.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/config.h"
#include "crawler/output/content_index.h"
#include "crawler/output/page_output.h"

namespace trawl {

// One queue, first come, first written: by the writer thread, or by whoever calls settle(), as long
// as the disk is quick. Nobody who submits ever waits, and yet the queue is bounded: pages come
// with a BodyCharge on fetch.max_memory that is given back only when they are written, and whoever
// fetches must have such a charge first. So a slow disk slows the crawl.
//
// What is queued is written as a group: of its pages the records first, then what they claim in the
// index of bodies, then the lines; with `sync` each is on the disk before the next. Then whoever
// submitted them is told, and ends their leases: a crash leaves records, or lines, of pages that
// are fetched again, and never a line without its record.
//
// After an error nothing more is written, nobody is told of what was not, and all later calls
// return it; the files end with a whole record or line. kNoSpace: the disk is full.
//
// Thread-safe, but for close() and destruction.
class Output {
 public:
  // Creates `directory` if missing; cuts off and repairs what a crash left half-written. The index
  // of bodies is `state_dir`/content. Errors: kInUse if another process writes there.
  static Result<std::unique_ptr<Output>> open(const CrawlConfig& config,
                                              const std::filesystem::path& directory,
                                              const std::filesystem::path& state_dir, bool sync);
  // Whether `directory` holds output of a crawl. Checks that open() could make and write it, so
  // that a mistake is found before a crawl is made; changes nothing. Errors: as open().
  static Result<bool> probe(const CrawlConfig& config, const std::filesystem::path& directory);
  // Repairs and closes the WARC files that a crawl with this config left open; what was done to
  // them, for the log. For files that open() will not look for, as the config is another now.
  static Result<std::vector<std::string>> repair_warc_files(const CrawlConfig& config,
                                                            const std::filesystem::path& directory);

  // Without close(): leaves what a crash at this moment would.
  virtual ~Output() = default;

  // Whether a page leaves anything. If not, there is no need to submit it.
  virtual bool keeps(const PageOutput& page) const = 0;
  // Queues what a page leaves, and calls `written` once it is in the files, on whichever thread
  // wrote it: it must not call the output. Never blocks.
  virtual void submit(std::shared_ptr<PageOutput> page, std::function<void()> written) = 0;
  // Records that belong to no page, such as those of robots.txt. With a charge if they are large.
  virtual void submit_record(WarcRecords records, BodyCharge charge = {}) = 0;

  // What was submitted kPatience ago is to be written, by this thread if that is likely to be
  // quick, and no other is at it. Whoever submits calls this from time to time. `now`: all of it.
  static constexpr std::chrono::milliseconds kPatience{1};
  virtual void settle(bool now) = 0;
  // Returns when all that was submitted before is written, and all who wait for it were told.
  virtual Result<void> flush() = 0;

  // The URL that had this body first, unless it is `url` itself. What was submitted but not written
  // yet is not known here, but it is for the line in pages.jsonl.
  virtual std::optional<FirstCopy> find_duplicate(std::string_view digest,
                                                  std::string_view url) const = 0;

  // Of the pages and records that wait to be written.
  virtual std::uint64_t queued_bytes() const = 0;
  // The first error, if there was one: a reason to stop fetching.
  virtual std::optional<Error> failure() const = 0;
  // What open() repaired or cut, for the log.
  virtual const std::vector<std::string>& repairs() const = 0;
  // "output/pages.jsonl", whether it is written or not.
  virtual const std::string& pages_path() const = 0;

  // Writes what is queued, closes all files, returns the first error there ever was. Later calls
  // return kClosed, and no other thread may be in one now.
  virtual Result<void> close() = 0;
};

}  // namespace trawl
