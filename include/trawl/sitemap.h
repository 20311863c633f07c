// Sitemap: the URLs that sitemaps, sitemap indexes and feeds list.
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

// What a document turned out to be.
enum class SitemapKind : std::uint8_t {
  kUnknown,  // none of the below, an HTML page for instance; it has no entries
  kUrlSet,   // <urlset> (https://www.sitemaps.org/protocol.html): entries are pages
  kIndex,    // <sitemapindex>: entries are sitemaps
  kText,     // one URL a line: entries are pages
  kRss,      // RSS 0.9x, 1.0, 2.0: entries are the items' links
  kAtom,     // Atom: entries are the entries' links
};
// "unknown", "urlset", "index", "text", "rss", "atom".
std::string_view to_string(SitemapKind kind) noexcept;

enum class ChangeFrequency : std::uint8_t {
  kAlways,
  kHourly,
  kDaily,
  kWeekly,
  kMonthly,
  kYearly,
  kNever,
};
// "always", "hourly", ... as a sitemap has it.
std::string_view to_string(ChangeFrequency frequency) noexcept;

// The same page in another language, or for another kind of device (hreflang is empty then).
struct SitemapAlternate {
  std::string hreflang;  // as written: "de-AT", "x-default"
  Url url;
};

struct SitemapEntry {
  Url url;
  // <lastmod>; of feeds pubDate, dc:date, updated or else published. A date without a time is its
  // midnight, a time without a zone is UTC. Absent if there is none or it means nothing.
  std::optional<std::chrono::sys_seconds> last_modified;
  std::string last_modified_text;  // as written, 256 bytes of it at most
  std::optional<ChangeFrequency> change_frequency;
  std::optional<double> priority;            // 0 to 1
  std::vector<SitemapAlternate> alternates;  // <xhtml:link rel="alternate" hreflang href>
};

// What is wrong with the URL of an entry that is dropped for it.
enum class SitemapUrlFault : std::uint8_t { kInvalidUrl, kOtherScheme, kTooLong };

struct SitemapOptions {
  // Entries read, dropped ones included: the protocol's limit.
  std::size_t max_entries = 50'000;
  // Bytes read after decompression: the protocol's limit.
  std::uint64_t max_bytes = 50u << 20;
  // URLs over this many bytes are dropped. The protocol says 2,047; servers and crawlers take more.
  // At most 1 MiB.
  std::size_t max_url_length = 8192;
  // Alternates of one entry; further ones are dropped.
  std::size_t max_alternates = 500;
  // Bytes of memory that all entries together may take, what is resolved and then dropped included:
  // a short document can have long URLs, by a long base. To be raised along with the others.
  std::uint64_t max_result_bytes = 192u << 20;
};

// Why entries were dropped, and how many.
struct SitemapDropped {
  std::size_t invalid_url = 0;   // what stands there is no URL
  std::size_t other_scheme = 0;  // ftp:, mailto:, ...
  std::size_t too_long = 0;      // over SitemapOptions::max_url_length, as written or resolved
  std::size_t no_url = 0;        // an entry without a <loc> or a link, or an empty one
  std::size_t alternates = 0;    // alternates alone, for any of these reasons; the entry stayed
};

// What is known of a document beside its entries.
struct SitemapInfo {
  SitemapKind kind = SitemapKind::kUnknown;
  std::size_t accepted = 0;  // entries given
  SitemapDropped dropped;
  std::uint64_t bytes = 0;  // bytes read, after decompression
  bool gzip = false;        // it was compressed
  // All of it was read. False where a limit, damage or a missing end stopped or disturbed the
  // reading, or a root element that is none of a sitemap: there may have been more entries.
  // `warnings` says why.
  bool complete = true;
  std::optional<Url> next;            // the next page of a paged feed: <link rel="next">
  std::vector<std::string> warnings;  // for people; a handful at most
};

// A document read at once.
struct Sitemap : SitemapInfo {
  std::vector<SitemapEntry> entries;  // in the order of the document, duplicates kept

  // Reads the bytes of a sitemap or feed, compressed with gzip or not; `base` is the URL it came
  // from, for relative references. Never fails: what cannot be read is told in `warnings`, and
  // what stands before some damage counts. Takes time linear in the bytes read, of which there are
  // max_bytes at most, and in max_result_bytes; takes max_result_bytes and some megabytes of memory
  // at most, under 256 MiB by default. Thread-safe.
  static Sitemap parse(std::string_view bytes, const Url& base, const SitemapOptions& options = {});
};

// Reads a sitemap or feed in pieces, with bounded memory (some megabytes) however large it is: it
// keeps no entry beyond a call. The pieces may be cut anywhere: the entries are those of
// Sitemap::parse(). Not thread-safe.
class SitemapReader {
 public:
  // Called by feed() and finish() with each entry, in order. info().kind is known by then. It must
  // not call the reader's feed() or finish().
  using OnEntry = std::function<void(SitemapEntry&& entry)>;
  // Called likewise with what is written where an entry's URL should be, 2,048 bytes of it at most,
  // if the entry is dropped for that.
  using OnDropped = std::function<void(std::string_view text, SitemapUrlFault fault)>;

  SitemapReader(const Url& base, OnEntry on_entry, const SitemapOptions& options = {},
                OnDropped on_dropped = {});
  SitemapReader(SitemapReader&&) noexcept;
  SitemapReader& operator=(SitemapReader&&) noexcept;
  ~SitemapReader();

  // Takes the next bytes. False if nothing more is wanted (a limit was reached, it is no sitemap,
  // it is damaged beyond repair): the transfer can be stopped. Further calls do nothing.
  bool feed(std::string_view bytes);

  // The end of the document. Further calls change nothing.
  const SitemapInfo& finish();

  // What is known so far.
  const SitemapInfo& info() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trawl
