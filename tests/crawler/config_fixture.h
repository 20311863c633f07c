// What the config's tests share: configs as short texts, and what is wrong with them.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/crawl_config.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

inline constexpr std::string_view kMinimal =
    "[crawl]\nseeds = [\"http://a.example/\"]\nstate_dir = \"state\"\n";

inline std::string minimal_with(std::string_view more) {
  return std::string(kMinimal).append(more);
}

inline CrawlConfig accepted(std::string_view toml, const std::vector<std::string>& overrides = {}) {
  auto config = parse_config(toml, "c.toml", overrides);
  if (config) return *config;
  for (const ConfigError& error : config.error())
    ADD_FAILURE() << error.to_string();
  return {};
}

inline std::vector<std::string> texts(const ConfigResult<CrawlConfig>& config) {
  std::vector<std::string> out;
  if (!config) {
    for (const ConfigError& error : config.error())
      out.push_back(error.to_string());
  }
  return out;
}

inline std::vector<std::string> errors(std::string_view toml,
                                       const std::vector<std::string>& overrides = {}) {
  return texts(parse_config(toml, "c.toml", overrides));
}

// The one error that is expected.
inline std::string only_error(std::string_view toml,
                              const std::vector<std::string>& overrides = {}) {
  const std::vector<std::string> all = errors(toml, overrides);
  EXPECT_EQ(all.size(), 1u) << testing::PrintToString(all);
  return all.empty() ? "" : all.front();
}

// `key = value` in its table, on top of what must be given.
inline std::string with_value(const ConfigKey& key, std::string_view value) {
  std::map<std::string, std::string> crawl = {{"seeds", "[\"http://a.example/\"]"},
                                              {"state_dir", "\"state\""}};
  std::string rest;
  if (key.table() == "crawl") {
    crawl[std::string(key.leaf())] = value;
  } else {
    rest = fmt::format("[{}]\n{} = {}\n", key.table(), key.leaf(), value);
  }
  std::string out = "[crawl]\n";
  for (const auto& [leaf, text] : crawl)
    out += fmt::format("{} = {}\n", leaf, text);
  return out + rest;
}

inline std::filesystem::path source_dir() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ConfigFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, std::string_view text) {
    const std::filesystem::path file = directory() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace trawl::test
