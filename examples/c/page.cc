// The C interface from C++: prints the canonical keys of the links of a page on standard input that
// a robots.txt allows.
//
//   page URL [ROBOTS_TXT] < page.html
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include <trawl/trawl.h>

namespace {

template <auto kFree>
struct Free {
  template <class Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Url = std::unique_ptr<trawl_url, Free<trawl_url_free>>;
using Robots = std::unique_ptr<trawl_robots, Free<trawl_robots_free>>;
using Links = std::unique_ptr<trawl_links, Free<trawl_links_free>>;
using Canonicalizer = std::unique_ptr<trawl_canonicalizer, Free<trawl_canonicalizer_free>>;

// Calls `call(arguments..., &object, &error)` and returns the object.
template <class Owner, class Call, class... Arguments>
Owner made(Call call, Arguments... arguments) {
  typename Owner::pointer object = nullptr;
  trawl_error* error = nullptr;
  if (call(arguments..., &object, &error) != TRAWL_OK) {
    std::cerr << "page: " << trawl_error_message(error) << '\n';
    std::exit(1);
  }
  return Owner(object);
}

trawl_str view(const std::string& text) {
  return {text.data(), text.size()};
}

std::string all_of(std::istream& from) {
  return {std::istreambuf_iterator<char>(from), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: page URL [ROBOTS_TXT] < page.html\n";
    return 2;
  }
  const Url base = made<Url>(trawl_url_parse, trawl_str_of(argv[1]), nullptr);
  std::ifstream rules(argc > 2 ? argv[2] : "/dev/null");
  const Robots robots = made<Robots>(trawl_robots_parse, view(all_of(rules)));
  const trawl_str rule = trawl_str_of("sort_query");
  const auto canonical = made<Canonicalizer>(trawl_canonicalizer_create, &rule, 1);
  const Links links = made<Links>(trawl_links_extract, view(all_of(std::cin)), base.get(), nullptr);
  for (size_t i = 0; i < trawl_links_count(links.get()); ++i) {
    trawl_link link;
    trawl_link_init(&link);
    trawl_links_get(links.get(), i, &link, nullptr);
    const Url url = made<Url>(trawl_url_parse, link.url, nullptr);
    int32_t allowed = 0;
    trawl_robots_allowed(robots.get(), trawl_str_of("trawl"), url.get(), &allowed, nullptr);
    trawl_text* key = nullptr;
    if (!allowed || trawl_canonicalizer_key(canonical.get(), url.get(), &key, nullptr)) continue;
    std::printf("%s\n", trawl_text_get(key).data);
    trawl_text_free(key);
  }
}
