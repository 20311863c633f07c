#include "crawler/status/page/status_page.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace trawl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size()))
    ++found;
  return found;
}

// The text of the element with the report.
std::string report_in(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(kBegin);
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + kBegin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

TEST(StatusPage, HasTheTokenAndTheNonceOfItsPolicy) {
  const std::string page = status_page("0123abcd", "feed42");
  EXPECT_THAT(page, HasSubstr("<meta name=\"trawl-token\" content=\"0123abcd\">"));
  EXPECT_EQ(count(page, "nonce=\"feed42\""), 2U);  // style and script
  EXPECT_EQ(count(page, "{{"), 0U);
  EXPECT_THAT(status_page_policy("feed42"), HasSubstr("script-src 'nonce-feed42';"));
  EXPECT_THAT(status_page_policy("feed42"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(status_page_policy("feed42"), Not(HasSubstr("unsafe")));
  EXPECT_EQ(report_in(page), "");
}

TEST(StatusPage, HasNoTokenWithoutOne) {
  EXPECT_THAT(status_page("", "feed42"), Not(HasSubstr("<meta name=\"trawl-token\"")));
}

TEST(StatusPage, LoadsNothingFromElsewhere) {
  const std::string page = status_page("t", "n");
  for (const char* loads : {"src=", "@import", "url(", "https://"})
    EXPECT_THAT(page, Not(HasSubstr(loads))) << loads;
}

TEST(ReportPage, HostileTextStaysInTheReport) {
  const nlohmann::json report{
      {"status",
       {{"failures",
         {{{"reason", "</script><script>alert(1)</script>"}, {"url", "http://a/<!--<script>"}}}},
        {"state_dir", "{{script}} {{meta}}"}}}};
  const std::string page = report_page(report.dump());
  // That of the data and that of the page.
  EXPECT_EQ(count(page, "</script>"), 2U);
  EXPECT_EQ(count(page, "<!--"), 0U);
  EXPECT_EQ(nlohmann::json::parse(report_in(page)), report);
  EXPECT_THAT(page, HasSubstr("http-equiv=\"Content-Security-Policy\""));
  EXPECT_THAT(page, Not(HasSubstr("<meta name=\"trawl-token\"")));
}

}  // namespace
}  // namespace trawl
