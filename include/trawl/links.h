// LinkExtractor: what a page links to, and what it says about itself.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/robots_directives.h"
#include "trawl/url.h"

namespace trawl {

// What a link is for.
enum class LinkKind : std::uint8_t {
  kNavigation,  // <a href>, <area href>, SVG's <a>
  kForm,        // <form action> of forms sent by GET
  kDocument,    // <iframe src>, <frame src>, <object data>, <embed src>
  kResource,    // images, media, scripts, style sheets; every <link> that is not kRelated
  kRelated,     // <link rel> alternate, next, prev, amphtml, canonical
  kCitation,    // <blockquote cite>, <q cite>
  kRefresh,     // <meta http-equiv=refresh>, the Refresh header
};
inline constexpr std::size_t kLinkKinds = 7;

// A set of kinds.
class LinkKinds {
 public:
  constexpr LinkKinds() = default;  // none
  constexpr LinkKinds(std::initializer_list<LinkKind> kinds) {
    for (const LinkKind kind : kinds)
      bits_ |= bit(kind);
  }
  // What a crawler of pages follows.
  static constexpr LinkKinds pages() {
    return {LinkKind::kNavigation, LinkKind::kDocument, LinkKind::kRelated, LinkKind::kRefresh};
  }
  // All there are.
  static constexpr LinkKinds all() {
    return {LinkKind::kNavigation, LinkKind::kForm,     LinkKind::kDocument, LinkKind::kResource,
            LinkKind::kRelated,    LinkKind::kCitation, LinkKind::kRefresh};
  }
  constexpr bool has(LinkKind kind) const noexcept { return (bits_ & bit(kind)) != 0; }
  constexpr LinkKinds& operator|=(LinkKinds other) noexcept {
    bits_ |= other.bits_;
    return *this;
  }
  friend constexpr LinkKinds operator|(LinkKinds a, LinkKinds b) noexcept { return a |= b; }
  friend bool operator==(const LinkKinds&, const LinkKinds&) = default;

 private:
  static constexpr std::uint8_t bit(LinkKind kind) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(kind));
  }
  std::uint8_t bits_ = 0;
};

// By which kinds are written in configs and on the command line, in the order of LinkKind.
inline constexpr std::array<std::string_view, kLinkKinds> kLinkKindNames = {
    "navigation", "form", "document", "resource", "related", "citation", "refresh"};
constexpr std::string_view to_string(LinkKind kind) noexcept {
  return kLinkKindNames[static_cast<std::size_t>(kind)];
}
// The kind of such a name, if it is one.
constexpr std::optional<LinkKind> find_link_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLinkKinds; ++i) {
    if (kLinkKindNames[i] == name) return static_cast<LinkKind>(i);
  }
  return std::nullopt;
}

struct Link {
  Url url;
  LinkKind kind = LinkKind::kNavigation;
  // False if its rel or the page's own directives say nofollow. It is up to the caller to heed it.
  bool follow = true;
  // Where it stood, in lower case: "a" and "href". The element is "*" if it is none of HTML's or
  // SVG's (a style attribute may stand on any). What the text of a <style> refers to is from
  // "style" and "style". They live as long as the program.
  std::string_view element;
  std::string_view attribute;
  std::string rel;  // as written; empty if there is none
  // With LinkOptions::texts, of an <a>: the text between its tags, in UTF-8, its white space
  // collapsed, its character references decoded, at most kMaxLinkText bytes (cut between two
  // characters). The alternative texts of images in it count as words, what is in scripts, style
  // sheets, templates and fields does not. Line breaks and the edges of blocks are white space.
  std::string text{};
};
inline constexpr std::size_t kMaxLinkText = 200;

// What reads the page.
enum class LinkEngine : std::uint8_t {
  kScanner,  // Trawl's own tokenizer; hands pages on to Gumbo where tree construction matters
  kGumbo,    // Gumbo for every page
};
// "scanner", "gumbo".
constexpr std::string_view to_string(LinkEngine engine) noexcept {
  return engine == LinkEngine::kGumbo ? "gumbo" : "scanner";
}

