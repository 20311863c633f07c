// Url: an http or https URL, parsed and serialised according to the WHATWG URL Standard.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/result.h"

namespace trawl {

// The component offsets of a Url, in a struct so that they can be copied and reset together. For
// Url only.
struct UrlOffsets {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Offsets into the href (https://user:pw@host:80/path?query#fragment).
  std::uint32_t scheme_end_ = 0;          // at ':'
  std::uint32_t username_end_ = 0;        // at ':' of the password, '@', or where the host starts
  std::uint32_t host_start_ = 0;          // first byte of the host name
  std::uint32_t host_end_ = 0;            // at ':' of the port or '/' of the path
  std::uint32_t path_start_ = 0;          // at the path's '/'
  std::uint32_t query_start_ = kNone;     // at '?', or kNone
  std::uint32_t fragment_start_ = kNone;  // at '#', or kNone
  bool has_percent_ = false;
};

// A parsed http(s) URL. Immutable; copying copies one string. Accessors are views into that
// string and stay valid as long as the Url does. Safe to read from many threads.
class Url : private UrlOffsets {
 public:
  // Not a URL yet: every component is empty, and as a base it means no base. For parse_into().
  Url() = default;
  Url(const Url&) = default;
  Url& operator=(const Url&) = default;
  // A moved-from Url equals Url().
  Url(Url&& other) noexcept : UrlOffsets(other), href_(std::move(other.href_)) { other.clear(); }
  Url& operator=(Url&& other) noexcept {
    if (this == &other) return *this;
    UrlOffsets::operator=(other);
    href_ = std::move(other.href_);
    other.clear();
    return *this;
  }
  ~Url() = default;

  // Parses `input`, relative to `base` if one is given, with the algorithm browsers use
  // (https://url.spec.whatwg.org/#concept-basic-url-parser). `input` is UTF-8; invalid bytes are
  // replaced by U+FFFD as the standard's decoder does. Takes time linear in the input. Errors:
  // kInvalidUrl for input that the standard rejects, kUnsupportedScheme for a well-formed URL that
  // is neither http nor https (mailto:, javascript:, data:, ftp:, ...).
  static Result<Url> parse(std::string_view input, const Url* base = nullptr);

  // The same into `out`, which keeps its value on an error. Reuses the buffer of `out`: once that
  // is large enough, links that need no rewriting (nearly all) cost no allocation. `out` may be
  // `*base`, and `input` a view into `out`; then the call allocates.
  static Result<void> parse_into(std::string_view input, const Url* base, Url& out);

  // The serialised URL, e.g. "https://user:pw@example.com:8080/a/b?q=1#top".
  std::string_view href() const noexcept { return href_; }
  // href() without the fragment and its '#'.
  std::string_view href_without_fragment() const noexcept { return part(0, query_end()); }
  // True if href_without_fragment() has a '%'. Constant time: the parser stores it.
  bool has_percent() const noexcept { return has_percent_; }

  std::string_view scheme() const noexcept;    // "http" or "https"
  std::string_view username() const noexcept;  // percent-encoded; may be empty
  std::string_view password() const noexcept;  // percent-encoded; may be empty
  std::string_view hostname() const noexcept;  // lower case, IDNA A-labels; IPv6 keeps its brackets
  std::string_view host() const noexcept;      // hostname, then ":port" if it is not the default
  std::string_view port() const noexcept;      // decimal digits; empty when it is the default
  std::uint16_t effective_port() const noexcept;  // the port to connect to, also if it is the
                                                  // default
  std::string origin() const;                     // scheme "://" host, without the userinfo
  std::string_view path() const noexcept;         // starts with '/'
  std::string_view query() const noexcept;        // without '?'; empty if absent or empty
  std::string_view fragment() const noexcept;     // without '#'; empty if absent or empty
  bool has_query() const noexcept;                // true for "http://h/?" too
  bool has_fragment() const noexcept;
  bool host_is_ip() const noexcept;  // IPv4 or bracketed IPv6 literal

  friend bool operator==(const Url& a, const Url& b) noexcept { return a.href_ == b.href_; }

 private:
  friend class UrlParser;
  friend class UrlFastPath;

  static Result<void> parse_into_fully(std::string_view input, const Url* base, Url& out);

  void clear() noexcept {
    UrlOffsets::operator=({});
    href_.clear();
  }
  std::string_view part(std::size_t start, std::size_t end) const noexcept {
    assert(start <= end && end <= href_.size());
    return std::string_view(href_).substr(start, end - start);
  }
  // After "://", where the userinfo or the host starts.
  std::size_t authority_start() const noexcept {
    return href_.empty() ? 0 : scheme_end_ + std::size_t{3};
  }
  std::size_t query_end() const noexcept {
    return fragment_start_ == kNone ? href_.size() : fragment_start_;
  }
  std::size_t path_end() const noexcept {
    return query_start_ == kNone ? query_end() : query_start_;
  }

  std::string href_;
};

}  // namespace trawl
