#include "crawler/config/cookies_file.h"

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const auto kNow = std::chrono::system_clock::from_time_t(1'700'000'000);

class CookiesFileTest : public testing::Test {
 protected:
  tl::expected<CookiesFile, FileErrors> read(std::string_view text) {
    std::ofstream(path(), std::ios::binary) << text;
    return read_cookies_file(path(), kNow);
  }
  // "SITE: LINE" for each.
  std::vector<std::string> lines(std::string_view text) {
    const auto file = read(text);
    EXPECT_TRUE(file) << (file ? "" : file.error().listed.front().to_string());
    return file ? lines_of(*file) : std::vector<std::string>();
  }
  static std::vector<std::string> lines_of(const CookiesFile& file) {
    std::vector<std::string> all;
    for (const CookiesOfSite& site : file.sites) {
      for (const std::string& line : site.lines)
        all.push_back(site.site + ": " + line);
    }
    return all;
  }
  std::string error_of(std::string_view text) {
    const auto file = read(text);
    if (file) return "no error";
    return file.error().listed.front().to_string().substr(path().string().size());
  }
  std::filesystem::path path() const { return directory_.path() / "cookies.txt"; }

 private:
  const test::TemporaryDirectory directory_;
};

TEST_F(CookiesFileTest, CookiesBySite) {
  EXPECT_THAT(lines("# Netscape HTTP Cookie File\r\n\r\n"
                    ".example.co.uk\tTRUE\t/\tTRUE\t2000000000\tsid\ta b=c\r\n"
                    "www.example.co.uk\tFALSE\t/x\tfalse\t0\tlang\ten\n"
                    "#HttpOnly_.A.example.com\tTRUE\t/\tFALSE\t0\tn\tv"),
              ElementsAre("example.co.uk: .example.co.uk\tTRUE\t/\tTRUE\t2000000000\tsid\ta b=c",
                          "example.co.uk: www.example.co.uk\tFALSE\t/x\tFALSE\t0\tlang\ten",
                          "example.com: #HttpOnly_.a.example.com\tTRUE\t/\tFALSE\t0\tn\tv"));
  EXPECT_THAT(lines("127.0.0.1\tFALSE\t/\tFALSE\t0\tn\tv\nlocalhost\tFALSE\t/\tFALSE\t0\tn\tv\n"),
              ElementsAre("127.0.0.1: 127.0.0.1\tFALSE\t/\tFALSE\t0\tn\tv",
                          "localhost: localhost\tFALSE\t/\tFALSE\t0\tn\tv"));
  EXPECT_THAT(lines("\xEF\xBB\xBF# a\n"), IsEmpty());
  EXPECT_THAT(lines(""), IsEmpty());
}

TEST_F(CookiesFileTest, FormsOfOtherPrograms) {
  EXPECT_THAT(lines("a.example\tTRUE\t/\tFALSE\t0\tn\tv"),
              ElementsAre("a.example: .a.example\tTRUE\t/\tFALSE\t0\tn\tv"))
      << "a domain without its point";
  EXPECT_THAT(lines("a.example\tFALSE\t/\tFALSE\t1800000000.5\tn"),
              ElementsAre("a.example: a.example\tFALSE\t/\tFALSE\t1800000000\tn\t"))
      << "a part of a second, no value and no tab";
}

TEST_F(CookiesFileTest, TheLaterOneCountsAndExpiredOnesDoNot) {
  const auto file = read(
      "a.example\tFALSE\t/\tFALSE\t0\tn\tfirst\na.example\tFALSE\t/\tFALSE\t1600000000\tgone\tv\n"
      "a.example\tFALSE\t/\tFALSE\t0\tn\tnew\n");
  ASSERT_TRUE(file);
  EXPECT_THAT(lines_of(*file), ElementsAre("a.example: a.example\tFALSE\t/\tFALSE\t0\tn\tnew"));
  EXPECT_EQ(file->cookies, 1u);
  EXPECT_EQ(file->expired, 1u);
}

TEST_F(CookiesFileTest, ErrorsNameTheLineAndNotTheValue) {
  using namespace std::string_literals;
  const std::string good = "a.example\tFALSE\t/\tFALSE\t0\tn\tv\n";
  EXPECT_THAT(error_of(good + "a.example\tFALSE\t/\tFALSE\t0\tn\ts3\0cret\n"s),
              HasSubstr(":2:31: fetch.cookies_file: has a NUL byte"));
  EXPECT_THAT(error_of(good + good + "a.example s3cret\n"), HasSubstr(":3:1: "));
  EXPECT_THAT(error_of("a.example s3cret\n"), HasSubstr("has 1 of the 7 fields"));
  EXPECT_THAT(error_of("\x1b[2Ja\tFALSE\t/\tFALSE\t0\tn\tv"), HasSubstr("control character"));
  EXPECT_THAT(error_of("a b\tFALSE\t/\tFALSE\t0\tn\tv"), HasSubstr(":1:1: "));
  EXPECT_THAT(error_of("a\tno\t/\tFALSE\t0\tn\tv"), HasSubstr(":1:3: "));
  EXPECT_THAT(error_of("a\tTRUE\tx\tFALSE\t0\tn\tv"), HasSubstr("path"));
  EXPECT_THAT(error_of("a\tTRUE\t/\t1\t0\tn\tv"), HasSubstr("TRUE or FALSE"));
  EXPECT_THAT(error_of("a\tTRUE\t/\tTRUE\tsoon\tn\tv"), HasSubstr("seconds since 1970"));
  EXPECT_THAT(error_of("a\tTRUE\t/\tTRUE\t0\t\tv"), HasSubstr("no name"));
  EXPECT_THAT(error_of("a\tTRUE\t/\tTRUE\t0\tn\t" + std::string(10'000, 'x')),
              HasSubstr("more than 6144 bytes"));
  EXPECT_THAT(error_of("{\"cookies\":[\"s3cret\"]}"), testing::Not(HasSubstr("s3cret")));
  EXPECT_THAT(read_cookies_file("/nowhere/cookies.txt").error().listed.front().to_string(),
              HasSubstr("No such file"));
}

TEST_F(CookiesFileTest, FilesAndSitesAreBounded) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += fmt::format("www.a.example\tFALSE\t/\tFALSE\t0\tn{}\t{}\n", i, std::string(60, 'x'));
  EXPECT_THAT(error_of(text), HasSubstr("the cookies of a.example have more than 8 KiB"));
  text.clear();
  for (int i = 0; i < 2'400'000; ++i)
    text += fmt::format("h{}.example\tFALSE\t/\tFALSE\t0\tn\tv\n", i);
  EXPECT_THAT(
      error_of(text),
      HasSubstr("has 83 MiB, more than the limit of 64 MiB; keep the cookies of the sites"));
  text.resize(1u << 20);
  text.resize(text.rfind('\n') + 1);
  EXPECT_GT(lines(text).size(), 30'000u);
  for (char& c : text)
    c = c == '\t' ? ' ' : c;
  const auto wrong = read(text);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().listed.size(), 100u);
  EXPECT_GT(wrong.error().unlisted, 30'000u);
}

TEST(CookieExpiry, OfLinesWrittenBefore) {
  using namespace std::string_literals;
  EXPECT_EQ(cookie_expiry("a.example\tFALSE\t/\tFALSE\t0\tn\tv"), 0);
  EXPECT_EQ(cookie_expiry("#HttpOnly_a.example\tFALSE\t/\tFALSE\t7\tn\t"), 7);
  EXPECT_EQ(cookie_expiry("a.example\tFALSE\t/\tFALSE\t0\tn\tv\0"s), std::nullopt);
  EXPECT_EQ(cookie_expiry("a.example\tFALSE\t/\tFALSE"), std::nullopt);
  EXPECT_EQ(cookie_expiry(""), std::nullopt);
}

}  // namespace
}  // namespace trawl
