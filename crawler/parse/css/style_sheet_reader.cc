#include "crawler/parse/css/style_sheet_reader.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include "base/thread_time.h"
#include "crawler/parse/css/css_references.h"
#include "crawler/parse/css/style_sheet_encoding.h"
#include "crawler/parse/encoding/valid_utf8.h"

namespace trawl {

namespace {

constexpr std::size_t kOrdinaryBytes = 4u << 20;  // larger buffers are freed
constexpr std::size_t kLongestDropped = 2048;     // bytes kept of a dropped reference
// International host names are slow to resolve.
constexpr std::size_t kLinksPerClockRead = 256;

}  // namespace

void StyleSheetReader::read_into(std::string_view bytes, std::string_view content_type,
                                 const Url& base, PageLinks& page) {
  page = PageLinks();
  if (bytes.size() > options_.max_bytes) {
    page.encoding = PageEncoding::utf8().name();
    page.skipped = LinksSkipped::kTooLarge;
    return;
  }
  const PageEncoding encoding = style_sheet_encoding(bytes, content_type);
  page.encoding = encoding.name();
  const std::string_view css = replace_invalid_utf8(decode_page(bytes, encoding, utf8_), valid_);
  page.skipped = read(css, encoding.output(), base, page);
  if (page.skipped != LinksSkipped::kNo) {
    page.links.clear();
    page.dropped.clear();
    page.invalid = 0;
    page.other_scheme = 0;
  }
  made_.clear();
  for (std::string* buffer : {&utf8_, &valid_, &query_}) {
    if (buffer->capacity() > kOrdinaryBytes) std::string().swap(*buffer);
  }
}

// Adds the links of `css` to an empty page.
LinksSkipped StyleSheetReader::read(std::string_view css, PageEncoding queries, const Url& base,
                                    PageLinks& page) {
  std::size_t memory = utf8_.capacity() + valid_.capacity();
  const auto deadline = thread_time() + options_.max_time;
  CssReferences references(css, CssSource::kStyleSheet, made_);
  for (std::size_t i = 1;; ++i) {
    made_.clear();  // the reference before is resolved
    const auto found = references.next();
    if (!found) return LinksSkipped::kNo;
    if (i % kLinksPerClockRead == 0 && thread_time() > deadline) return LinksSkipped::kTooSlow;
    const std::string_view reference =
        queries.is_utf8() ? found->url : encode_query(found->url, queries, query_);
    Url url;
    if (const auto parsed = Url::parse_into(reference, &base, url); !parsed) {
      const bool foreign = parsed.error().code == ErrorCode::kUnsupportedScheme;
      ++(foreign ? page.other_scheme : page.invalid);
      if (!options_.dropped) continue;
      page.dropped.push_back({std::string(found->url.substr(0, kLongestDropped)), foreign});
      memory += sizeof(DroppedLink) + page.dropped.back().text.capacity();
    } else {
      // Twice the size, since vectors grow by doubling.
      memory += 2 * sizeof(Link) + url.href().size();
      page.links.push_back({.url = std::move(url),
                            .kind = LinkKind::kResource,
                            .element = "css",
                            .attribute = to_string(found->use),
                            .rel = {}});
    }
    if (memory > options_.max_memory) return LinksSkipped::kTooLarge;
  }
}

}  // namespace trawl
