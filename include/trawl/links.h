// extract_links: what a page links to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// Where a link stood.
enum class LinkKind : std::uint8_t {
  kNavigation,  // <a href>, <area href>
  kDocument,    // <iframe src>, <frame src>
  kResource,    // <link href>
};

struct Link {
  Url url;
  LinkKind kind;
};

struct LinkOptions {
  // Pages over this many bytes are not parsed: PageLinks::skipped says so. Bytes.
  std::size_t max_bytes = 16u << 20;
  // Pages whose elements nest deeper are not parsed either: tree construction takes quadratic time
  // in the depth. Up to this depth pages are never refused for it, beyond twice of it always; on
  // pages of over 2 GB / max_depth the limit falls with the size.
  std::size_t max_depth = 512;
  // What one page may take: memory for its copy, tree and links in bytes, and the thread's
  // processor time for the tree.
  std::size_t max_memory = 256u << 20;
  std::chrono::milliseconds max_time{1000};
};

// Why a page gave no links although it may have had some.
enum class LinksSkipped : std::uint8_t {
  kNo,
  kTooLarge,    // over max_bytes, or its tree and links over max_memory
  kTooDeep,     // over max_depth
  kTooSlow,     // over max_time
  kUnparsable,  // the parser fails on it
};

struct PageLinks {
  std::vector<Link> links;       // in document order, duplicates kept; http(s) only
  std::optional<Url> base;       // the first <base href>, resolved, if it is http(s)
  std::size_t invalid = 0;       // references that are no URL
  std::size_t other_scheme = 0;  // mailto:, javascript:, data:, ...
  LinksSkipped skipped = LinksSkipped::kNo;
};

// The links of an HTML page in UTF-8: <a>, <area>, <link>, <iframe>, <frame>, resolved against
// the first <base href> or else `base`. Any bytes are accepted: a browser would show something
// for them, and so does this. Never fails; takes bounded time and memory (see LinkOptions).
// Thread-safe.
PageLinks extract_links(std::string_view html, const Url& base, const LinkOptions& options = {});

}  // namespace trawl
