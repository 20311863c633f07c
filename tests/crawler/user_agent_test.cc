#include "crawler/config/user_agent.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/headers/product_token.h"

namespace trawl {
namespace {

using testing::HasSubstr;

TEST(RobotsToken, IsTheFirstProductsOrThatOfACompatiblePart) {
  const std::pair<const char*, const char*> cases[] = {
      {"mybot/1.0 (+https://my.site/bot)", "mybot"},
      {"trawl/0.1", "trawl"},
      {"my-bot_2", "my-bot_2"},
      {"", ""},
      {"/1.0", ""},
      {"Mozilla/5.0 (compatible; mybot/1.0)", "mybot"},
      {"Mozilla/5.0 (compatible; mybot/1.0; +https://my.site/bot)", "mybot"},
      {"Mozilla/5.0 (compatible;mybot/1.0;+https://my.site/bot)", "mybot"},
      {"mozilla/5.0 (Compatible; mybot 1.0)", "mybot"},
      {"Mozilla/5.0 (compatible; mybot)", "mybot"},
      {"Mozilla/5.0 (compatible; +https://my.site/bot; bot@my.site; mybot/1.0)", "mybot"},
      {"Mozilla/5.0 (compatible; https://my.site/bot; bot@my.site; my.site; mybot)", "mybot"},
      {"Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 (KHTML, like Gecko; compatible; mybot/2; "
       "+http://my.site) Chrome/1.2 Safari/537.36",
       "mybot"},
      {"Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41 "
       "(compatible; mybot/2.1; +http://my.site/bot)",
       "mybot"},
      {"Mozilla/5.0 (compatible; Windows NT 6.1; mybot/1.0)", "mybot"},
      {"Mozilla/5.0 (compatible; mybot/1.0", "mybot"},
      {"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/115.0", "Mozilla"},
      {"Mozilla/5.0 (compatible)", "Mozilla"},
      {"Mozilla/5.0 (compatible; )", "Mozilla"},
      {"Mozilla/5.0 (incompatible; mybot/1.0)", "Mozilla"},
      {"Mozilla", "Mozilla"},
      {"Mozillabot/1.0 (compatible; other/1.0)", "Mozillabot"},
      {"mybot/1.0 (compatible; other/1.0)", "mybot"},
  };
  for (const auto& [agent, token] : cases)
    EXPECT_EQ(robots_token(agent), token) << agent;
}

TEST(RobotsToken, TheKeyCountsBeforeTheUserAgent) {
  CrawlConfig::Crawl crawl;
  EXPECT_EQ(robots_token_of(crawl), "trawl");
  crawl.user_agent = "Mozilla/5.0 (compatible; mybot/1.0)";
  EXPECT_EQ(robots_token_of(crawl), "mybot");
  crawl.robots_token = "otherbot";
  EXPECT_EQ(robots_token_of(crawl), "otherbot");
}

TEST(UserAgent, IsWarnedOfWithoutContact) {
  EXPECT_THAT(user_agent_warning("trawl/0.1"), HasSubstr("default"));
  for (const char* nobody :
       {"mybot/1.0", "mybot/1.0 (a crawler)", "Mozilla/5.0 (compatible; mybot/1)",
        "mybot/1.0 (+https://)", "mybot @ home", "mybot@", "@my.site"}) {
    EXPECT_THAT(user_agent_warning(nobody), HasSubstr("neither a URL nor a mail address"))
        << nobody;
  }
}

TEST(UserAgent, IsWarnedOfIfItIsLeftAsInTheExamples) {
  for (const char* example :
       {"mybot/1.0 (+https://example.org/mybot; crawler@example.org)",
        "mybot/1.0 (+https://example.com/about-our-crawler)",
        "mybot/1.0 (+https://www.example.net/)", "mybot/1.0 (bot@EXAMPLE.org)"}) {
    EXPECT_THAT(user_agent_warning(example), HasSubstr("example")) << example;
  }
}

TEST(UserAgent, IsGoodWithAUrlOrAMailAddress) {
  for (const char* good :
       {"mybot/1.0 (+https://my.site/bot)", "mybot/1.0 (+http://my.site)",
        "mybot/1.0 (bot@my.site)", "mybot/1.0 (www.my.site/bot)",
        "mybot/1.0 (+https://intranet/bot)", "mybot/1.0 (+https://[2001:db8::1]/)",
        "mybot/1.0 (+https://notexample.org/)", "mybot/1.0 (mailto:me@my.site)",
        "mybot/1.0 (+https://example.org/x; me@my.site)"}) {
    EXPECT_EQ(user_agent_warning(good), "") << good;
  }
}

}  // namespace
}  // namespace trawl
