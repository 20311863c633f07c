// StyleSheetReader: the URLs of a style sheet that is a file.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "trawl/links.h"
#include "trawl/url.h"

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {

// Finds the URLs that style sheets load. Accepts any bytes, takes linear time, and memory in
// proportion to the sheet and its URLs, within the limits of LinkOptions. Reuses its buffers for
// the next sheet. Not thread-safe.
class StyleSheetReader {
 public:
  // Of `options` the limits (max_bytes, max_memory, max_time) and `dropped` apply. All URLs have
  // the kind LinkKind::kResource.
  explicit StyleSheetReader(const LinkOptions& options) : options_(options) {}

  // Replaces `page` by what the sheet has: links with the element "css" and as attribute the use,
  // "import", "font" or "image" (see CssUse), in source order, with duplicates; encoding, dropped
  // references, `skipped`. `content_type` is the value of the header, for its charset; may be
  // empty. `base` is the URL of the sheet; with Url() relative references count as invalid. Queries
  // are encoded in the sheet's encoding, as in LinkExtractor.
  void read_into(std::string_view bytes, std::string_view content_type, const Url& base,
                 PageLinks& page);

 private:
  LinksSkipped read(std::string_view css, PageEncoding queries, const Url& base, PageLinks& page);

  const LinkOptions options_;
  std::deque<std::string> made_;
  std::string utf8_;
  std::string valid_;
  std::string query_;
};

}  // namespace trawl
