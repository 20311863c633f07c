// The tokenizer tests of html5lib (https://github.com/html5lib/html5lib-tests), all of them but
// xmlViolation.test, which is about trees that must be XML. Of a DOCTYPE only its extent is
// compared: its names mean nothing to a tokenizer that gives it as it stands.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "crawler/parse/html/character_references.h"
#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/tokenizer_kernel.h"

namespace trawl {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// "\uXXXX" as UTF-8, lone surrogates too.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) != "\\u") {
      out.push_back(text[i++]);
      continue;
    }
    const auto code = std::stoul(std::string(text.substr(i + 2, 4)), nullptr, 16);
    if (code < 0x80) {
      out.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      out.push_back(static_cast<char>(0xC0 | (code >> 6)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    } else {
      out.push_back(static_cast<char>(0xE0 | (code >> 12)));
      out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }
    i += 6;
  }
  return out;
}

Json unescape_all(const Json& value) {
  if (value.is_string()) return unescape(value.get<std::string>());
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value)
      out.push_back(unescape_all(item));
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [key, item] : value.items())
    out[unescape(key)] = unescape_all(item);
  return out;
}

// Neighbouring characters as one token, none as none, and of DOCTYPEs only that they are there.
Json normalised(const Json& tokens) {
  Json out = Json::array();
  for (const Json& token : tokens) {
    const bool text = token[0] == "Character";
    if (text && token[1] == "") continue;
    if (text && !out.empty() && out.back()[0] == "Character") {
      out.back()[1] = out.back()[1].get<std::string>() + token[1].get<std::string>();
    } else {
      out.push_back(token[0] == "DOCTYPE" ? Json::array({"DOCTYPE"}) : token);
    }
  }
  return out;
}

// What the tokenizer does of the standard's preprocessing and of replacing NULs where no character
// references are decoded.
std::string without_references(std::string_view raw, bool replace_nul) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\r') {
      if (raw.substr(i + 1, 1) != "\n") out.push_back('\n');
    } else if (raw[i] == '\0' && replace_nul) {
      out.append(kReplacement);
    } else {
      out.push_back(raw[i]);
    }
  }
  return out;
}

// Text of the data state, where the standard leaves NULs to tree construction.
std::string data_text(std::string_view raw) {
  std::string out;
  for (;;) {
    const std::size_t nul = raw.find('\0');
    decode_text(raw.substr(0, nul), ReferenceContext::kText, out);
    if (nul == std::string_view::npos) return out;
    out.push_back('\0');
    raw.remove_prefix(nul + 1);
  }
}

std::string lower_name(std::string_view raw) {
  return to_lower(without_references(raw, true));
}

std::string text_of(std::string_view raw, ContentModel model) {
  std::string out;
  switch (model) {
    case ContentModel::kData:
      return data_text(raw);
    case ContentModel::kRcdata:
      decode_text(raw, ReferenceContext::kText, out);
      return out;
    default:
      return without_references(raw, true);
  }
}

Json start_tag(const HtmlTokenizer& tokenizer) {
  Json attributes = Json::object();
  for (const RawAttribute& attribute : tokenizer.attributes()) {
    std::string value;
    decode_text(tokenizer.value_of(attribute), ReferenceContext::kAttribute, value);
    attributes.emplace(lower_name(tokenizer.name_of(attribute)), value);
  }
  Json token = Json::array({"StartTag", lower_name(tokenizer.tag_name()), attributes});
  if (tokenizer.self_closing()) token.push_back(true);
  return token;
}

struct Start {
  ContentModel model;
  bool cdata;
};

