// Uses every public header of the parsers, as a program outside of the tree does.
#include <cstdio>

#include <trawl/link_header.h>
#include <trawl/links.h>
#include <trawl/robots.h>
#include <trawl/robots_directives.h>
#include <trawl/sitemap.h>

int main() {
  const trawl::Url page = *trawl::Url::parse("http://site.example/a/b");
  const bool good =
      trawl::extract_links("<a href=c>", page).links.at(0).url.path() == "/a/c" &&
      !trawl::Robots::parse("User-agent: *\nDisallow: /a/").allowed("bot", page) &&
      trawl::parse_link_header("</n>; rel=next", page).at(0).has_rel("next") &&
      trawl::parse_x_robots_tag("noindex", "bot").noindex &&
      trawl::Sitemap::parse("<urlset><url><loc>http://site.example/</loc></url></urlset>", page)
              .entries.size() == 1;
  std::puts(good ? "parsers: ok" : "parsers: wrong");
  return good ? 0 : 1;
}
