// The input as a Link header and as an X-Robots-Tag: no crash, sane answers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trawl/link_header.h"
#include "trawl/robots_directives.h"

#include "base/utf8.h"
#include "url/percent_encoding.h"

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

void check_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (trawl::decode_utf8(text, at) == trawl::kReplacementCharacter)
      expect(text.substr(start, at - start) == "\xEF\xBF\xBD");
  }
}

void check_links(std::string_view input) {
  static const trawl::Url base = *trawl::Url::parse("http://site.example/a/b?c#d");
  const auto links = trawl::parse_link_header(input, base);
  expect(links.size() <= 1000);
  for (const trawl::HeaderLink& link : links) {
    expect(trawl::Url::parse(link.url.href()) == link.url);
    for (const std::string_view text : {link.rel, link.type, link.hreflang, link.title})
      check_text(text);
    expect(link.rel.find("  ") == std::string::npos && !link.rel.starts_with(' '));
    expect(!link.has_rel(""));
    expect(link.rel.empty() ||
           link.has_rel(std::string_view(link.rel).substr(0, link.rel.find(' '))));
  }
  // Links stand by themselves: one in front changes none of them.
  const auto more = trawl::parse_link_header("<x>;rel=y," + std::string(input), base);
  expect(links.size() == 1000 || more.size() == links.size() + 1);
  for (std::size_t i = 0; i + 1 < more.size(); ++i)
    expect(more[i + 1].url == links[i].url && more[i + 1].title == links[i].title);
}

void check_directives(std::string_view input) {
  const auto forbids_less = [](const trawl::RobotsDirectives& a, const trawl::RobotsDirectives& b) {
    trawl::RobotsDirectives both = a;
    both |= b;
    return both == b;
  };
  const auto ours = trawl::parse_x_robots_tag(input, "trawl");
  const auto of_all = trawl::parse_x_robots_tag(input, "");
  expect(forbids_less(of_all, ours));
  expect(trawl::parse_x_robots_tag(input, "TRAWL/0.1 (+http://trawl.example/)") == ours);
  trawl::parse_robots_meta(input);
  const std::string again = std::string(input) + "\nnoindex";
  expect(trawl::parse_x_robots_tag(again, "trawl").noindex);
  expect(forbids_less(ours, trawl::parse_x_robots_tag(again, "trawl")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_links(input);
  check_directives(input);
  return 0;
}
