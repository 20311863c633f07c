// PageReader: what a page says, whatever other pages say: the digest of its body, its links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"
#include "trawl/lease.h"
#include "trawl/links.h"
#include "trawl/url.h"

#include "crawler/http/http_client.h"
#include "crawler/parse/css/style_sheet_reader.h"
#include "crawler/parse/scripts/script_reader.h"
#include "crawler/run/body_digest.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

// What decides on a link that was offered before.
struct LinkGist {
  Fingerprint hash;  // CrawlContext::link_hash
  std::uint32_t times = 1;
  LinkKind kind = LinkKind::kNavigation;
  bool follow = true;
};

// What was read of a page so far. Keeps its buffers for the next page.
struct ReadPage {
  bool has_digest = false;
  bool has_links = false;
  std::string digest;
  PageLinks links;
  std::vector<LinkGist> gists;  // of each of links.links

  void clear() noexcept { has_digest = has_links = false; }
};

// Nothing that it reads depends on another page, or on what the crawl knows, so that any thread may
// read any page ahead of its turn. For one thread.
class PageReader {
 public:
  explicit PageReader(const CrawlContext& context);

  // Reads what the PageHandler is likely to want of the page.
  void read_ahead(const Lease& lease, const Url& url, const HttpResponse& response, ReadPage& read);
  // Each is read if that was not done yet.
  const std::string& digest(const HttpResponse& response, ReadPage& read);
  PageLinks& links(const Url& url, const HttpResponse& response, ReadPage& read);
  // The same for what is not a page: the URLs of a style sheet, and of strings in a script or JSON
  // that look like URLs, by `base`.
  const PageLinks& style_sheet(const Url& url, const HttpResponse& response, ReadPage& read);
  const PageLinks& strings(const Url& base, const HttpResponse& response, ReadPage& read);

  // Whether the body is a page with links. `found`: how its URL was found.
  bool is_parsed(const HttpResponse& response, FoundKinds found) const;
  bool keeps_text() const { return extractor_.options().max_text > 0; }

 private:
  void note_gists(ReadPage& read) const;

  const CrawlContext& context_;
  LinkExtractor extractor_;
  std::optional<StyleSheetReader> style_sheets_;
  std::optional<ScriptReader> scripts_;
  BodyDigest digest_;
};

// The content type; sniffed from the body if the header does not give it.
std::string_view content_type_of(const HttpResponse& response);

// The body as received: archives keep it, and digests are computed from it.
inline std::string_view payload_of(const HttpResponse& response) {
  return response.encoded_body.empty() ? response.body : response.encoded_body;
}

}  // namespace trawl
