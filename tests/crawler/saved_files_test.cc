// The names of saved pages, and the tree they are in.
#include "crawler/output/saved_files.h"

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "crawler/output/saved_file_name.h"
#include "output_fixture.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

namespace fs = std::filesystem;
using test::read_all;
using test::TemporaryDirectory;

std::string name_of(std::string_view url) {
  return saved_file_name(*Url::parse(url)).path();
}

TEST(SavedFileName, IsThatOfWget) {
  EXPECT_EQ(name_of("http://a.example/"), "a.example/index.html");
  EXPECT_EQ(name_of("http://a.example/x/"), "a.example/x/index.html");
  EXPECT_EQ(name_of("https://a.example/x/y.html"), "a.example/x/y.html");
  EXPECT_EQ(name_of("http://a.example:8080/x"), "a.example:8080/x");
  EXPECT_EQ(name_of("http://a.example/x?a=1&b=2/3"), "a.example/x?a=1&b=2%2F3");
  EXPECT_EQ(name_of("http://a.example/?q"), "a.example/index.html?q");
  EXPECT_EQ(name_of("http://a.example/a%20b//c"), "a.example/a b/c");
  EXPECT_EQ(name_of("http://u:p@a.example/caf%C3%A9#top"), "a.example/caf\xC3\xA9");
}

TEST(SavedFileName, HostileUrlsStayInside) {
  EXPECT_EQ(name_of("http://a.example/x/%2e%2e/%2e%2e/etc"), "a.example/etc");
  EXPECT_EQ(name_of("http://a.example/..%2f..%2fetc"), "a.example/..%2F..%2Fetc");
  EXPECT_EQ(name_of("http://a.example/..%5cx"), "a.example/..%5Cx");
  EXPECT_EQ(name_of("http://a.example/a%00b%1b%7f"), "a.example/a%00b%1B%7F");
  EXPECT_EQ(name_of("http://a.example/%ff%c0%af"), "a.example/%FF%C0%AF");
  EXPECT_EQ(name_of("http://a.example/CON/aux.txt"), "a.example/%43ON/%61ux.txt");
  EXPECT_EQ(name_of("http://a.example/a./b%20"), "a.example/a%2E/b%20");
  const auto deep = saved_file_name(*Url::parse("http://a.example/" + [] {
    std::string path;
    for (int i = 0; i < 1000; ++i)
      path += "ab/";
    return path;
  }()));
  EXPECT_LE(deep.path().size(), kMaxSavedPath);
  const auto longest =
      saved_file_name(*Url::parse("http://a.example/" + std::string(3000, 'x') + ".html"));
  EXPECT_EQ(longest.file.size(), 255u);
  EXPECT_TRUE(longest.file.ends_with(".html"));
}

// Any URL: its file is inside, and no other's.
TEST(SavedFiles, RandomUrlsNeverMeet) {
  const TemporaryDirectory place;
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const fs::path root = place.path() / "files";
  auto files = SavedFiles::open(root, false);
  ASSERT_TRUE(files) << files.error().message;
  static const std::vector<std::string> kParts = {"a",
                                                  "A",
                                                  "b",
                                                  "/",
                                                  "/",
                                                  "//",
                                                  "%2f",
                                                  "..",
                                                  "%2e%2e",
                                                  ".",
                                                  "%00",
                                                  "index.html",
                                                  "con",
                                                  "NUL.txt",
                                                  "?",
                                                  "?x",
                                                  "%5c",
                                                  " ",
                                                  "%20",
                                                  "~",
                                                  "%C3%A9",
                                                  "%c3%89",
                                                  std::string(300, 'l'),
                                                  ".trawl",
                                                  "%ff"};
  std::map<std::string, std::string> url_of, body_of;
  for (int i = 0; i < 2000; ++i) {
    std::string text = "http://h.example/";
    for (auto n = random() % 6; n > 0; --n)
      text += kParts[random() % kParts.size()];
    const auto url = Url::parse(text);
    ASSERT_TRUE(url) << text;
    const std::string href(url->href_without_fragment());
    const std::string body = href + std::to_string(i);
    const auto path = (*files)->save(*url, body);
    ASSERT_TRUE(path) << text << ": " << path.error().message;
    const auto [known, is_new] = url_of.emplace(name_without_case(*path), href);
    EXPECT_TRUE(is_new || known->second == href)
        << *path << ": " << known->second << " and " << href;
    body_of[*path] = body;
    EXPECT_EQ((*files)->find(*url).value(), *path);
  }
  for (const auto& [path, body] : body_of) {
    EXPECT_EQ(read_all(root / path), body) << path;
    EXPECT_EQ(fs::weakly_canonical(root / path).string().find(fs::canonical(root).string()), 0u);
  }
}

TEST(SavedFiles, FollowsNoLinksAndKeepsWhatIsThere) {
  const TemporaryDirectory place;
  const fs::path root = place.path() / "files", outside = place.path() / "outside";
  fs::create_directories(root / "h.example");
  fs::create_directories(outside);
  fs::create_directory_symlink(outside, root / "h.example/dir");
  fs::create_directory_symlink(outside, root / "evil.example");
  fs::create_symlink(outside / "target", root / "h.example/file");
  auto files = SavedFiles::open(root, true);
  ASSERT_TRUE(files) << files.error().message;
  for (const char* url :
       {"http://h.example/dir/x", "http://evil.example/x", "http://h.example/file"}) {
    const auto path = (*files)->save(*Url::parse(url), "body");
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(read_all(root / *path), "body");
  }
  EXPECT_TRUE((*files)->sync());
  EXPECT_TRUE(fs::is_empty(outside));
  EXPECT_TRUE(fs::is_symlink(root / "h.example/file"));
}

TEST(SavedFiles, FilesAndFoldersOfOneName) {
  const TemporaryDirectory place;
  auto files = SavedFiles::open(place.path() / "files", false);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ((*files)->save(*Url::parse("http://h.example/a"), "1").value(), "h.example/a");
  const std::string below = (*files)->save(*Url::parse("http://h.example/a/b"), "2").value();
  EXPECT_TRUE(below.starts_with("h.example/a~") && below.ends_with("/b")) << below;
  EXPECT_EQ((*files)->save(*Url::parse("http://h.example/c/d"), "3").value(), "h.example/c/d");
  EXPECT_TRUE((*files)->save(*Url::parse("http://h.example/c"), "4")->starts_with("h.example/c~"));
  EXPECT_EQ((*files)->save(*Url::parse("http://h.example/a"), "5").value(), "h.example/a");
  files->reset();
  auto again = SavedFiles::open(place.path() / "files", false);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->save(*Url::parse("http://h.example/a/b"), "6").value(), below);
  EXPECT_TRUE((*again)->save(*Url::parse("http://h.example/A"), "7")->starts_with("h.example/A~"));
}

}  // namespace
}  // namespace trawl
