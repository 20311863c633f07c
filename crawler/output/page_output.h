// PageOutput: all that a finished fetch leaves in the crawl's output.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/lease.h"

#include "crawler/http/body_budget.h"
#include "crawler/warc/warc_files.h"
#include "crawler/warc/warc_record.h"

namespace trawl {

// What a line of pages.jsonl tells beyond what the frontier knows. Texts may be any bytes; those
// that are empty are null in the line.
struct PageRecord {
  std::string redirect;  // where a redirect led
  std::string content_type;
  std::uint64_t bytes = 0;                           // of the body, decompressed
  std::uint64_t links = 0;                           // found on the page, in scope or not
  std::chrono::system_clock::time_point fetched_at;  // when the URL's turn came
  std::chrono::milliseconds elapsed{0};
  std::string digest;     // of the body: "sha1:..." or "xxh128:..."
  std::string reason;     // to_string(FetchError), or of a SkipReason; empty: nothing went wrong
  std::string truncated;  // to_string(BodyCut): why `bytes` are not all of the body
  std::uint64_t new_links = 0;  // of the links, those that the frontier admitted
  std::string canonical;        // the page's canonical link
  bool noindex = false;         // what the page or its headers ask for
  bool nofollow = false;
  bool noarchive = false;
  std::string etag;
  std::string last_modified;
};

// A line of links.jsonl. The views need to live only as long as the call they are given to.
struct LinkRecord {
  std::string_view to;    // absolute
  std::string_view kind;  // name of the LinkKind
  std::string_view text;  // of the anchor; empty: null
  std::string_view rel;   // as written; empty: null
};

// A line of skipped.jsonl: a URL that was found but is not fetched.
struct SkippedRecord {
  std::string_view url;     // or the reference as written, if it is no URL
  std::string_view reason;  // to_string(SkipReason)
  std::string_view rule;    // the rule that decided; empty: null
};

// Made and filled by a fetcher thread, which gives it to Output::submit().
struct PageOutput {
  Lease lease;      // whose URL was fetched
  Outcome outcome;  // how that ended
  PageRecord page;
  // False: it gets no line in pages.jsonl (a URL that was skipped when its turn came,
  // say); what else is here is written.
  bool listed = true;
  // The page's records: a revisit if the body was known when they were made.
  std::optional<WarcRecords> warc;
  // Lines of links.jsonl and skipped.jsonl, made by the calls below; one buffer each, since pages
  // have hundreds of links.
  std::string link_lines;
  std::string skipped_lines;
  // As far as these may grow: pages with more links than that are made to have them.
  static constexpr std::size_t kMaxLines = 16u << 20;
  // Given back when the records are written, or the lines if there are any of links or URLs
  // skipped.
  BodyCharge charge;
  // Kept until what is here is written and its lease has ended: see CrashGuard::begin().
  std::shared_ptr<const void> in_flight;

  // `from`: the page's URL. Only if the crawl writes these files (config output.links, .skipped).
  void add_link(std::string_view from, const LinkRecord& link);
  void add_skipped(std::string_view from, const SkippedRecord& skipped);
  // Bytes that it holds: what submit() sets `charge` to.
  std::uint64_t memory() const noexcept;
  bool has_lines() const noexcept { return !link_lines.empty() || !skipped_lines.empty(); }
  // Whether its body can be the copy of another: bodies of answers other than 2xx, and empty ones,
  // are not, nor are those without a digest.
  bool has_comparable_body() const noexcept {
    return outcome.status >= 200 && outcome.status < 300 && page.bytes > 0 && !page.digest.empty();
  }
  // Frees what was to be written, and the charge.
  void discard() noexcept;

  // Set by whoever writes it.
  struct Written {
    std::optional<WarcPlace> place;  // nothing: there were no records
    std::string duplicate_of;        // the URL that had the same body first; empty: none
  } written;
};

}  // namespace trawl
