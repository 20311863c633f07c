// LinkExtractor: the links of a page, and what the page says about itself.
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

// The purpose of a link.
enum class LinkKind : std::uint8_t {
  kNavigation,  // <a href>, <area href>, SVG's <a>
  kForm,        // <form action> of forms sent by GET
  kDocument,    // <iframe src>, <frame src>, <object data>, <embed src>
  kResource,    // images, media, scripts, style sheets; every <link> that is not kRelated
  kRelated,     // <link rel> alternate, next, prev, amphtml, canonical
  kCitation,    // <blockquote cite>, <q cite>
  kRefresh,     // <meta http-equiv=refresh>, the Refresh header
  kGuess,       // strings in scripts and JSON that look like URLs
};
inline constexpr std::size_t kLinkKinds = 8;

// A set of kinds.
class LinkKinds {
 public:
  constexpr LinkKinds() = default;  // none
  constexpr LinkKinds(std::initializer_list<LinkKind> kinds) {
    for (const LinkKind kind : kinds)
      bits_ |= bit(kind);
  }
  // The kinds that a crawler of pages follows.
  static constexpr LinkKinds pages() {
    return {LinkKind::kNavigation, LinkKind::kDocument, LinkKind::kRelated, LinkKind::kRefresh};
  }
  // All kinds but guesses.
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

// The names of kinds in configs and on the command line, in the order of LinkKind.
inline constexpr std::array<std::string_view, kLinkKinds> kLinkKindNames = {
    "navigation", "form", "document", "resource", "related", "citation", "refresh", "guess"};
constexpr std::string_view to_string(LinkKind kind) noexcept {
  return kLinkKindNames[static_cast<std::size_t>(kind)];
}
// The kind with that name, or std::nullopt.
constexpr std::optional<LinkKind> find_link_kind(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLinkKinds; ++i) {
    if (kLinkKindNames[i] == name) return static_cast<LinkKind>(i);
  }
  return std::nullopt;
}

// A link of a page.
struct Link {
  Url url;
  LinkKind kind = LinkKind::kNavigation;
  // False if its rel or the page's directives say nofollow. The caller decides whether to obey.
  bool follow = true;
  // The element and attribute of the link, in lower case: "a" and "href". The element is "*" if it
  // is not one of HTML's or SVG's (any element may have a style attribute). References in the text
  // of a <style> have "style" and "style", those in the text of a <script> "script" and "content".
  // Both views are valid as long as the program runs.
  std::string_view element;
  std::string_view attribute;
  std::string rel;  // as written; empty if absent
  // With LinkOptions::texts, of an <a>: the text between its tags in UTF-8, with collapsed white
  // space and decoded character references, at most kMaxLinkText bytes (cut between two
  // characters). Alternative texts of images are part of it; scripts, style sheets, templates and
  // form fields are not. Line breaks and the edges of blocks are white space.
  std::string text{};
  // With LinkOptions::distinct: how many references of the page it stands for. At least 1.
  std::uint32_t times = 1;
};
inline constexpr std::size_t kMaxLinkText = 200;

// The parser that reads the page.
enum class LinkEngine : std::uint8_t {
  kScanner,  // Trawl's own tokenizer; passes pages to Gumbo where tree construction matters
  kGumbo,    // Gumbo for every page
};
// "scanner", "gumbo".
constexpr std::string_view to_string(LinkEngine engine) noexcept {
  return engine == LinkEngine::kGumbo ? "gumbo" : "scanner";
}

// What a LinkExtractor collects, and its limits.
struct LinkOptions {
  LinkKinds kinds = LinkKinds::pages();
  LinkEngine engine = LinkEngine::kScanner;
  bool texts = false;    // collect Link::text
  bool dropped = false;  // collect PageLinks::dropped
  // Leave out links whose reference is written as one before it, except for the fragment: what
  // resolving them would cost, in time and of `max_memory`, is saved. They are counted in
  // Link::times of the one before. Some are left in all the same, the more so the more different
  // links a page has: 5 % with 100.
  bool distinct = false;
  // Of the kinds kResource and kDocument collect also what loads nothing else than parts of the
  // page: `background` attributes, and the documents in `srcdoc` attributes, in place of `src`.
  bool requisites = false;
  // With `requisites`: also what scripts may load when it is scrolled into view: `data-src`,
  // `data-srcset`, `data-original`, `data-lazy-src`, `data-poster` of images, sources and frames.
  bool lazy_images = false;
  // With LinkKind::kGuess in `kinds`: in the texts of scripts, and of data blocks that are JSON.
  bool guess_scripts = true;
  bool guess_json = true;
  // Collect PageLinks::text, at most this many bytes of it; 0: none.
  std::size_t max_text = 0;
  // The crawler whose <meta name="..."> applies in addition to "robots": a product token, or a user
  // agent that contains one, as for Robots::allowed() ("trawl/0.1 (+https://...)").
  std::string agent = "trawl";
  // Pages over this many bytes are not parsed: PageLinks::skipped says so. Bytes; at most 1 GiB.
  std::size_t max_bytes = 16u << 20;
  // The next three limit the cost of one page. If its tree would exceed a limit, the scanner finds
  // the links without a tree, which may differ in rare constructs. With LinkEngine::kGumbo there
  // are then no links, and `skipped` says why.
  //
  // Nesting depth of elements: tree construction takes quadratic time in the depth. Pages up to
  // this depth are never refused for it, pages over twice this depth always. With the default
  // `max_time` the limit falls with the size for pages over 1 MB; pages over 5.6 MB always count as
  // too slow.
  std::size_t max_depth = 512;
  // Bytes for the page's copy, tree and links, and the thread's processor time for the tree. Both
  // also apply to the scanner's links; the time for resolving them is at least 200 ms, even if the
  // tree used up max_time. A page beyond a limit gets no links.
  std::size_t max_memory = 256u << 20;
  std::chrono::milliseconds max_time{700};
};

