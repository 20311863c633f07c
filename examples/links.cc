// Prints the links of an HTML page on standard input, one URL a line.
//
//   example_links https://example.com/dir/page.html <page.html
#include "trawl/links.h"

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  const auto base = trawl::Url::parse(argc > 1 ? argv[1] : "");
  if (!base) {
    std::fprintf(stderr, "usage: example_links URL <PAGE\n%s\n", base.error().message.c_str());
    return 2;
  }
  const std::string html{std::istreambuf_iterator<char>(std::cin), {}};
  trawl::LinkExtractor extractor;
  for (const trawl::Link& link : extractor.extract(html, "text/html", *base).links)
    if (link.follow) std::cout << link.url.href() << '\n';
}
