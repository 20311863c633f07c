// The table of keys in the docs and the config to start from have every key as it is.
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using testing::ElementsAre;

// The row of docs/config.md for a key.
std::string docs_row(const ConfigKey& key) {
  const std::string value = key.write(CrawlConfig{});
  const std::string standard = value.empty() || value == "[]" ? "unset" : '`' + value + '`';
  return fmt::format("| `{}` | {} | {} | {} | {} |", key.name, key.doc, key.type, key.range,
                     standard);
}

TEST(ConfigDocs, HaveEveryKeyAsItIs) {
  const std::string docs = contents(source_dir() / "docs/config.md");
  std::size_t rows = 0;
  for (std::size_t at = docs.find("\n| `"); at != std::string::npos;
       at = docs.find("\n| `", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, config_keys().size());
  for (const ConfigKey& key : config_keys()) {
    EXPECT_NE(docs.find('\n' + docs_row(key) + '\n'), std::string::npos)
        << "docs/config.md lacks this row:\n"
        << docs_row(key);
  }
}

TEST(QuickstartConfig, IsAcceptedAndHoldsTheDefaults) {
  const auto config = load_config(source_dir() / "config/quickstart.toml");
  ASSERT_TRUE(config.has_value()) << testing::PrintToString(texts(config));
  CrawlConfig expected;
  expected.crawl.seeds = {"https://example.com/"};
  expected.crawl.state_dir = "quickstart-state";
  EXPECT_EQ(*config, expected);
}

TEST(QuickstartConfig, HasEveryKeySetOrCommentedOut) {
  std::stringstream lines(contents(source_dir() / "config/quickstart.toml"));
  std::string with_all;
  std::string table;
  std::vector<std::string> named;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) table = line.substr(1, line.find(']') - 1);
    const std::string bare = line.starts_with("# ") ? line.substr(2) : line;
    const std::string name = table + '.' + bare.substr(0, bare.find(" = "));
    if (find_config_key(name) == nullptr) continue;
    named.push_back(name);
    // The seed file need not exist.
    if (name != "crawl.seed_file")
      with_all += fmt::format("{} = {}\n", name, bare.substr(bare.find(" = ") + 3));
  }
  std::vector<std::string> known;
  for (const ConfigKey& key : config_keys())
    known.push_back(key.name);
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(known));
  EXPECT_THAT(errors(with_all), ElementsAre());
}

}  // namespace
}  // namespace trawl::test
