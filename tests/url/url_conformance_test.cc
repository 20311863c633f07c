// Url against the test data of the web platform tests: what browsers are held to.
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trawl/url.h"

#include "tests/url/url_test_data.h"

namespace trawl {
namespace {

using nlohmann::json;

class UrlConformance : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = url_data_folder();
    if (!folder) GTEST_SKIP() << "TRAWL_TEST_DATA, the folder of test corpora, is unset";
    folder_ = *folder;
  }

  json read(const std::string& name) const { return read_url_json(folder_, name); }

 private:
  std::string folder_;
};

// The lower-case scheme of `input` as the standard would find it; empty if there is none.
std::string scheme_of(const std::string& input) {
  std::string scheme;
  bool leading = true;
  for (const char byte : input) {
    if (leading && static_cast<unsigned char>(byte) <= ' ') continue;
    leading = false;
    if (byte == '\t' || byte == '\n' || byte == '\r') continue;
    if (byte == ':') return scheme;
    const auto character = static_cast<unsigned char>(byte);
    const bool allowed =
        scheme.empty() ? std::isalpha(character) != 0
                       : std::isalnum(character) != 0 || byte == '+' || byte == '-' || byte == '.';
    if (!allowed || character >= 0x80) return {};
    scheme.push_back(static_cast<char>(std::tolower(character)));
  }
  return {};
}

bool is_http(const std::string& scheme) {
  return scheme == "http" || scheme == "https";
}

std::string with_prefix(char prefix, std::string_view text) {
  return text.empty() ? std::string() : prefix + std::string(text);
}

void expect_components(const Url& url, const json& test) {
  EXPECT_EQ(url.href(), test["href"]);
  const std::map<std::string, std::string> actual = {
      {"protocol", std::string(url.scheme()) + ":"}, {"username", std::string(url.username())},
      {"password", std::string(url.password())},     {"host", std::string(url.host())},
      {"hostname", std::string(url.hostname())},     {"port", std::string(url.port())},
      {"pathname", std::string(url.path())},         {"search", with_prefix('?', url.query())},
      {"hash", with_prefix('#', url.fragment())},    {"origin", url.origin()},
  };
  for (const auto& [name, value] : actual) {
    if (test.contains(name)) {
      EXPECT_EQ(value, test[name]) << name;
    }
  }
}

TEST_F(UrlConformance, AgreesWithEveryHttpCaseOfUrltestdata) {
  int accepted = 0;
  int rejected = 0;
  for (const json& test : read("urltestdata.json")) {
    if (!test.is_object()) continue;  // a comment
    const std::string input = test["input"];
    const std::string base_text = test["base"].is_string() ? test["base"].get<std::string>() : "";
    SCOPED_TRACE("input " + test["input"].dump() + " base " + test["base"].dump());

    const bool failure = test.value("failure", false);
    const std::string scheme = scheme_of(input).empty() ? scheme_of(base_text) : scheme_of(input);
    if (!is_http(failure ? scheme : scheme_of(test["href"]))) continue;

    std::optional<Url> base;
    if (is_http(scheme_of(base_text))) {
      if (auto parsed = Url::parse(base_text)) base = *parsed;
    }
    const auto url = Url::parse(input, base ? &*base : nullptr);
    if (failure) {
      ++rejected;
      ASSERT_FALSE(url) << "accepted as " << url->href();
      EXPECT_EQ(url.error().code, ErrorCode::kInvalidUrl);
    } else {
      ++accepted;
      ASSERT_TRUE(url) << url.error().message;
      expect_components(*url, test);
    }
  }
  EXPECT_EQ(accepted, 247);
  EXPECT_EQ(rejected, 198);
}

// The inputs of toascii.json that libidn2 refuses and browsers accept, each with the reason. The
// page docs/urls.md lists them too.
const std::map<std::string, std::string>& known_idna_differences() {
  static const std::map<std::string, std::string> known = {
      {"x01234567890123456789012345678901234567890123456789012345678901\u2020",
       "a label of more than 63 bytes, which DNS cannot carry"},
      {"look\u180Eout.net", "U+180E: refused by libidn2's tables, ignored by newer ones"},
      {"look\u206Bout.net", "U+206B: refused by libidn2's tables, ignored by newer ones"},
      {"\u04C0.com", "U+04C0: its lower-case form came after the tables of libidn2"},
      {"\U0002F868.com", "U+2F868: its normal form was corrected, libidn2 refuses it"},
      {"\u2183.com", "U+2183: its lower-case form came after the tables of libidn2"},
  };
  return known;
}

TEST_F(UrlConformance, ConvertsDomainsAsToasciiSaysButForWhatLibidn2CannotDo) {
  int cases = 0;
  std::set<std::string> different;
  for (const json& test : read("toascii.json")) {
    if (!test.is_object()) continue;
    ++cases;
    const std::string input = test["input"];
    const auto url = Url::parse("https://" + input + "/x");
    const json actual = url ? json(std::string(url->hostname())) : json();
    if (actual == test["output"]) continue;
    different.insert(input);
    EXPECT_TRUE(known_idna_differences().contains(input))
        << test["input"].dump() << " gives " << actual << " instead of " << test["output"];
    EXPECT_FALSE(url) << "a name of its own: " << url->href();
  }
  EXPECT_EQ(cases, 87);
  for (const auto& [input, reason] : known_idna_differences())
    EXPECT_TRUE(different.contains(input)) << input << " now agrees, so this is wrong: " << reason;
}

TEST_F(UrlConformance, EscapesQueriesAndFragmentsAsPercentEncodingSays) {
  int cases = 0;
  for (const json& test : read("percent-encoding.json")) {
    if (!test.is_object()) continue;
    ++cases;
    const std::string input = test["input"];
    const std::string expected = test["output"]["utf-8"];
    SCOPED_TRACE(test["input"].dump());
    const auto url = Url::parse("http://host/?" + input + "#" + input);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->query(), expected);
    EXPECT_EQ(url->fragment(), expected);
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace trawl