struct LinkOptions {
  LinkKinds kinds = LinkKinds::pages();
  LinkEngine engine = LinkEngine::kScanner;
  bool texts = false;    // gather Link::text
  bool dropped = false;  // gather PageLinks::dropped
  // Whose <meta name="..."> counts beside "robots": a product token, or a user agent with one, as
  // Robots::allowed() takes it ("trawl/0.1 (+https://...)").
  std::string agent = "trawl";
  // Pages over this many bytes are not parsed: PageLinks::skipped says so. Bytes; at most 1 GiB.
  std::size_t max_bytes = 16u << 20;
  // What one page may take. Of a page whose tree would take more, the links are those that are
  // found without it, as near as that comes; where the tree alone was asked for (LinkEngine), there
  // are none, and `skipped` says why.
  //
  // Elements open at once: tree construction takes quadratic time in the depth. Up to this depth
  // pages are never refused for it, beyond twice of it always. With the default `max_time` the
  // limit falls with the size on pages of over 1 MB, and those of over 5.6 MB are too slow at once.
  std::size_t max_depth = 512;
  // Memory for the page's copy, tree and links in bytes, and the thread's processor time for the
  // tree. Both hold for the links of the scanner too, the time for resolving them (for which there
  // are 200 ms even if the tree took all): beyond, no link is given.
  std::size_t max_memory = 256u << 20;
  std::chrono::milliseconds max_time{700};
};

// Why a page gave no links although it may have had some.
enum class LinksSkipped : std::uint8_t {
  kNo,
  kTooLarge,    // over max_bytes, or its tree and links over max_memory
  kTooDeep,     // over max_depth
  kTooSlow,     // over max_time, by its tree or its links
  kUnparsable,  // the parser fails on it
};

// <meta http-equiv=refresh>: go elsewhere after a while.
struct MetaRefresh {
  std::chrono::seconds delay{0};
  std::optional<Url> url;  // absent: the page itself, or no http(s) URL
};

// A reference that is no http(s) URL.
struct DroppedLink {
  std::string text;  // as it is written, of which no more than 2,048 bytes
  bool other_scheme = false;
};

struct PageLinks {
  std::vector<Link> links;  // in the order of the page's source, duplicates kept; http(s) only
  // The first <base href>, resolved, if it is http(s). If it is of another scheme (ftp:, file:),
  // relative references are none of http(s) either, and count as `other_scheme`.
  std::optional<Url> base;
  std::optional<Url> canonical;        // the first <link rel=canonical>
  std::optional<MetaRefresh> refresh;  // the first
  RobotsDirectives robots;             // of all <meta name=robots> and <meta name=AGENT>
  std::string title;          // of the first <title>, white space collapsed; 4 KiB of it at most
  std::string_view encoding;  // the page's, by its name in the Encoding Standard: "UTF-8"
  LinkEngine engine = LinkEngine::kScanner;  // the one whose answer this is
  std::size_t invalid = 0;                   // references that are no URL
  std::size_t other_scheme = 0;              // mailto:, javascript:, data:, ...
  std::vector<DroppedLink> dropped;          // these, if LinkOptions::dropped
  LinksSkipped skipped = LinksSkipped::kNo;
};

// Finds the links of HTML pages. Any bytes are accepted: a browser would show something for them,
// and so does this. Never fails; takes bounded time and memory (see LinkOptions). An
// extractor keeps its buffers from page to page. Not thread-safe.
class LinkExtractor {
 public:
  explicit LinkExtractor(LinkOptions options = {});
  LinkExtractor(LinkExtractor&&) noexcept;
  LinkExtractor& operator=(LinkExtractor&&) noexcept;
  ~LinkExtractor();

  // `content_type` is the value of the response's header, for its charset; it may be empty. `base`
  // is the URL of the page: links are resolved against the first <base href>, or else against it.
  // Without a URL (Url()) relative references count as invalid.
  // The encoding is that of a byte order mark, of `content_type`, of a <meta> in the first 1,024
  // bytes, in this order; else UTF-8 if the page is that, else of a later <meta>, else
  // windows-1252. Queries of links are written in it, as browsers do.
  PageLinks extract(std::string_view bytes, std::string_view content_type, const Url& base);
  // The same into `page`, whose old value goes, its buffers stay.
  void extract_into(std::string_view bytes, std::string_view content_type, const Url& base,
                    PageLinks& page);

  const LinkOptions& options() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The links of one HTML page in UTF-8 (or of what a byte order mark says). Thread-safe.
PageLinks extract_links(std::string_view html, const Url& base, const LinkOptions& options = {});

}  // namespace trawl
