// PageOutput: all that a finished fetch leaves for the crawl's output.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/lease.h"

#include "crawler/http/body_memory_budget.h"
#include "crawler/warc/warc_builder.h"
#include "crawler/warc/warc_files.h"

namespace trawl {

// What a line of pages.jsonl has beyond the lease and the outcome. Texts may be any bytes; empty
// ones are null in the line.
struct PageRecord {
  std::string redirect;  // the target of a redirect
  std::string content_type;
  std::uint64_t bytes = 0;                           // of the body, decompressed
  std::uint64_t links = 0;                           // found on the page, in scope or not
  std::chrono::system_clock::time_point fetched_at;  // when the URL's turn came
  std::chrono::milliseconds elapsed{0};
  std::string digest;           // of the body: "sha1:..." or "xxh128:..."
  std::string reason;           // to_string(FetchError or SkipReason); empty: success
  std::string truncated;        // to_string(BodyTruncation): why `bytes` are not all of the body
  std::uint64_t new_links = 0;  // of the links, those that the frontier admitted
  std::uint64_t guesses = 0;    // of the links, those of LinkKind::kGuess
  std::string canonical;        // the page's canonical link
  std::string seed_note;        // of the [[seed]] from which it was found; empty: none
  bool noindex = false;         // as the page or its headers ask
  bool nofollow = false;
  bool noarchive = false;
  std::string etag;
  std::string last_modified;
  std::string title;
  std::string language;             // as the page says: "de", "en-GB"
  std::optional<std::string> text;  // none: not asked for
};

// A link of a page. The views are valid during the call that gets them.
struct LinkRecord {
  std::string_view to;    // absolute
  std::string_view kind;  // name of the LinkKind
  std::string_view text;  // of the anchor; empty: null
  std::string_view rel;   // as written; empty: null
};

// A URL that was found but is not fetched. The views are valid during the call that gets them.
struct SkippedRecord {
  std::string_view url;     // or the reference as written, if it is not a URL
  std::string_view reason;  // to_string(SkipReason)
  std::string_view rule;    // the rule that decided; empty: null
};

// What is left of Output::queued_bytes() when a page is written. Not thread-safe.
class QueueShare {
 public:
  QueueShare() = default;
  // Adds `bytes` to `total`, which must outlive it.
  QueueShare(std::atomic<std::uint64_t>& total, std::uint64_t bytes) noexcept
      : total_(&total), bytes_(bytes) {
    total_->fetch_add(bytes_, std::memory_order_relaxed);
  }
  QueueShare(QueueShare&& other) noexcept
      : total_(std::exchange(other.total_, nullptr)), bytes_(other.bytes_) {}
  QueueShare& operator=(QueueShare&& other) noexcept {
    release();
    total_ = std::exchange(other.total_, nullptr);
    bytes_ = other.bytes_;
    return *this;
  }
  ~QueueShare() { release(); }
  void release() noexcept {
    if (total_ != nullptr) total_->fetch_sub(bytes_, std::memory_order_relaxed);
    total_ = nullptr;
  }

 private:
  std::atomic<std::uint64_t>* total_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Made and filled by a fetcher thread, which gives it to Output::submit(). The sinks write it.
struct PageOutput {
  Lease lease;      // whose URL was fetched
  Outcome outcome;  // how the fetch ended
  PageRecord page;
  // False: no line in pages.jsonl (for a URL that was skipped when its turn came, for example);
  // the rest is written.
  bool listed = true;
  // The page's records: a revisit if the body was known when they were made. When they are written,
  // a response becomes a revisit if its body is known by then.
  std::optional<WarcRecords> warc;
  // What the sinks have encoded already, a string for each: OutputSinks::add_link() and others.
  // One buffer and not a list of links, because pages have hundreds of them.
  std::vector<std::string> parts;
  BodyCharge charge;  // released with `queued`, when all of the above is written
  QueueShare queued;
  // Kept until the page is written and its lease has ended: see CrashLoopBreaker::begin().
  std::shared_ptr<const void> in_flight;

  // Bytes of memory: what submit() sets `charge` to.
  std::uint64_t memory() const noexcept;
  // Whether there is something that release_written() or discard() would free.
  bool holds_bytes() const noexcept;
  // Whether the body can be a copy of another: only a 2xx response with a body and a digest.
  bool has_comparable_body() const noexcept {
    return outcome.status >= 200 && outcome.status < 300 && page.bytes > 0 && !page.digest.empty();
  }
  // Frees `parts[sink]`, which is written; after the last one, gives back the charge.
  void release_written(std::size_t sink) noexcept;
  // Frees all that was to be written, and gives back the charge.
  void discard() noexcept;

  // Set by the sinks, for those after them; the first two before any of them writes.
  struct Written {
    std::string duplicate_of;               // the URL that had the same body first; empty: none
    std::optional<RevisitOf> earlier_body;  // the record that has the same body; none: this one
    std::optional<WarcLocation> place;      // of the response or revisit record; none: no record
    std::string file;                       // with the body, in output.directory; empty: none
  } written;
};

}  // namespace trawl
