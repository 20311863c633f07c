// Output: everything a crawl writes for its user, as the fetcher threads see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/output/content_index.h"
#include "crawler/output/output_sinks.h"
#include "crawler/output/page_output.h"
#include "crawler/output/tally_sink.h"

namespace trawl {

// A queue in front of the sinks, first in, first out. While the disk is quick, the fetcher threads
// write what is queued: see write_due(). A slow disk gets a thread of its own, the writer.
// submit() never waits; what bounds the queue are the charges on fetch.max_memory that pages come
// with. They are released when the page is written, and a fetch needs one to begin. So a slow disk
// slows the crawl down.
//
// Everything that is queued is written as one group (see OutputSinks). Then the callbacks of its
// pages end their leases (N3). So a crash leaves records or lines of pages that are fetched again,
// but never a line without its record.
//
// After an error (kNoSpace: the disk is full) nothing more is written, no more callbacks are
// called, and all later calls return the error. The files end with a whole record or line.
//
// Thread-safe, except for close() and destruction.
class Output {
 public:
  // Creates `directory` if it is missing, and repairs what a crash left half-written. The index of
  // bodies is `state_dir`/content. `sync`: what is written survives a power loss. Errors: kInUse if
  // another process writes there. `tally` gets what is written to pages.jsonl.
  static Result<std::unique_ptr<Output>> open(const CrawlConfig& config,
                                              const std::filesystem::path& directory,
                                              const std::filesystem::path& state_dir, bool sync,
                                              std::span<const SinkKind> kinds = built_in_sinks(),
                                              TallyTarget tally = {});
  // Whether `directory` holds output of a crawl. Checks that open() could create it and write to
  // it, so that a mistake is found before a crawl begins; changes nothing. Errors: as open().
  static Result<bool> probe(const CrawlConfig& config, const std::filesystem::path& directory,
                            std::span<const SinkKind> kinds = built_in_sinks());
  // Repairs and closes the files of records that a crawl with `config` left open. For files that
  // open() does not look for because the config has changed. Returns lines for the log.
  static Result<std::vector<std::string>> repair_records(const CrawlConfig& config,
                                                         const std::filesystem::path& directory);

  // Without close(): leaves what a crash at this moment would leave.
  virtual ~Output() = default;

  // For what a fetcher thread adds to a page before submit(): the const functions.
  virtual const OutputSinks& sinks() const noexcept = 0;
  // Whether anything is written for a page. If not, submit() is unnecessary.
  bool keeps(const PageOutput& page) const noexcept { return sinks().keeps(page); }
  // Queues what a page leaves. Calls `written` when it is in the files, on the thread that wrote
  // it; the callback must not call the output. Never blocks. Without a callback (for records of
  // robots.txt, for example) nothing waits for the page, and it is written but made durable only
  // with the next one.
  virtual void submit(std::shared_ptr<PageOutput> page, std::function<void()> written) = 0;

  // Writes what is queued if the oldest page has waited kMaxDelay, or in any case if `now`: on this
  // thread if that is likely to be quick and no other thread writes, else the writer does.
  // To be called from time to time by threads that submit.
  static constexpr std::chrono::milliseconds kMaxDelay{1};
  virtual void write_due(bool now) = 0;
  // Returns when everything submitted before is written and the callbacks have returned.
  virtual Result<void> flush() = 0;

  // The URL that had this body first, and the record that has it. Pages that were submitted but not
  // written yet may be missing here, but not when they are written.
  virtual std::optional<FirstCopy> find_body(std::string_view digest) const = 0;

  // Memory of the pages that wait to be written.
  virtual std::uint64_t queued_bytes() const = 0;
  // The first error, if there was one: a reason to stop fetching.
  virtual std::optional<Error> failure() const = 0;
  // What open() repaired, for the log.
  const std::vector<std::string>& repairs() const noexcept { return sinks().repairs(); }
  // "output/pages.jsonl", whether it is written or not.
  const std::string& pages_path() const noexcept { return sinks().pages_path(); }

  // Writes what is queued, closes all files, returns the first error there ever was. Later calls
  // return kClosed. No other call may run at the same time.
  virtual Result<void> close() = 0;
};

}  // namespace trawl