// Why a page that may have links returned none.
enum class LinksSkipped : std::uint8_t {
  kNo,
  kTooLarge,    // over max_bytes, or tree and links over max_memory
  kTooDeep,     // over max_depth
  kTooSlow,     // over max_time, for the tree or for the links
  kUnparsable,  // the parser fails on it
};

// <meta http-equiv=refresh>: a redirect after a delay.
struct MetaRefresh {
  std::chrono::seconds delay{0};
  std::optional<Url> url;  // absent: the page itself, or not an http(s) URL
};

// A reference that is not an http(s) URL.
struct DroppedLink {
  std::string text;  // as written, cut to 2,048 bytes
  bool other_scheme = false;
};

// The links of a page, and what it says about itself.
struct PageLinks {
  // In source order, http(s) only; with duplicates, unless LinkOptions::distinct.
  std::vector<Link> links;
  std::size_t repeated = 0;  // links left out with LinkOptions::distinct
  // The first <base href>, resolved, if it is http(s). With a base of another scheme (ftp:, file:)
  // relative references have that scheme too and count as `other_scheme`.
  std::optional<Url> base;
  std::optional<Url> canonical;        // the first <link rel=canonical>
  std::optional<MetaRefresh> refresh;  // the first
  RobotsDirectives robots;             // of all <meta name=robots> and <meta name=AGENT>
  std::string title;                   // of the first <title>, white space collapsed; at most 4 KiB
  // Of <html lang>, or else of the first <meta http-equiv=content-language>, as written: "en-GB".
  // Only what has the form of a language tag (RFC 5646), at most 64 bytes; else empty.
  std::string language;
  // With LinkOptions::max_text, the text of the page's body in UTF-8, as a reader sees it:
  // character references decoded, white space collapsed, without scripts, style sheets, templates
  // and what is in the page's head. Line breaks and the edges of blocks are white space. Cut
  // between two characters.
  std::string text;
  std::string_view encoding;  // the page's, named as in the Encoding Standard: "UTF-8"
  LinkEngine engine = LinkEngine::kScanner;  // the engine that found the links
  std::size_t invalid = 0;                   // references that are not URLs
  std::size_t other_scheme = 0;              // mailto:, javascript:, data:, ...
  std::vector<DroppedLink> dropped;          // both kinds, with LinkOptions::dropped
  LinksSkipped skipped = LinksSkipped::kNo;
};

// Finds the links of pages in HTML or, by their content type, SVG. Accepts any bytes, as browsers
// do, and never fails. Takes bounded time and memory (see LinkOptions). Reuses its buffers for the
// next page. Not thread-safe.
class LinkExtractor {
 public:
  explicit LinkExtractor(LinkOptions options = {});
  LinkExtractor(LinkExtractor&&) noexcept;
  LinkExtractor& operator=(LinkExtractor&&) noexcept;
  ~LinkExtractor();

  // `content_type` is the value of the response's header, for its charset; may be empty. `base` is
  // the URL of the page: links are resolved against the first <base href>, or else against `base`.
  // With Url() as `base` relative references count as invalid.
  // The encoding is, in this order, that of a byte order mark, of `content_type`, of a <meta> in
  // the first 1,024 bytes, UTF-8 if the page is valid UTF-8, that of a later <meta>, windows-1252.
  // Queries of links are encoded with it, as browsers do.
  PageLinks extract(std::string_view bytes, std::string_view content_type, const Url& base);
  // The same into `page`: replaces its value and reuses its buffers.
  void extract_into(std::string_view bytes, std::string_view content_type, const Url& base,
                    PageLinks& page);

  const LinkOptions& options() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The links of one HTML page in UTF-8 (or in the encoding of its byte order mark). Thread-safe.
PageLinks extract_links(std::string_view html, const Url& base, const LinkOptions& options = {});

}  // namespace trawl
