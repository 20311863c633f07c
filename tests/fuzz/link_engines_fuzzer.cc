// The two link engines on the same small page: they agree, or the page has one of the constructs
// in which Gumbo is known to differ from the standard (docs/links.md).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trawl/links.h"

#include "tests/support/known_engine_differences.h"
#include "tests/support/page_facts.h"

namespace {

trawl::LinkExtractor& extractor(trawl::LinkEngine engine) {
  static const auto make = [](trawl::LinkEngine one) {
    trawl::LinkOptions options;
    options.kinds = trawl::LinkKinds::all();
    options.engine = one;
    options.texts = true;
    return trawl::LinkExtractor(options);
  };
  static trawl::LinkExtractor scanner = make(trawl::LinkEngine::kScanner);
  static trawl::LinkExtractor gumbo = make(trawl::LinkEngine::kGumbo);
  return engine == trawl::LinkEngine::kScanner ? scanner : gumbo;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  static const trawl::Url base = *trawl::Url::parse("http://site.example/dir/page?q");
  const std::string_view html(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kType = "text/html; charset=utf-8";
  const auto scanned = extractor(trawl::LinkEngine::kScanner).extract(html, kType, base);
  const auto parsed = extractor(trawl::LinkEngine::kGumbo).extract(html, kType, base);
  if (parsed.skipped != trawl::LinksSkipped::kNo) return 0;
  const auto ours = trawl::facts(scanned);
  const auto theirs = trawl::facts(parsed);
  if (ours == theirs || trawl::has_known_engine_difference(html)) return 0;
  std::fputs(trawl::first_difference(ours, theirs).c_str(), stderr);
  std::abort();
}
