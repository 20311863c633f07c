// The constructs of docs/links.md on which the engines differ, a page each: what either says.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

namespace trawl {
namespace {

struct Difference {
  std::string_view html;
  std::vector<std::string> scanner;  // paths, as the HTML Standard has them
  std::vector<std::string> gumbo;
};

std::vector<std::string> paths(std::string_view html, LinkEngine engine) {
  LinkOptions options;
  options.kinds = LinkKinds::all();
  options.engine = engine;
  const PageLinks page = extract_links(html, *Url::parse("http://site.example/"), options);
  EXPECT_EQ(page.engine, engine) << html;
  std::vector<std::string> result;
  for (const Link& link : page.links)
    result.emplace_back(link.url.path());
  return result;
}

TEST(EngineDifferences, AreThoseThatAreListed) {
  const Difference differences[] = {
      {"<a h h ref=x>", {}, {"/x"}},
      {"<svg></p><style><a href=x></style>", {}, {"/x"}},
      {"<svg><g></g ><a href=x></a ></svg ><style><a href=y></style>", {"/x"}, {"/x", "/y"}},
      {"<select><hr style='a:url(x)'></select>", {"/x"}, {}},
      {"<a href=x&#4294967361;>", {"/x%EF%BF%BD"}, {"/xA"}},
      {"<a href=\x01x title=\xF3\xB0\x80\x80>", {"/x"}, {"/%EF%BF%BDx"}},
  };
  for (const Difference& difference : differences) {
    EXPECT_EQ(paths(difference.html, LinkEngine::kScanner), difference.scanner) << difference.html;
    EXPECT_EQ(paths(difference.html, LinkEngine::kGumbo), difference.gumbo) << difference.html;
  }
}

}  // namespace
}  // namespace trawl
