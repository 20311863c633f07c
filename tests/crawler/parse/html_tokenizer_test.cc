#include "crawler/parse/html/html_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/html/tokenizer_kernel.h"

namespace trawl {

bool operator==(const RawAttribute& a, const RawAttribute& b) {
  return a.name == b.name && a.name_end == b.name_end && a.value == b.value &&
         a.value_end == b.value_end;
}

std::ostream& operator<<(std::ostream& out, const TokenizerKernel& kernel) {
  return out << kernel.name;
}

namespace {

using testing::ElementsAre;

struct Token {
  TokenKind kind;
  std::size_t offset;
  std::string text;  // or the name of a tag
  std::vector<RawAttribute> attributes;
  bool self_closing;

  friend bool operator==(const Token&, const Token&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Token& token) {
    return out << static_cast<int>(token.kind) << " at " << token.offset << ' ' << token.text
               << " with " << token.attributes.size() << " attributes"
               << (token.self_closing ? "/" : "");
  }
};

bool is_tag(TokenKind kind) {
  return kind == TokenKind::kStartTag || kind == TokenKind::kEndTag;
}

Token token_of(const HtmlTokenizer& tokenizer, TokenKind kind) {
  const std::string_view text = is_tag(kind) ? tokenizer.tag_name() : tokenizer.text();
  const auto attributes = tokenizer.attributes();
  return {kind,
          tokenizer.offset(),
          std::string(text),
          {attributes.begin(), attributes.end()},
          tokenizer.self_closing()};
}

// What the user of a tokenizer does after a tag: nothing.
struct Nothing {
  void operator()(HtmlTokenizer&, TokenKind) const {}
};

template <class After = Nothing>
std::vector<Token> tokens_of(HtmlTokenizer& tokenizer, After after = {}) {
  std::vector<Token> tokens;
  for (;;) {
    const TokenKind kind = tokenizer.next();
    if (kind == TokenKind::kEnd) return tokens;
    tokens.push_back(token_of(tokenizer, kind));
    if (is_tag(kind)) after(tokenizer, kind);
  }
}

template <class After = Nothing>
std::vector<Token> tags_of(HtmlTokenizer& tokenizer, After after = {}) {
  std::vector<Token> tags;
  for (;;) {
    const TokenKind kind = tokenizer.next_tag();
    if (kind == TokenKind::kEnd) return tags;
    tags.push_back(token_of(tokenizer, kind));
    after(tokenizer, kind);
  }
}

// "name=value" for each attribute.
std::vector<std::string> attributes_of(const HtmlTokenizer& tokenizer) {
  std::vector<std::string> out;
  for (const RawAttribute& attribute : tokenizer.attributes()) {
    out.push_back(std::string(tokenizer.name_of(attribute)) + "=" +
                  std::string(tokenizer.value_of(attribute)));
  }
  return out;
}

// A page in memory of exactly its size, so that the address sanitizer detects reads beyond the end.
class ExactPage {
 public:
  explicit ExactPage(std::string_view page)
      : bytes_(std::make_unique<char[]>(page.size())), size_(page.size()) {
    std::copy(page.begin(), page.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

class HtmlTokenizerKernels : public testing::TestWithParam<TokenizerKernel> {
 protected:
  std::vector<std::string> attributes_in(std::string_view tag) {
    const ExactPage page(tag);
    HtmlTokenizer tokenizer(page.view(), GetParam());
    EXPECT_EQ(tokenizer.next_tag(), TokenKind::kStartTag) << tag;
    self_closing_ = tokenizer.self_closing();
    return attributes_of(tokenizer);
  }
  bool self_closing_ = false;
};

TEST_P(HtmlTokenizerKernels, TokensAreViewsWithOffsets) {
  const std::string_view page =
      "<!DOCTYPE html>\n<p CLASS=a>x &amp; y<br/><!-- c --></p ><![CDATA[d]]><?pi?></x/>";
  HtmlTokenizer tokenizer(page, GetParam());
  EXPECT_THAT(tokens_of(tokenizer),
              ElementsAre(Token{TokenKind::kDoctype, 0, " html", {}, false},
                          Token{TokenKind::kText, 15, "\n", {}, false},
                          Token{TokenKind::kStartTag, 16, "p", {{19, 24, 25, 26}}, false},
                          Token{TokenKind::kText, 27, "x &amp; y", {}, false},
                          Token{TokenKind::kStartTag, 36, "br", {}, true},
                          Token{TokenKind::kComment, 41, " c ", {}, false},
                          Token{TokenKind::kEndTag, 51, "p", {}, false},
                          Token{TokenKind::kComment, 56, "[CDATA[d]]", {}, false},
                          Token{TokenKind::kComment, 69, "?pi?", {}, false},
                          Token{TokenKind::kEndTag, 75, "x", {}, true}));
  EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
  EXPECT_EQ(tokenizer.next_tag(), TokenKind::kEnd);
  EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
  EXPECT_EQ(tokenizer.offset(), page.size());
  EXPECT_TRUE(tokenizer.attributes().empty());
}

TEST_P(HtmlTokenizerKernels, AttributesInAllForms) {
  EXPECT_THAT(attributes_in("<a>"), ElementsAre());
  EXPECT_THAT(attributes_in("<a b>"), ElementsAre("b="));
  EXPECT_THAT(attributes_in("<a\tb\nc\fd\re>"), ElementsAre("b=", "c=", "d=", "e="));
  EXPECT_THAT(attributes_in("<a b=\"c\" d='e' f=g>"), ElementsAre("b=c", "d=e", "f=g"));
  EXPECT_THAT(attributes_in("<a b=\"c\"d='e'f=g>"), ElementsAre("b=c", "d=e", "f=g"));
  EXPECT_THAT(attributes_in("<a b = \"c\" d\n=\n'e' f =g>"), ElementsAre("b=c", "d=e", "f=g"));
  EXPECT_THAT(attributes_in("<a b=\"x'>\" c='y\">'>"), ElementsAre("b=x'>", "c=y\">"));
  EXPECT_THAT(attributes_in("<a b=\"\" c='' d=>"), ElementsAre("b=", "c=", "d="));
  EXPECT_THAT(attributes_in("<a b=c\"d'e=f`<g/h>"), ElementsAre("b=c\"d'e=f`<g/h"));
  EXPECT_THAT(attributes_in("<a \"b'c<d>"), ElementsAre("\"b'c<d="));
  EXPECT_THAT(attributes_in("<a =b ==c =>"), ElementsAre("=b==c", "=="));
  EXPECT_THAT(attributes_in("<a b/=c/d>"), ElementsAre("b=", "=c=", "d="));
  EXPECT_THAT(attributes_in("<a/b//c/ d>"), ElementsAre("b=", "c=", "d="));
  EXPECT_THAT(attributes_in("<a b=c=d>"), ElementsAre("b=c=d"));
  EXPECT_THAT(attributes_in("<a b=\"c\"=d>"), ElementsAre("b=c", "=d="));
  EXPECT_THAT(attributes_in("<a b=1 B=2 b=3>"), ElementsAre("b=1", "B=2", "b=3"));
}

TEST_P(HtmlTokenizerKernels, SelfClosing) {
  const auto self_closing = [this](std::string_view tag) {
    attributes_in(tag);
    return self_closing_;
  };
  for (const std::string_view tag : {"<a/>", "<a />", "<a b/>", "<a b=\"c\"/>", "<a b='c' />",
                                     "<a //>", "<a b=c />", "<a =/>"}) {
    EXPECT_TRUE(self_closing(tag)) << tag;
  }
  for (const std::string_view tag : {"<a>", "<a/ >", "<a b=c/>", "<a b=/>", "<a b= />",
                                     "<a b=\"/\">", "<a b='/'>", "<a /b>", "<a b=>"}) {
    EXPECT_FALSE(self_closing(tag)) << tag;
  }
}

TEST_P(HtmlTokenizerKernels, ATagCutOffByTheEndOfThePageIsNone) {
  const std::string_view tag = "<a href=\"x\" b='y' c = z d/e>";
  for (std::size_t size = 3; size < tag.size(); ++size) {
    const ExactPage page("x" + std::string(tag.substr(0, size)));
    HtmlTokenizer tokenizer(page.view(), GetParam());
    EXPECT_EQ(tokenizer.next_tag(), TokenKind::kEnd) << page.view();
    EXPECT_TRUE(tokenizer.attributes().empty());
    tokenizer.reset(page.view());
    EXPECT_EQ(tokenizer.next(), TokenKind::kText);
    EXPECT_EQ(tokenizer.text(), "x");
    EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
    EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
  }
}

TEST_P(HtmlTokenizerKernels, TagsOfAllLengthsAtAllDistances) {
  // Wherever the parts of a tag lie in the blocks of bytes that kernels look at.
  for (std::size_t before = 0; before < 130; ++before) {
    for (std::size_t size = 0; size < 140; size += 3) {
      const std::string name = "n" + std::string(size, 'a');
      const std::string value(size, 'v');
      const std::string text(before, 't');
      const ExactPage page(text + "<" + name + " " + name + "=\"" + value + "\" x>" + text +
                           "</p>");
      HtmlTokenizer tokenizer(page.view(), GetParam());
      ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
      ASSERT_EQ(tokenizer.offset(), before);
      ASSERT_EQ(tokenizer.tag_name(), name);
      ASSERT_THAT(attributes_of(tokenizer), ElementsAre(name + "=" + value, "x="));
      ASSERT_EQ(tokenizer.next_tag(), TokenKind::kEndTag);
      ASSERT_EQ(tokenizer.tag_name(), "p");
      ASSERT_EQ(tokenizer.next_tag(), TokenKind::kEnd);
    }
  }
}

TEST_P(HtmlTokenizerKernels, UnwantedTagsAreSkipped) {
  TagFilter wanted;
  wanted.add_start("ab");
  wanted.add_end("xyz");
  std::mt19937 random(22);
  constexpr std::string_view kPieces[] = {"<ab>",
                                          "<AB c=\"<ab>\">",
                                          "</ab>",
                                          "</xyz>",
                                          "</XYZ d='>'>",
                                          "<xyz>",
                                          "<i>",
                                          "</i>",
                                          "<a",
                                          " b='<ab>' >",
                                          "<!-- <ab> -->",
                                          "text",
                                          "/>",
                                          "</",
                                          "<p q",
                                          " r=\"</xyz>\"",
                                          "<i j=\"k>\">",
                                          "</i l='</xyz>'>"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t pieces = random() % 30; pieces > 0; --pieces) {
      text += kPieces[random() % std::size(kPieces)];
      text.append(random() % 7, ' ');
    }
    const ExactPage page(text);
    HtmlTokenizer all(page.view(), GetParam());
    std::vector<Token> expected;
    for (const Token& tag : tags_of(all)) {
      if (wanted.passes(tag.kind == TokenKind::kEndTag, tag.text.front(), tag.text.size()))
        expected.push_back(tag);
    }
    HtmlTokenizer some(page.view(), GetParam());
    std::vector<Token> passed;
    for (TokenKind kind; (kind = some.next_tag(wanted)) != TokenKind::kEnd;)
      passed.push_back(token_of(some, kind));
    ASSERT_EQ(passed, expected) << text;
  }
}

TEST_P(HtmlTokenizerKernels, EveryByteInEveryPartOfATag) {
  const std::string_view sample = "t<abc def=\"ghi\" j=\"k\" lmn><xy opq='r' s></x><yz>";
  for (std::size_t i = 0; i < sample.size(); ++i) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string page(sample);
      page[i] = static_cast<char>(byte);
      page.append(64, ' ');
      HtmlTokenizer reference(page, tokenizer_kernels().front());
      HtmlTokenizer tokenizer(page, GetParam());
      ASSERT_EQ(tags_of(tokenizer), tags_of(reference)) << page;
    }
  }
}

TEST_P(HtmlTokenizerKernels, RawTextEndsWithItsEndTag) {
  HtmlTokenizer tokenizer("<title>a<b></titles></title/x>c<b>", GetParam());
  ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
  tokenizer.set_content(ContentModel::kRcdata, "title");
  ASSERT_EQ(tokenizer.next(), TokenKind::kText);
  EXPECT_EQ(tokenizer.text(), "a<b></titles>");
  ASSERT_EQ(tokenizer.next(), TokenKind::kEndTag);
  EXPECT_EQ(tokenizer.tag_name(), "title");
  EXPECT_THAT(attributes_of(tokenizer), ElementsAre("x="));
  ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
  EXPECT_EQ(tokenizer.tag_name(), "b");
}

TEST_P(HtmlTokenizerKernels, ScriptsEndWhereTheStandardSaysSo) {
  const auto script_of = [](std::string_view page) {
    HtmlTokenizer tokenizer(page, GetParam());
    tokenizer.set_content(ContentModel::kScriptData, "script");
    EXPECT_EQ(tokenizer.next(), TokenKind::kText);
    return std::string(tokenizer.text());
  };
  for (const std::string_view script :
       {"a<b", "a</scripts>", "<!--a", "<!--<script></script>", "<!--<script></script>-->",
        "<!--<script>-->", "<!--><script>", "<!---><script>", "<!-<!--<scripts>",
        "<!--<SCRIPT x></Script/-->", "<!--<script --><script>", "<!--<script-->",
        "<!--<script>-></script>"}) {
    EXPECT_EQ(script_of(std::string(script) + "</sCript >x</script>"), script);
  }
  EXPECT_EQ(script_of("<!--<script>a</script"), "<!--<script>a</script");
  EXPECT_EQ(script_of("<!--<script></script>"), "<!--<script></script>");
}

TEST_P(HtmlTokenizerKernels, PlaintextHasNoEnd) {
  HtmlTokenizer tokenizer("<plaintext>a</plaintext><b>", GetParam());
  ASSERT_EQ(tokenizer.next(), TokenKind::kStartTag);
  tokenizer.set_content(ContentModel::kPlaintext, {});
  ASSERT_EQ(tokenizer.next(), TokenKind::kText);
  EXPECT_EQ(tokenizer.text(), "a</plaintext><b>");
  EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
}

TEST_P(HtmlTokenizerKernels, CdataWhereItIsAllowed) {
  HtmlTokenizer tokenizer("<![CDATA[<a>]]]><![CDATA[]]><![cdata[<b>]]>", GetParam());
  tokenizer.set_cdata(true);
  ASSERT_EQ(tokenizer.next(), TokenKind::kCdata);
  EXPECT_EQ(tokenizer.text(), "<a>]");
  ASSERT_EQ(tokenizer.next(), TokenKind::kCdata);
  EXPECT_EQ(tokenizer.text(), "");
  ASSERT_EQ(tokenizer.next(), TokenKind::kComment);
  EXPECT_EQ(tokenizer.text(), "[cdata[<b");
}

TEST_P(HtmlTokenizerKernels, ResetForgetsThePageBefore) {
  HtmlTokenizer tokenizer("<a b><style>", GetParam());
  tokenizer.set_cdata(true);
  tags_of(tokenizer);
  tokenizer.set_content(ContentModel::kRawtext, "style");
  tokenizer.reset("<x>");
  EXPECT_TRUE(tokenizer.attributes().empty());
  EXPECT_THAT(tags_of(tokenizer), ElementsAre(Token{TokenKind::kStartTag, 0, "x", {}, false}));
  tokenizer.reset({});
  EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
  EXPECT_EQ(tokenizer.next_tag(), TokenKind::kEnd);
  EXPECT_EQ(tokenizer.offset(), 0u);
}

// Pieces of markup, well formed and not, in random order.
std::string markup_soup(std::mt19937_64& random) {
  static constexpr std::string_view kPieces[] = {"<",
                                                 ">",
                                                 "/",
                                                 "</",
                                                 "<!",
                                                 "<!--",
                                                 "-->",
                                                 "--!>",
                                                 "-",
                                                 "<?",
                                                 "=",
                                                 "\"",
                                                 "'",
                                                 " ",
                                                 "\n",
                                                 "\t",
                                                 "\r\n",
                                                 "\f",
                                                 "a",
                                                 "B",
                                                 "script",
                                                 "<script>",
                                                 "</script>",
                                                 "<title>",
                                                 "</title>",
                                                 "<style>",
                                                 "</STYLE ",
                                                 "<a href=\"x\">",
                                                 "</a>",
                                                 "<br/>",
                                                 "<p",
                                                 " b=c",
                                                 " d='e'",
                                                 " f=\"g\"",
                                                 "<![CDATA[",
                                                 "]]>",
                                                 "&amp;",
                                                 "\xC3\xA9",
                                                 "text text text text text text text",
                                                 "<!doctype html>",
                                                 "<textarea",
                                                 "</textarea>"};
  static const std::string_view kNul("\0", 1);
  std::string soup;
  for (std::size_t pieces = random() % 120; pieces > 0; --pieces) {
    const std::size_t piece = random() % (std::size(kPieces) + 1);
    soup.append(piece == std::size(kPieces) ? kNul : kPieces[piece]);
  }
  return soup;
}

// Changes the content model after some tags, the same ones for every kernel.
class RandomContent {
 public:
  explicit RandomContent(std::uint64_t seed) : seed_(seed) {}
  void operator()(HtmlTokenizer& tokenizer, TokenKind) const {
    const std::uint64_t choice = ((tokenizer.offset() ^ seed_) * 0x9E3779B97F4A7C15u) >> 32;
    tokenizer.set_cdata(choice % 3 == 0);
    switch (choice / 3 % 12) {
      case 0:
        return tokenizer.set_content(ContentModel::kRcdata, "textarea");
      case 1:
        return tokenizer.set_content(ContentModel::kRawtext, "style");
      case 2:
      case 3:
        return tokenizer.set_content(ContentModel::kScriptData, "script");
      case 4:
        return tokenizer.set_content(
            choice / 36 % 9 == 0 ? ContentModel::kPlaintext : ContentModel::kRcdata, "title");
      default:
        return;
    }
  }