Json tokens_of(std::string_view page, Start start, std::string_view last_start_tag,
               const TokenizerKernel& kernel) {
  const std::string in_cdata = "<![CDATA[" + std::string(page);
  HtmlTokenizer tokenizer(start.cdata ? in_cdata : page, kernel);
  tokenizer.set_cdata(start.cdata);
  ContentModel model = start.model;
  tokenizer.set_content(model, last_start_tag);
  Json tokens = Json::array();
  for (;;) {
    switch (tokenizer.next()) {
      case TokenKind::kText:
        tokens.push_back({"Character", text_of(tokenizer.text(), model)});
        break;
      case TokenKind::kCdata:
        tokens.push_back({"Character", without_references(tokenizer.text(), false)});
        break;
      case TokenKind::kStartTag:
        tokens.push_back(start_tag(tokenizer));
        break;
      case TokenKind::kEndTag:
        tokens.push_back({"EndTag", lower_name(tokenizer.tag_name())});
        model = ContentModel::kData;
        break;
      case TokenKind::kComment:
        tokens.push_back({"Comment", without_references(tokenizer.text(), true)});
        break;
      case TokenKind::kDoctype:
        tokens.push_back(Json::array({"DOCTYPE"}));
        break;
      case TokenKind::kEnd:
        return normalised(tokens);
    }
  }
}

const std::map<std::string, Start> kStates = {
    {"Data state", {ContentModel::kData, false}},
    {"RCDATA state", {ContentModel::kRcdata, false}},
    {"RAWTEXT state", {ContentModel::kRawtext, false}},
    {"Script data state", {ContentModel::kScriptData, false}},
    {"PLAINTEXT state", {ContentModel::kPlaintext, false}},
    {"CDATA section state", {ContentModel::kData, true}},
};

class HtmlTokenizerConformance : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("TRAWL_TEST_DATA");
    if (folder == nullptr) GTEST_SKIP() << "TRAWL_TEST_DATA, the folder of test corpora, is unset";
    folder_ = std::string(folder) + "/html/tokenizer/";
  }

  // Runs the cases of a file in each of their states, with each kernel.
  void run(const std::string& file, std::size_t expected_cases) {
    std::ifstream in(folder_ + file);
    ASSERT_TRUE(in) << folder_ + file << " is missing";
    std::size_t cases = 0;
    const Json tests = Json::parse(in).at("tests");
    for (const Json& test : tests)
      cases += run_case(file, test);
    std::printf("%s: %zu cases\n", file.c_str(), cases);
    EXPECT_GE(cases, expected_cases) << file;
  }

 private:
  std::size_t run_case(const std::string& file, const Json& test) {
    const bool escaped = test.value("doubleEscaped", false);
    const Json input = escaped ? unescape_all(test["input"]) : test["input"];
    const Json expected = normalised(escaped ? unescape_all(test["output"]) : test["output"]);
    const auto page = input.get<std::string>();
    const auto last_start_tag = test.value("lastStartTag", std::string());
    const Json states = test.value("initialStates", Json::array({"Data state"}));
    for (const Json& state : states) {
      for (const TokenizerKernel& kernel : tokenizer_kernels()) {
        const Json tokens =
            tokens_of(page, kStates.at(state.get<std::string>()), last_start_tag, kernel);
        EXPECT_EQ(tokens, expected)
            << file << ": " << test["description"] << " in " << state << ", " << kernel.name;
      }
    }
    return states.size();
  }

  std::string folder_;
};

TEST_F(HtmlTokenizerConformance, CharacterReferences) {
  run("entities.test", 80);
  run("namedEntities.test", 4210);
  run("numericEntities.test", 336);
}

TEST_F(HtmlTokenizerConformance, RawText) {
  run("contentModelFlags.test", 24);
  run("escapeFlag.test", 9);
}

TEST_F(HtmlTokenizerConformance, Markup) {
  run("test1.test", 69);
  run("test2.test", 45);
  run("test3.test", 1786);
  run("test4.test", 85);
  run("domjs.test", 59);
  run("pendingSpecChanges.test", 1);
}

TEST_F(HtmlTokenizerConformance, Characters) {
  run("unicodeChars.test", 323);
  run("unicodeCharsProblematic.test", 5);
}

}  // namespace
}  // namespace trawl
