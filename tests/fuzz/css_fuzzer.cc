// CssReferences and StyleSheetReader on any bytes: no crash; no URL is empty or only a fragment;
// views lie in the sheet; every link is a URL that parses to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>

#include "trawl/links.h"

#include "crawler/parse/css/css_references.h"
#include "crawler/parse/css/style_sheet_reader.h"

static void read(std::string_view css, trawl::CssSource source) {
  std::deque<std::string> made;
  trawl::CssReferences references(css, source, made);
  while (const auto found = references.next()) {
    const std::string_view url = found->url;
    std::size_t first = 0;
    while (first < url.size() && static_cast<unsigned char>(url[first]) <= ' ')
      ++first;
    if (first == url.size() || url[first] == '#') std::abort();
    const bool in_sheet =
        url.data() >= css.data() && url.data() + url.size() <= css.data() + css.size();
    if (!in_sheet && (made.empty() || url.data() != made.back().data())) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const trawl::Url base = *trawl::Url::parse("http://site.example/dir/s.css");
  const std::string_view css(reinterpret_cast<const char*>(data), size);
  read(css, trawl::CssSource::kStyleSheet);
  read(css, trawl::CssSource::kDeclarations);
  trawl::PageLinks page;
  trawl::StyleSheetReader(trawl::LinkOptions{}).read_into(css, "", base, page);
  for (const trawl::Link& link : page.links) {
    const auto again = trawl::Url::parse(link.url.href());
    if (!again || !(*again == link.url)) std::abort();
  }
  return 0;
}