 private:
  std::uint64_t seed_;
};

TEST_P(HtmlTokenizerKernels, NextTagGivesTheTagsThatNextGives) {
  constexpr std::uint64_t kSeed = 20250101;
  std::mt19937_64 random(kSeed);
  const TokenizerKernel& portable = tokenizer_kernels().front();
  std::size_t compared = 0;
  for (int i = 0; i < 6000; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", page " + std::to_string(i));
    const ExactPage page(markup_soup(random));
    const RandomContent content(random());
    HtmlTokenizer reference(page.view(), portable);
    const std::vector<Token> all = tokens_of(reference, content);
    std::vector<Token> tags;
    std::copy_if(all.begin(), all.end(), std::back_inserter(tags),
                 [](const Token& token) { return is_tag(token.kind); });
    HtmlTokenizer tokenizer(page.view(), GetParam());
    ASSERT_EQ(tags_of(tokenizer, content), tags) << page.view();
    tokenizer.reset(page.view());
    ASSERT_EQ(tokens_of(tokenizer, content), all) << page.view();
    compared += tags.size();
  }
  EXPECT_GT(compared, 20'000u);
}

TEST_P(HtmlTokenizerKernels, TokensFollowEachOtherThroughThePage) {
  constexpr std::uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 1000; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", page " + std::to_string(i));
    const std::string page = markup_soup(random);
    HtmlTokenizer tokenizer(page, GetParam());
    std::size_t last = 0;
    for (bool first = true; tokenizer.next() != TokenKind::kEnd; first = false) {
      ASSERT_TRUE(first || tokenizer.offset() > last);
      ASSERT_LT(tokenizer.offset(), page.size());
      last = tokenizer.offset();
    }
  }
}

