// The first line of the input is a path, the rest a robots.txt: no crash, sane answers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trawl/robots.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto url = trawl::Url::parse("http://site.example/" + std::string(input.substr(0, end)));
  if (!url) return 0;
  const trawl::Robots robots = trawl::Robots::parse(input.substr(end));

  const bool first = robots.allowed("trawl", *url);
  if (first != robots.allowed("TRAWL/1.0", *url)) std::abort();
  if (url->path() == "/robots.txt" && !url->has_query() && !first) std::abort();
  const auto delay = robots.crawl_delay("trawl");
  if (delay && (delay->count() < 0 || delay->count() > 24 * 3600 * 1000)) std::abort();
  for (const std::string& sitemap : robots.sitemaps()) {
    if (!trawl::Url::parse(sitemap)) std::abort();
  }
  return 0;
}
