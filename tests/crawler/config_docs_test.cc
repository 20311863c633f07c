// docs/config.md and config/quickstart.toml are what the table of keys gives.
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/config_reference.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

// The first line in which a committed file and what is generated now differ; empty if they do not.
std::string difference(const std::string& committed, const std::string& generated) {
  std::istringstream old_lines(committed);
  std::istringstream new_lines(generated);
  for (int number = 1;; ++number) {
    std::string before;
    std::string now;
    const bool old_one = static_cast<bool>(std::getline(old_lines, before));
    const bool new_one = static_cast<bool>(std::getline(new_lines, now));
    if (!old_one && !new_one) return {};
    if (old_one != new_one || before != now) {
      return fmt::format("line {}:\n  committed: {}\n  generated: {}", number, before, now);
    }
  }
}

constexpr std::string_view kWhatToDo =
    "\nThe file is generated: build trawl, run scripts/config_reference.sh and commit the result.";

TEST(ConfigDocs, AreWhatIsGenerated) {
  const std::string docs = contents(source_dir() / "docs/config.md");
  const std::size_t table = docs.find("\n| key |");
  ASSERT_NE(table, std::string::npos) << "docs/config.md has no table of keys";
  EXPECT_EQ(difference(docs.substr(table + 1), config_reference_table()), "") << kWhatToDo;
}

TEST(QuickstartConfig, IsWhatIsGenerated) {
  EXPECT_EQ(difference(contents(source_dir() / "config/quickstart.toml"), commented_config()), "")
      << kWhatToDo;
}

TEST(ConfigDocs, HaveARowForEveryKeyWithItsDefault) {
  const std::string table = config_reference_table();
  for (const ConfigKey& key : config_keys()) {
    SCOPED_TRACE(key.name);
    const std::string value = key.write(CrawlConfig{});
    const std::string standard = value.empty() || value == "[]" ? "unset" : '`' + value + '`';
    const std::size_t row = table.find(fmt::format("\n| `{}` | ", key.name));
    ASSERT_NE(row, std::string::npos);
    EXPECT_THAT(table.substr(row + 1, table.find('\n', row + 1) - row - 1),
                EndsWith(fmt::format(" | {} |", standard)));
  }
}

TEST(ConfigDocs, EveryTextIsAWholeSentence) {
  for (const ConfigKey& key : config_keys()) {
    SCOPED_TRACE(key.name);
    EXPECT_THAT(std::string(key.text), EndsWith("."));
    EXPECT_TRUE(key.text.front() >= 'A' && key.text.front() <= 'Z') << key.text;
    EXPECT_LE(key.text.size(), 300u) << "for docs/, not for a comment";
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
    // Their files need not exist.
    if (name != "crawl.seed_file" && name != "fetch.cookies_file")
      with_all += fmt::format("{} = {}\n", name, bare.substr(bare.find(" = ") + 3));
  }
  std::vector<std::string> known;
  for (const ConfigKey& key : config_keys())
    known.emplace_back(key.name);
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(known));
  EXPECT_THAT(errors(with_all), ElementsAre());
}

}  // namespace
}  // namespace trawl::test