TEST_P(HtmlTokenizerKernels, NothingBehindThePageIsReadWhereverItIsCutOff) {
  const std::string sample =
      "<!DOCTYPE html PUBLIC \"x\" 'y'><html lang=en><head><title>a &lt; b</title>\n"
      "<script type=\"text/javascript\">if (a<b) {<!-- <script> </script> --> }</script>\n"
      "<style>a > b {}</style></head><body class=\"x\"  id = 'y' data-z=1><!-- c --!><p>text\n"
      "<a class=\"reference internal\" href=\"../library/functions.html#open\" title='t'>x</a>"
      "<br/><![CDATA[d]]><?e?></ f><></><input disabled value=\"" +
      std::string(100, 'v') + "\">" + std::string(80, 't') + "</p></body></html>";
  const auto content = [](HtmlTokenizer& tokenizer, TokenKind kind) {
    if (kind != TokenKind::kStartTag) return;
    if (tokenizer.tag_name() == "script") {
      tokenizer.set_content(ContentModel::kScriptData, "script");
    } else if (tokenizer.tag_name() == "style") {
      tokenizer.set_content(ContentModel::kRawtext, "style");
    } else if (tokenizer.tag_name() == "title") {
      tokenizer.set_content(ContentModel::kRcdata, "title");
    }
  };
  for (std::size_t size = 0; size <= sample.size(); ++size) {
    const ExactPage page(std::string_view(sample).substr(0, size));
    // Not cut, the rest is one text: it changes no tag that is closed.
    HtmlTokenizer reference(page.view(), tokenizer_kernels().front());
    const std::vector<Token> all = tokens_of(reference, content);
    HtmlTokenizer tokenizer(page.view(), GetParam());
    ASSERT_EQ(tokens_of(tokenizer, content), all) << size;
    tokenizer.reset(page.view());
    for (const Token& tag : tags_of(tokenizer, content)) {
      ASSERT_NE(std::find(all.begin(), all.end(), tag), all.end()) << size;
    }
  }
}

std::string kernel_name(const testing::TestParamInfo<TokenizerKernel>& info) {
  std::string name(info.param.name);
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, HtmlTokenizerKernels,
                         testing::ValuesIn(tokenizer_kernels().begin(), tokenizer_kernels().end()),
                         kernel_name);

}  // namespace
}  // namespace trawl
