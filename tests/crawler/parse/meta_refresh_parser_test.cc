#include "crawler/parse/html/meta_refresh_parser.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl {
namespace {

struct Case {
  std::string_view content;
  int delay;  // -1: no refresh
  std::string_view url;
};

void check(const Case& expected) {
  const auto refresh = parse_meta_refresh(expected.content);
  ASSERT_EQ(refresh.has_value(), expected.delay >= 0) << expected.content;
  if (!refresh) return;
  EXPECT_EQ(refresh->delay.count(), expected.delay) << expected.content;
  EXPECT_EQ(refresh->url, expected.url) << expected.content;
}

TEST(MetaRefresh, Delays) {
  for (const Case& expected : {
           Case{"5", 5, ""},    Case{" \t\n\f\r5", 5, ""}, Case{"0", 0, ""},
           Case{"007", 7, ""},  Case{".", 0, ""},          Case{".5", 0, ""},
           Case{"1.9", 1, ""},  Case{"1.2.3.4;x", 1, "x"}, Case{"5 ", 5, ""},
           Case{"5;", 5, ""},   Case{"5 ; ", 5, ""},       Case{"", -1, ""},
           Case{"  ", -1, ""},  Case{"x", -1, ""},         Case{"-1", -1, ""},
           Case{"+1", -1, ""},  Case{";url=x", -1, ""},    Case{"url=x", -1, ""},
           Case{"5x", -1, ""},  Case{"5:x", -1, ""},       Case{"5\vx", -1, ""},
           Case{"\v5", -1, ""},
       }) {
    check(expected);
  }
}

// After the cases of web-platform-tests' html/semantics/document-metadata/the-meta-element/
// pragma-directives/attr-meta-http-equiv-refresh.
TEST(MetaRefresh, Urls) {
  for (const Case& expected : {
           Case{"1; url=foo", 1, "foo"},
           Case{"1, url=foo", 1, "foo"},
           Case{"1 url=foo", 1, "foo"},
           Case{"1;;url=foo", 1, ";url=foo"},
           Case{"1,,url=foo", 1, ",url=foo"},
           Case{"1;foo", 1, "foo"},
           Case{"1; foo bar", 1, "foo bar"},
           Case{"1 foo", 1, "foo"},
           Case{"1 ; foo", 1, "foo"},
           Case{"1; URL = foo", 1, "foo"},
           Case{"1; Url\t=\nfoo", 1, "foo"},
           Case{"1; url foo", 1, "url foo"},
           Case{"1; ur=foo", 1, "ur=foo"},
           Case{"1; u", 1, "u"},
           Case{"1; urll=foo", 1, "urll=foo"},
           Case{"1; url==foo", 1, "=foo"},
           Case{"1; url=", 1, ""},
           Case{"1; url='foo'", 1, "foo"},
           Case{"1; url=\"foo\"", 1, "foo"},
           Case{"1; url='foo", 1, "foo"},
           Case{"1; url='foo'bar", 1, "foo"},
           Case{"1; url='foo\"bar'", 1, "foo\"bar"},
           Case{"1; url=foo'bar", 1, "foo'bar"},
           Case{"1; url=' foo '", 1, " foo "},
           Case{"1; url=''", 1, ""},
           Case{"1; 'foo'", 1, "foo"},
           Case{"1; 'foo", 1, "foo"},
           Case{"1; \"url=foo\"", 1, "url=foo"},
           Case{"1; url url=foo", 1, "url url=foo"},
           Case{"1;\xC2\xA0x", 1, "\xC2\xA0x"},
       }) {
    check(expected);
  }
}

TEST(MetaRefresh, LongDelaysAreAYear) {
  const auto year = std::chrono::seconds(365 * 24 * 3600);
  EXPECT_EQ(parse_meta_refresh("31536000")->delay, year);
  EXPECT_EQ(parse_meta_refresh("31535999")->delay, year - std::chrono::seconds(1));
  EXPECT_EQ(parse_meta_refresh("9223372036854775808;x")->delay, year);
  EXPECT_EQ(parse_meta_refresh(std::string(1'000'000, '9') + ";x")->url, "x");
}

}  // namespace
}  // namespace trawl
