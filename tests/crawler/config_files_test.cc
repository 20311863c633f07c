// Configs and seed lists in files.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/crawl_config.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(ConfigFiles, SeedsOfASeedFileAreAppended) {
  const auto file = write("seeds.txt",
                          "\xEF\xBB\xBF# ours\n\n  http://b.example/1  \r\n\t# no\n"
                          "https://c.example/#x");
  const CrawlConfig config =
      accepted(minimal_with(fmt::format("seed_file = \"{}\"\n", file.string())));
  EXPECT_THAT(config.crawl.seeds,
              ElementsAre("http://a.example/", "http://b.example/1", "https://c.example/#x"));
  // Alone it is enough.
  EXPECT_THAT(
      accepted("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + file.string()}).crawl.seeds,
      ElementsAre("http://b.example/1", "https://c.example/#x"));
}

TEST_F(ConfigFiles, BadSeedFilesAreNamedWithTheLine) {
  const auto errors_with = [](const std::filesystem::path& file) {
    return errors("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + file.string()});
  };
  const auto bad = write("bad.txt", "# x\nhttp://b.example/\n\nnot a url\nftp://c.example/\n");
  EXPECT_THAT(errors_with(bad),
              ElementsAre(AllOf(StartsWith(bad.string() + ":4:1: expected an http(s) URL; found "),
                                HasSubstr("\"not a url\"")),
                          StartsWith(bad.string() + ":5:1: expected an http(s) URL")));
  const auto empty = write("empty.txt", "# nothing\n\n");
  EXPECT_THAT(errors_with(empty), ElementsAre(StartsWith(empty.string() + ": crawl.seed_file: ")));
  const auto missing = directory() / "none.txt";
  EXPECT_THAT(errors_with(missing),
              ElementsAre(missing.string() +
                          ": crawl.seed_file: cannot be read: No such file or directory"));
}

TEST_F(ConfigFiles, ASeedHasNothingBehindItButAComment) {
  const auto good = write("good.txt",
                          "http://a.example/ # first\nhttp://b.example/#part\t# with a fragment\n"
                          "http://c.example/\t\n\xC2\xA0http://d.example/\xE3\x80\x80\v\r\n  #\n");
  EXPECT_THAT(
      accepted("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + good.string()}).crawl.seeds,
      ElementsAre("http://a.example/", "http://b.example/#part", "http://c.example/",
                  "http://d.example/"));
  const std::string behind[] = {"\t5",
                                " 5",
                                "\t\thttp://b.example/",
                                "\f5",
                                "\v5",
                                "\r5",
                                "\xC2\xA0"
                                "5",
                                " x#y",
                                "\t2026-01-01\tdaily",
                                std::string("\0"
                                            "5",
                                            2)};
  for (const std::string& text : behind) {
    const auto bad = write("bad.txt", "# x\nhttp://a.example/" + text + "\nhttp://b.example/\n");
    EXPECT_THAT(errors("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + bad.string()}),
                ElementsAre(AllOf(StartsWith(bad.string() + ":2:"),
                                  HasSubstr("after \"http://a.example/\""))))
        << text;
  }
}

TEST_F(ConfigFiles, EveryBadSeedIsListedOrCounted) {
  std::string text;
  for (int i = 0; i < 1500; ++i)
    text += "http://a.example/ " + std::to_string(i) + "\nhttp://b.example/\n";
  const auto bad = write("bad.txt", text);
  const auto found = errors("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + bad.string()});
  ASSERT_EQ(found.size(), 1001u);
  EXPECT_THAT(found[999], StartsWith(bad.string() + ":1999:"));
  EXPECT_THAT(found.back(), HasSubstr("and 500 more errors"));
  const auto long_ones =
      write("long.txt", "http://a.example/\nhttp://b.example/1234567890123456\n");
  EXPECT_THAT(errors("[crawl]\nstate_dir = \"s\"\n",
                     {"crawl.seed_file=" + long_ones.string(), "scope.max_url_length=32"}),
              ElementsAre(AllOf(StartsWith(long_ones.string() + ":2:1:"),
                                HasSubstr("scope.max_url_length = 32"))));
}

TEST_F(ConfigFiles, AFileThatCannotBeReadIsSaidSo) {
  EXPECT_THAT(texts(load_config(directory() / "none.toml")),
              ElementsAre(AllOf(StartsWith((directory() / "none.toml").string() + ": "),
                                HasSubstr("No such file or directory"))));
  EXPECT_THAT(texts(load_config(directory())), ElementsAre(HasSubstr("Is a directory")));
  const auto large = write("large.toml", std::string((16u << 20) + 1, '\n'));
  EXPECT_THAT(texts(load_config(large)), ElementsAre(HasSubstr("more than 16 MiB")));
  EXPECT_THAT(texts(load_config("/dev/zero")), ElementsAre(HasSubstr("more than 16 MiB")));
}

TEST_F(ConfigFiles, AFileIsReadWithItsNameInErrors) {
  const auto good = write("good.toml", kMinimal);
  const auto config = load_config(good, {"fetch.threads=7"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->fetch.threads, 7u);
  const auto bad = write("bad.toml", minimal_with("[fetch]\nthreads = -3\n"));
  EXPECT_THAT(texts(load_config(bad)),
              ElementsAre(StartsWith(bad.string() + ":5:11: fetch.threads: ")));
}

TEST_F(ConfigFiles, WrittenAsTomlItNeedsNeitherTheSeedFileNorTheCurrentDirectory) {
  const auto file = write("seeds.txt", "http://b.example/\n");
  const CrawlConfig config =
      accepted(minimal_with(""), {"crawl.seed_file=" + file.string(), "log.file=x.log"});
  const CrawlConfig again = accepted(to_toml(config));
  EXPECT_THAT(again.crawl.seeds, ElementsAre("http://a.example/", "http://b.example/"));
  EXPECT_EQ(again.crawl.seed_file, "");
  EXPECT_EQ(again.crawl.state_dir, std::filesystem::current_path() / "state");
  EXPECT_EQ(again.log.file, std::filesystem::current_path() / "x.log");
}

}  // namespace
}  // namespace trawl::test
