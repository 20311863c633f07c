// Which encoding a page is in.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUndeclared = "windows-1252";
constexpr std::string_view kNotUtf8 = "\xE9\n";

std::string_view of(std::string_view page, std::string_view content_type = "text/html") {
  return detect_encoding(page, content_type).name();
}

// The encoding of a page that begins with `head` and is not UTF-8.
std::string_view of_head(std::string_view head) {
  return of(std::string(head) += kNotUtf8);
}

std::string_view of_header(std::string_view content_type) {
  return of(kNotUtf8, content_type);
}

TEST(EncodingDetection, ByteOrderMarkBeatsAll) {
  EXPECT_EQ(of("\xEF\xBB\xBF<meta charset=gbk>", "text/html; charset=big5"), "UTF-8");
  EXPECT_EQ(of("\xFF\xFE<\0"sv, "text/html; charset=big5"), "UTF-16LE");
  EXPECT_EQ(of("\xFE\xFF\0<"sv, "text/html; charset=big5"), "UTF-16BE");
  EXPECT_EQ(of("\xEF\xBB", "text/html; charset=big5"), "Big5");
  EXPECT_EQ(of("\xFF", "text/html; charset=big5"), "Big5");
}

TEST(EncodingDetection, HttpBeatsMeta) {
  EXPECT_EQ(of("<meta charset=gbk>", "text/html; charset=big5"), "Big5");
  EXPECT_EQ(of("<meta charset=gbk>", "text/html; charset=nonsense"), "GBK");
  EXPECT_EQ(of("<meta charset=gbk>", "text/html"), "GBK");
  EXPECT_EQ(of("abc", "text/html; charset=utf-16"), "UTF-16LE");
  EXPECT_EQ(of("abc", "text/html; charset=x-user-defined"), "x-user-defined");
}

TEST(EncodingDetection, HttpParameters) {
  EXPECT_EQ(of_header("text/html;charset=gbk"), "GBK");
  EXPECT_EQ(of_header("text/html ; \t CHARSET=\"gbk\""), "GBK");
  EXPECT_EQ(of_header("text/html;charset=gbk "), "GBK");
  EXPECT_EQ(of_header("text/html;charset=\" gbk \""), "GBK");
  EXPECT_EQ(of_header("text/html;charset=\"g\\b\\k\""), "GBK");
  EXPECT_EQ(of_header("text/html;charset=\"gbk"), "GBK");
  EXPECT_EQ(of_header("text/html;charset=\"gbk\"rest;x=y"), "GBK");
  EXPECT_EQ(of_header("text/html;a=\";charset=big5\";charset=gbk"), "GBK");
  EXPECT_EQ(of_header("text/html;;charset;charset=gbk"), "GBK");
  EXPECT_EQ(of_header("text/html;charset=;charset=gbk"), "GBK");
  EXPECT_EQ(of_header("text/html;boundary=x;charset=gbk;charset=big5"), "GBK");
  // The first is used, even if it is wrong.
  EXPECT_EQ(of_header("text/html;charset=nonsense;charset=gbk"), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset=\"\";charset=gbk"), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset='gbk'"), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset =gbk"), kUndeclared);
  EXPECT_EQ(of_header("text/html;xcharset=gbk"), kUndeclared);
  EXPECT_EQ(of_header("charset=gbk"), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset"), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset="), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset=\""), kUndeclared);
  EXPECT_EQ(of_header("text/html;charset=\"\\"), kUndeclared);
  EXPECT_EQ(of_header(""), kUndeclared);
}

