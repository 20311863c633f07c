// extract_links on any bytes: no crash, every link is a URL that parses to itself, its text is
// short, valid and collapsed, and distinct links are the same, counted.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trawl/links.h"

#include "base/utf8_validation.h"
#include "tests/support/link_occurrences.h"

static bool is_link_text(std::string_view text) {
  return text.size() <= trawl::kMaxLinkText && trawl::is_utf8(text) &&
         text.find_first_of("\t\n\f\r") == text.npos && text.find("  ") == text.npos &&
         !text.starts_with(' ') && !text.ends_with(' ');
}

static void check(std::string_view html, trawl::LinkKinds kinds) {
  static const trawl::Url base = *trawl::Url::parse("http://site.example/dir/page?q");
  trawl::LinkOptions options;
  options.kinds = kinds;
  options.texts = true;
  options.max_time = std::chrono::hours(1);  // the same links however slow the machine is
  const trawl::PageLinks page = trawl::extract_links(html, base, options);
  for (const trawl::Link& link : page.links) {
    const auto again = trawl::Url::parse(link.url.href());
    if (!again || !(*again == link.url)) std::abort();
    if (!is_link_text(link.text) || (link.element != "a" && !link.text.empty())) std::abort();
  }
  if (page.skipped != trawl::LinksSkipped::kNo && !page.links.empty()) std::abort();
  options.distinct = true;
  const trawl::PageLinks distinct = trawl::extract_links(html, base, options);
  if (trawl::link_occurrences(distinct) != trawl::link_occurrences(page)) std::abort();
  if (distinct.links.size() + distinct.repeated != page.links.size()) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view html(reinterpret_cast<const char*>(data), size);
  check(html, trawl::LinkKinds::all());
  // Without resources the scanner itself counts links that repeat one before.
  check(html, trawl::LinkKinds::pages());
  return 0;
}
