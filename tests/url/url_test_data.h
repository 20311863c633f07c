// The URL corpora of the folder that TRAWL_TEST_DATA names.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace trawl {

// The folder of the URL corpora; nothing if the variable is unset.
inline std::optional<std::string> url_data_folder() {
  const char* folder = std::getenv("TRAWL_TEST_DATA");
  if (folder == nullptr) return std::nullopt;
  return std::string(folder) + "/url/";
}

// The code unit of a "\uXXXX" at `position` of JSON text, if one stands there.
inline std::optional<unsigned> escaped_code_unit(std::string_view text, std::size_t position) {
  if (text.size() - position < 6 || text.substr(position, 2) != "\\u") return std::nullopt;
  return static_cast<unsigned>(
      std::strtoul(std::string(text.substr(position + 2, 4)).c_str(), nullptr, 16));
}

// Our reader does not accept lone surrogates in JSON; the standard turns them into U+FFFD before
// parsing.
inline std::string replace_lone_surrogates(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out.push_back(text[i++]);
      continue;
    }
    const auto unit = escaped_code_unit(text, i);
    if (!unit) {
      out.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    const auto next = escaped_code_unit(text, std::min(i + 6, text.size()));
    const bool high = *unit >= 0xD800 && *unit < 0xDC00;
    if (high && next && *next >= 0xDC00 && *next < 0xE000) {
      out.append(text.substr(i, 12));
      i += 12;
    } else {
      out.append(*unit >= 0xD800 && *unit < 0xE000 ? "\\uFFFD" : text.substr(i, 6));
      i += 6;
    }
  }
  return out;
}

inline nlohmann::json read_url_json(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + name, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << name;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return nlohmann::json::parse(replace_lone_surrogates(text));
}

inline std::vector<std::string> read_url_lines(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + name, std::ios::binary);
  EXPECT_TRUE(file) << "cannot read " << name;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

// The links of real pages; skips the test if there is no folder.
class RealLinks : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = url_data_folder();
    if (!folder) GTEST_SKIP() << "TRAWL_TEST_DATA, the folder of test corpora, is unset";
    lines_ = read_url_lines(*folder, "links-48k.txt");
    ASSERT_GT(lines_.size(), 40'000u);
  }

  std::vector<std::string> lines_;
};

}  // namespace trawl
