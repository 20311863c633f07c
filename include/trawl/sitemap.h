// Sitemap: the URLs in sitemaps, sitemap indexes and feeds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// The kind of a document.
enum class SitemapKind : std::uint8_t {
  kUnknown,  // none of the below, for example an HTML page; it has no entries
  kUrlSet,   // <urlset> (https://www.sitemaps.org/protocol.html): entries are pages
  kIndex,    // <sitemapindex>: entries are sitemaps
  kText,     // one URL a line: entries are pages
  kRss,      // RSS 0.9x, 1.0, 2.0: entries are the items' links
  kAtom,     // Atom: entries are the entries' links
};
// "unknown", "urlset", "index", "text", "rss", "atom".
std::string_view to_string(SitemapKind kind) noexcept;

// How often a page changes, as its sitemap says.
enum class ChangeFrequency : std::uint8_t {
  kAlways,
  kHourly,
  kDaily,
  kWeekly,
  kMonthly,
  kYearly,
  kNever,
};
// "always", "hourly", ... as in a sitemap.
std::string_view to_string(ChangeFrequency frequency) noexcept;

// The same page in another language, or for another kind of device (hreflang is empty then).
struct SitemapAlternate {
  std::string hreflang;  // as written: "de-AT", "x-default"
  Url url;
};

// A page, or a sitemap of an index.
struct SitemapEntry {
  Url url;
  // <lastmod>; in feeds pubDate, dc:date, updated, or else published. A date without a time is
  // midnight; a time without a zone is UTC. Absent if missing or invalid.
  std::optional<std::chrono::sys_seconds> last_modified;
  std::string last_modified_text;  // as written, cut to 256 bytes
  std::optional<ChangeFrequency> change_frequency;
  std::optional<double> priority;            // 0 to 1
  std::vector<SitemapAlternate> alternates;  // <xhtml:link rel="alternate" hreflang href>
};

// Why an entry was dropped for its URL.
enum class SitemapUrlFault : std::uint8_t { kInvalidUrl, kOtherScheme, kTooLong };

// The limits of what is read.
struct SitemapOptions {
  // Entries read, including dropped ones. The default is the protocol's limit.
  std::size_t max_entries = 50'000;
  // Bytes read after decompression. The default is the protocol's limit.
  std::uint64_t max_bytes = 50u << 20;
  // Longer URLs are dropped. Bytes; at most 1 MiB. The protocol allows 2,047; servers and crawlers
  // accept more.
  std::size_t max_url_length = 8192;
  // Alternates of one entry; further ones are dropped.
  std::size_t max_alternates = 500;
  // Bytes of memory for all entries together, including those resolved and then dropped: a short
  // document with a long base can have many long URLs. Raise it together with the other limits.
  std::uint64_t max_result_bytes = 192u << 20;
};

// Why entries were dropped, and how many.
struct SitemapDropped {
  std::size_t invalid_url = 0;   // not a URL
  std::size_t other_scheme = 0;  // ftp:, mailto:, ...
  std::size_t too_long = 0;      // over SitemapOptions::max_url_length, as written or resolved
  std::size_t no_url = 0;        // an entry without a <loc> or a link, or an empty one
  std::size_t alternates = 0;    // dropped alternates of entries that stayed, for any of these
                                 // reasons
};

// Information about a document apart from its entries.
struct SitemapInfo {
  SitemapKind kind = SitemapKind::kUnknown;
  std::size_t accepted = 0;  // entries returned
  SitemapDropped dropped;
  std::uint64_t bytes = 0;  // bytes read, after decompression
  bool gzip = false;        // it was compressed
  // The whole document was read. False if there may be more entries: because of a limit, damage, a
  // missing end, or an unknown root element. `warnings` says why.
  bool complete = true;
  std::optional<Url> next;            // the next page of a paged feed: <link rel="next">
  std::vector<std::string> warnings;  // for people; only a few
};

// A document parsed in one call.
struct Sitemap : SitemapInfo {
  std::vector<SitemapEntry> entries;  // in document order, with duplicates

  // Parses the bytes of a sitemap or feed, compressed with gzip or not. `base` is the URL of the
  // document, for relative references. Never fails: `warnings` reports what cannot be read, and
  // entries before any damage count. Takes time linear in the bytes read (at most max_bytes) and in
  // max_result_bytes. Takes at most max_result_bytes and some megabytes of memory, under 256 MiB by
  // default. Thread-safe.
  static Sitemap parse(std::string_view bytes, const Url& base, const SitemapOptions& options = {});
};

// Parses a sitemap or feed of any size in pieces, with bounded memory (some megabytes): it keeps no
// entry beyond a call. The pieces may be cut anywhere; the entries are those of Sitemap::parse().
// Not thread-safe.
class SitemapReader {
 public:
  // Called by feed() and finish() with each entry, in order. info().kind is known by then. It must
  // not call the reader's feed() or finish().
  using OnEntry = std::function<void(SitemapEntry&& entry)>;
  // Called likewise for each entry dropped for its URL, with the text in place of the URL, cut to
  // 2,048 bytes.
  using OnDropped = std::function<void(std::string_view text, SitemapUrlFault fault)>;

  SitemapReader(const Url& base, OnEntry on_entry, const SitemapOptions& options = {},
                OnDropped on_dropped = {});
  SitemapReader(SitemapReader&&) noexcept;
  SitemapReader& operator=(SitemapReader&&) noexcept;
  ~SitemapReader();

  // Parses the next bytes. Returns false if no more are needed (a limit was reached, or the
  // document is not a sitemap or is damaged beyond repair): the transfer can be stopped. Further
  // calls do nothing.
  bool feed(std::string_view bytes);

  // Ends the document. Further calls change nothing.
  const SitemapInfo& finish();

  // The information so far.
  const SitemapInfo& info() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trawl