TEST(EncodingDetection, MetaCharset) {
  EXPECT_EQ(of_head("<meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<!DOCTYPE html><html><head><META\nCharSet = 'gbk' />"), "GBK");
  EXPECT_EQ(of_head("<meta/charset=\"gbk\">"), "GBK");
  EXPECT_EQ(of_head("<meta name=a charset=gbk content=b>"), "GBK");
  EXPECT_EQ(of_head("<meta charset=\" gbk\t\">"), "GBK");
  EXPECT_EQ(of_head("<meta charset=nonsense><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<meta charset=nonsense charset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("<meta charset=gbk charset=big5>"), "GBK");
  EXPECT_EQ(of_head("<meta charset>"), kUndeclared);
  EXPECT_EQ(of_head("<metacharset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("<meta =charset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("<meta x==charset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("<meta x=\"charset=gbk\">"), kUndeclared);
  EXPECT_EQ(of_head("</meta charset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("< meta charset=gbk>"), kUndeclared);
}

TEST(EncodingDetection, MetaThatIsCutOffDoesNotCount) {
  EXPECT_EQ(of_head("<meta charset=gbk"), kUndeclared);
  EXPECT_EQ(of("\xE9<meta charset=gbk "), kUndeclared);
  EXPECT_EQ(of("\xE9<meta charset=\"gbk\""), kUndeclared);
  EXPECT_EQ(of("\xE9<meta charset=\"gbk\"/"), kUndeclared);
  EXPECT_EQ(of("\xE9<meta charset=\"gbk>"), kUndeclared);
  EXPECT_EQ(of("\xE9<meta"), kUndeclared);
  EXPECT_EQ(of("\xE9<"), kUndeclared);
}

TEST(EncodingDetection, TheFirst1024BytesComeBeforeWhatThePageLooksLike) {
  const std::string_view meta = "<meta charset=gbk>";
  const auto after = [meta](std::size_t length) {
    return of((std::string(length, ' ') += meta) + "\xC3\xA9");
  };
  EXPECT_EQ(after(1024 - meta.size()), "GBK");
  EXPECT_EQ(after(1025 - meta.size()), "UTF-8");
}

TEST(EncodingDetection, MetaHttpEquiv) {
  EXPECT_EQ(of_head("<meta http-equiv=Content-Type content='text/html; charset=gbk'>"), "GBK");
  EXPECT_EQ(of_head("<meta content='text/html; charset=gbk' http-equiv=\"content-type\">"), "GBK");
  EXPECT_EQ(of_head("<meta content='text/html; charset=gbk'>"), kUndeclared);
  EXPECT_EQ(of_head("<meta http-equiv=refresh content='charset=gbk'>"), kUndeclared);
  EXPECT_EQ(of_head("<meta http-equiv=content-type content='text/html'>"), kUndeclared);
  // The charset attribute needs no pragma, wherever it stands.
  EXPECT_EQ(of_head("<meta content='charset=big5' charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<meta charset=gbk http-equiv=content-type content='charset=big5'>"), "GBK");
  EXPECT_EQ(of_head("<meta charset=x http-equiv=content-type content='charset=big5'>"),
            kUndeclared);
  EXPECT_EQ(of_head("<meta http-equiv=content-type content='charset=big5' charset=x>"),
            kUndeclared);
  EXPECT_EQ(of_head("<meta http-equiv=x http-equiv=content-type content='charset=gbk'>"),
            kUndeclared);
  EXPECT_EQ(of_head("<meta http-equiv=content-type content=x content='charset=gbk'>"), kUndeclared);
}

TEST(EncodingDetection, CharsetInContent) {
  const auto of_content = [](std::string_view content) {
    return of_head(
        std::string("<meta http-equiv=content-type content=\"").append(content).append("\">"));
  };
  EXPECT_EQ(of_content("charset=gbk"), "GBK");
  EXPECT_EQ(of_content("CHARSET\t=\n gbk;x"), "GBK");
  EXPECT_EQ(of_content("charset = 'gbk'"), "GBK");
  EXPECT_EQ(of_content("charset=gbk x"), "GBK");
  EXPECT_EQ(of_content("xcharset=gbk"), "GBK");
  EXPECT_EQ(of_content("charset charset=gbk"), "GBK");
  EXPECT_EQ(of_content("charsetcharset=gbk"), "GBK");
  EXPECT_EQ(of_content("charset='gbk"), kUndeclared);
  EXPECT_EQ(of_content("charset="), kUndeclared);
  EXPECT_EQ(of_content("charset"), kUndeclared);
  EXPECT_EQ(of_content("charset=x charset=gbk"), kUndeclared);
  EXPECT_EQ(of_content("charse=gbk"), kUndeclared);
}

TEST(EncodingDetection, MetaThatCouldNotBeReadIfItWereTrue) {
  EXPECT_EQ(of_head("<meta charset=utf-16>"), "UTF-8");
  EXPECT_EQ(of_head("<meta charset=utf-16be>"), "UTF-8");
  EXPECT_EQ(of_head("<meta charset=x-user-defined>"), "windows-1252");
  EXPECT_EQ(of("<meta charset=x-user-defined>"), "windows-1252");
  EXPECT_EQ(of_head("<meta charset=iso-2022-kr>"), "replacement");
}

TEST(EncodingDetection, CommentsAndOtherTagsAreSkipped) {
  EXPECT_EQ(of_head("<!-- <meta charset=big5> --><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<!--><meta charset=gbk>-->"), "GBK");
  EXPECT_EQ(of_head("<!---><meta charset=gbk>-->"), "GBK");
  EXPECT_EQ(of_head("<!-- > <meta charset=gbk> "), kUndeclared);
  EXPECT_EQ(of_head("<!x <meta charset=big5> <meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<?x <meta charset=big5> <meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("</ <meta charset=big5> <meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<a title='<meta charset=big5>'><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<a title=<meta charset=big5><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("</a title='<meta charset=big5>'><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<a b='><meta charset=gbk>"), kUndeclared);
  EXPECT_EQ(of_head("<a<meta charset=big5><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<1 '<meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head("<<meta charset=gbk>"), "GBK");
  // The prescan knows no scripts and no titles.
  EXPECT_EQ(of_head("<script>'<meta charset=gbk>'</script>"), "GBK");
}

TEST(EncodingDetection, XmlDeclaration) {
  EXPECT_EQ(of_head("<?xml version='1.0' encoding='gbk'?>"), "GBK");
  EXPECT_EQ(of_head("<?xml encoding\t=\n\"gbk\"?>"), "GBK");
  EXPECT_EQ(of_head("<?xml encoding='utf-16'?>"), "UTF-8");
  EXPECT_EQ(of_head("<?xml encoding='big5'?><meta charset=gbk>"), "GBK");
  EXPECT_EQ(of_head(" <?xml encoding='gbk'?>"), kUndeclared);
  EXPECT_EQ(of_head("<?xml encoding=gbk?>"), kUndeclared);
  EXPECT_EQ(of_head("<?xml encoding=' gbk'?>"), kUndeclared);
  EXPECT_EQ(of_head("<?xml encoding='gbk"), kUndeclared);
  EXPECT_EQ(of_head("<?xml encoding"), kUndeclared);
  EXPECT_EQ(of("<\0?\0x\0m\0l\0"sv), "UTF-16LE");
  EXPECT_EQ(of("\0<\0?\0x\0m\0l"sv), "UTF-16BE");
}

TEST(EncodingDetection, UndeclaredPagesAreUtf8IfTheyCanBe) {
  EXPECT_EQ(of(""), "UTF-8");
  EXPECT_EQ(of("plain"), "UTF-8");
  EXPECT_EQ(of("caf\xC3\xA9"), "UTF-8");
  EXPECT_EQ(of("caf\xE9"), "windows-1252");
  EXPECT_EQ(of("caf\xE9 noir"), "windows-1252");
  EXPECT_EQ(of("caf\xC3\xA9 noir\xE9 "), "windows-1252");
  EXPECT_EQ(of(std::string(5000, 'x') + "\xC3\xA9"), "UTF-8");
  EXPECT_EQ(of(std::string(5000, 'x') + "\xC3 "), "windows-1252");
}

// A browser that comes upon such a <meta> begins again.
TEST(EncodingDetection, LateMetaCountsForPagesThatAreNoUtf8) {
  const std::string comment = "<!--" + std::string(1100, 'x') + "-->";
  const std::string meta = "<meta charset=shift_jis>";
  EXPECT_EQ(of(comment + meta + "\x93\xFA"), "Shift_JIS");
  EXPECT_EQ(of(comment + meta + "\xC3\xA9"), "UTF-8");
  EXPECT_EQ(of(std::string(70'000, ' ') + meta + "\x93\xFA"), "windows-1252");
}

// Where the page was cut at the largest size that is fetched.
TEST(EncodingDetection, PageThatIsCutInACharacterIsStillUtf8) {
  const std::string page = "\xC3\xA9 \xF0\x9F\x98\x80";
  for (std::size_t length = 3; length <= page.size(); ++length)
    EXPECT_EQ(of(page.substr(0, length)), "UTF-8") << length;
  EXPECT_EQ(of("\xC3\xA9 \x9F\x98\x80"), "windows-1252");
  EXPECT_EQ(of("\xC3\xA9 \xFF"), "windows-1252");
  EXPECT_EQ(of("\xC3\xA9 \xE0\x80"), "windows-1252");
}

}  // namespace
}  // namespace trawl
