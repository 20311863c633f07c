// URLs as people type them, and lists of them.
#include "crawler/cli/typed_urls.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TypedUrl, GetsASchemeIfItHasNone) {
  EXPECT_EQ(typed_url("example.com").value(), "https://example.com/");
  EXPECT_EQ(typed_url(" Example.com/a?b=http://c ").value(), "https://example.com/a?b=http://c");
  EXPECT_EQ(typed_url("example.com:443").value(), "https://example.com/");
  EXPECT_EQ(typed_url("localhost:8000").value(), "http://localhost:8000/");
  EXPECT_EQ(typed_url("localhost").value(), "http://localhost/");
  EXPECT_EQ(typed_url("app.localhost/x").value(), "http://app.localhost/x");
  EXPECT_EQ(typed_url("127.0.0.1").value(), "http://127.0.0.1/");
  EXPECT_EQ(typed_url("10.0.0.1:80/x").value(), "http://10.0.0.1/x");
  EXPECT_EQ(typed_url("example.com:8080").value(), "http://example.com:8080/");
  EXPECT_EQ(typed_url("HTTP://example.com").value(), "http://example.com/");
  EXPECT_EQ(typed_url("[::1]:8080/x").value(), "http://[::1]:8080/x");
}

TEST(TypedUrl, SaysWhatIsWrong) {
  EXPECT_THAT(typed_url("").error().message, HasSubstr("empty"));
  EXPECT_THAT(typed_url("a b").error().message, HasSubstr("blanks"));
  EXPECT_THAT(typed_url("ftp://example.com/").error().message, HasSubstr("not an http(s) URL"));
  EXPECT_THAT(typed_url("htps://example.com/").error().message,
              HasSubstr("did you mean https://example.com/?"));
  EXPECT_FALSE(typed_url("https://exa mple.com/"));
  EXPECT_FALSE(typed_url("https://"));
}

TEST(TypedUrl, IsToldFromTheNamesOfFiles) {
  for (const char* url : {"https://example.com/", "example.com", "example.com/a", "localhost",
                          "localhost:8000", "127.0.0.1", "[::1]", "ftp://x/", "intranet:8080"}) {
    EXPECT_TRUE(looks_like_url(url)) << url;
  }
  for (const char* name : {"", "crawl", "no-such.toml", "urls.txt", "./example.com", "../x",
                           "state", "dir/my.toml", "a b.com", "pages.jsonl"}) {
    EXPECT_FALSE(looks_like_url(name)) << name;
  }
}

TEST(UrlLines, MayBeUrlsHostsAndJson) {
  const UrlLines lines = read_url_lines(
      "\xEF\xBB\xBF# a list\r\n\r\n  https://a.test/x#y \r\nb.test # and a comment\n"
      "{\"url\": \"https://c.test/\", \"depth\": 3, \"more\": [{\"url\": \"https://no.test/\"}]}\n"
      "\"https://d.test/\"\n\n");
  EXPECT_TRUE(lines.wrong.empty());
  EXPECT_THAT(lines.urls, ElementsAre("https://a.test/x#y", "https://b.test/", "https://c.test/",
                                      "https://d.test/"));
}

TEST(UrlLines, NameEachWrongLine) {
  const UrlLines lines =
      read_url_lines("https://a.test/\nmailto:x@y\n{\"href\": 3}\n{\"url\": \n{\"url\": 7}\na b\n");
  EXPECT_THAT(lines.urls, ElementsAre("https://a.test/"));
  std::vector<std::size_t> numbers;
  for (const WrongUrlLine& wrong : lines.wrong)
    numbers.push_back(wrong.line);
  EXPECT_THAT(numbers, ElementsAre(2, 3, 4, 5, 6));
}

TEST(UrlLines, HostileLinesNeedBoundedMemory) {
  const std::string deep = "{\"a\":" + std::string(1 << 20, '[');
  EXPECT_EQ(read_url_lines(deep).wrong.size(), 1u);
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "a b\n";
  const UrlLines lines = read_url_lines(many);
  EXPECT_EQ(lines.wrong.size(), kMostWrong);
  EXPECT_EQ(lines.more_wrong, 1000 - kMostWrong);
}

TEST(TextKind, ConfigsAndListsAreToldApart) {
  for (const char* config : {"", "# nothing\n", "[crawl]\nseeds = []\n", "crawl.seeds = [\"x\"]\n",
                             "a word\n", "key = 3", "]["})
    EXPECT_EQ(kind_of_text(config), TextKind::kConfig) << config;
  for (const char* list :
       {"https://a.test/\n", "\n# c\na.test\n", "{\"url\":\"https://a.test/\"}\n", "a.test/?b=c\n"})
    EXPECT_EQ(kind_of_text(list), TextKind::kUrls) << list;
}

TEST(DirectoryName, IsTheHostWithoutSurprises) {
  EXPECT_EQ(directory_name_of("https://www.Example.com:8080/a/../b"), "www.example.com");
  EXPECT_EQ(directory_name_of("http://127.0.0.1:8000/"), "127.0.0.1");
  EXPECT_EQ(directory_name_of("http://[::1]/"), "__1");
  EXPECT_EQ(directory_name_of("http://-x.test/").front(), '_');
  EXPECT_EQ(directory_name_of("http://example.com./"), "example.com");
  for (const char* hostile : {"http://../", "http://.../x", "http://.hidden.test/"}) {
    const std::string name = directory_name_of(hostile);
    EXPECT_NE(name.front(), '.') << hostile;
    EXPECT_EQ(name.find('/'), std::string::npos) << hostile;
  }
}

}  // namespace
}  // namespace trawl::cli
