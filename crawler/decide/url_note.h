// UrlNote: what the crawl keeps with a URL in the frontier: where it comes from, and what the last
// fetch of it brought.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

struct UrlNote {
  enum class Role : std::uint8_t { kPage, kSitemap };

  Role role = Role::kPage;
  std::uint32_t sitemap_level = 0;  // indexes between it and robots.txt, of a sitemap
  // Of a sitemap: a site that is crawled names it, so that it need not be in scope itself.
  bool vouched = false;
  std::uint32_t hops_off_scope = 0;        // links out of scope, in a row, that led here
  std::optional<double> sitemap_priority;  // 0 to 1; kept as a whole number of thousandths

  // Of the last fetch. The validators as the server sent them; the digest as in pages.jsonl.
  std::string etag;
  std::string last_modified;
  std::string digest;
  std::optional<std::chrono::milliseconds> interval;  // until the next fetch
  // Of the WARC record that has the body, for revisit records; both empty if there is none.
  std::string first_url;
  std::string first_date;

  friend bool operator==(const UrlNote&, const UrlNote&) = default;

  static constexpr std::size_t kMaxBytes = 4096;  // of a note as encoded

  // A note that says nothing takes no bytes. What is too long, or no header could hold, is left
  // out: a fetch is then unconditional, a revisit record names no other.
  std::string encode() const;
  // Of damaged bytes, and of those of a later version, the note that says nothing.
  static UrlNote decode(std::string_view bytes);
};

// True if `text` can be sent back in a request's header: printable, and no longer than a server
// needs for it.
bool is_usable_validator(std::string_view text);

}  // namespace trawl
