#include "crawler/parse/requisites.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

// The paths of the requisites of a page.
std::vector<std::string> requisites_of(std::string_view html) {
  LinkOptions options;
  options.kinds = LinkKinds::all();
  options.requisites = true;
  const PageLinks page = extract_links(html, *Url::parse("http://a.test/"), options);
  std::vector<std::string> paths;
  for (const Link& link : page.links) {
    if (is_requisite(link)) paths.emplace_back(link.url.path());
  }
  return paths;
}

TEST(Requisites, AreWhatABrowserLoads) {
  EXPECT_THAT(requisites_of("<img src=1><script src=2></script><iframe src=3></iframe>"
                            "<object data=4></object><video poster=5><track src=6></video>"
                            "<p style='background: url(7)'>"),
              testing::ElementsAre("/1", "/2", "/3", "/4", "/5", "/6", "/7"));
  EXPECT_THAT(requisites_of("<link rel='shortcut ICON' href=1><link rel=stylesheet href=2>"
                            "<link rel='preload' href=3><link rel='alternate stylesheet' href=4>"
                            "<link rel=manifest href=5>"),
              testing::ElementsAre("/1", "/2", "/3", "/4", "/5"));
}

TEST(Requisites, ThatAreStyleSheets) {
  const PageLinks page = extract_links(
      "<link rel='alternate STYLESHEET' href=1><style>@import '2';</style>"
      "<link rel=icon href=3><img src=4><p style='background: url(5)'>",
      *Url::parse("http://a.test/"), {.kinds = {LinkKind::kResource}});
  std::vector<std::string> paths;
  for (const Link& link : page.links) {
    if (loads_style_sheet(link)) paths.emplace_back(link.url.path());
  }
  EXPECT_THAT(paths, testing::ElementsAre("/1", "/2"));
}

TEST(Requisites, AreNotWhereAPageLeads) {
  EXPECT_THAT(
      requisites_of("<a href=1>x</a><area href=2><form action=3></form>"
                    "<blockquote cite=4></blockquote><link rel=next href=5>"
                    "<link rel=search href=6><link rel=alternate href=7><link href=8>"
                    "<link rel='dns-prefetch' href=9><meta http-equiv=refresh content='1;10'>"),
      testing::IsEmpty());
}

}  // namespace
}  // namespace trawl
