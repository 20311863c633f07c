// extract_links on any bytes: no crash, and every link is a URL that parses to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trawl/links.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const trawl::Url base = *trawl::Url::parse("http://site.example/dir/page?q");
  const std::string_view html(reinterpret_cast<const char*>(data), size);
  const trawl::PageLinks page = trawl::extract_links(html, base);
  for (const trawl::Link& link : page.links) {
    const auto again = trawl::Url::parse(link.url.href());
    if (!again || !(*again == link.url)) std::abort();
  }
  if (page.skipped != trawl::LinksSkipped::kNo && !page.links.empty()) std::abort();
  return 0;
}
