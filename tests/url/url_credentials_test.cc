#include "url/url_credentials.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(UrlCredentials, AreLeftOut) {
  const std::vector<std::pair<std::string, std::string>> urls{
      {"http://user:pass@h/x", "http://h/x"},
      {"https://user@h:8080?a@b", "https://h:8080?a@b"},
      {"http://u:p@[::1]/@x#@", "http://[::1]/@x#@"},
      {"http://a@b@h", "http://h"},
      {"//user:pass@h/x", "//h/x"},
      {"http:\\\\user:pass@h\\x@y", "http:\\\\h\\x@y"},
      {"ftp://user:pass@h/x", "ftp://h/x"},
      {"http:////user:pass@h", "http:////h"},
  };
  for (const auto& [url, without] : urls)
    EXPECT_EQ(without_credentials(url), without);
  for (const std::string same :
       {"", "http://h/a@b", "http://h?u:p@h", "http://h/#u:p@h", "mailto:user@h", "user@h",
        "/x?next=http://u:p@h/", "http://", "//", "http://h/?q=//u:p@h"})
    EXPECT_EQ(without_credentials(same), same);
}

TEST(UrlCredentials, AreScrubbedFromMessages) {
  EXPECT_EQ(scrubbed("cannot parse \"http://u:p@[\": no host"),
            "cannot parse \"http://[\": no host");
  EXPECT_EQ(scrubbed("http://u:p@h/: to http://x@y/ 'ftp://a:b@c'"),
            "http://h/: to http://y/ 'ftp://c'");
  for (const std::string same : {"", "mail a@b", "http://h/ and a@b", "//", "a // b@c"})
    EXPECT_EQ(scrubbed(same), same);
}

}  // namespace
}  // namespace trawl
