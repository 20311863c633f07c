// Queries of links in the encoding of their page.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {
namespace {

std::string encoded(std::string_view reference, std::string_view label) {
  std::string buffer = "from before";
  return std::string(encode_query(reference, *PageEncoding::find(label), buffer));
}

TEST(EncodingQuery, IsWrittenInTheEncoding) {
  EXPECT_EQ(encoded("/?q=日本語", "shift_jis"), "/?q=%93%FA%96{%8C%EA");
  EXPECT_EQ(encoded("/?q=中文", "gbk"), "/?q=%D6%D0%CE%C4");
  EXPECT_EQ(encoded("/?q=中文", "gb18030"), "/?q=%D6%D0%CE%C4");
  EXPECT_EQ(encoded("/?q=中文", "big5"), "/?q=%A4%A4%A4%E5");
  EXPECT_EQ(encoded("/?q=日本語", "euc-jp"), "/?q=%C6%FC%CB%DC%B8%EC");
  EXPECT_EQ(encoded("/?q=한국어", "euc-kr"), "/?q=%C7%D1%B1%B9%BE%EE");
  EXPECT_EQ(encoded("/?q=café", "windows-1252"), "/?q=caf%E9");
  EXPECT_EQ(encoded("/?q=Привет", "koi8-r"), "/?q=%F0%D2%C9%D7%C5%D4");
  EXPECT_EQ(encoded("?\uF7FF", "x-user-defined"), "?%FF");
}

TEST(EncodingQuery, OnlyTheQueryIs) {
  EXPECT_EQ(encoded("http://é.example/é?é=é?é#é?é", "latin1"),
            "http://é.example/é?%E9=%E9?%E9#é?é");
  EXPECT_EQ(encoded("/é#?é", "latin1"), "/é#?é");
  EXPECT_EQ(encoded("é", "latin1"), "é");
  EXPECT_EQ(encoded("", "latin1"), "");
  EXPECT_EQ(encoded("/?#é", "latin1"), "/?#é");
  EXPECT_EQ(encoded("/a?b=c d'\"<>%20&amp;", "latin1"), "/a?b=c d'\"<>%20&amp;");
}

TEST(EncodingQuery, NothingIsCopiedWhereNothingChanges) {
  const std::string ascii = "/é?a=b#é", utf8 = "/?é";
  std::string buffer;
  EXPECT_EQ(
      static_cast<const void*>(encode_query(ascii, *PageEncoding::find("gbk"), buffer).data()),
      ascii.data());
  for (const std::string_view label : {"utf-8", "utf-16le", "utf-16be", "replacement"}) {
    const std::string_view same = encode_query(utf8, *PageEncoding::find(label), buffer);
    EXPECT_EQ(static_cast<const void*>(same.data()), utf8.data()) << label;
    EXPECT_EQ(same, utf8);
  }
}

TEST(EncodingQuery, CharactersThatTheEncodingLacksAreNumbers) {
  EXPECT_EQ(encoded("?日€😀", "latin1"), "?%26%2326085%3B%80%26%23128512%3B");
  EXPECT_EQ(encoded("?é", "shift_jis"), "?%26%23233%3B");
  EXPECT_EQ(encoded("?\uE000", "shift_jis"), "?%26%2357344%3B");
  EXPECT_EQ(encoded("?丂", "euc-jp"), "?%26%2319970%3B");
  EXPECT_EQ(encoded("?\u43F0", "big5"), "?%26%2317392%3B");
  EXPECT_EQ(encoded("?é😀", "gbk"), "?%A8%A6%26%23128512%3B");
}

TEST(EncodingQuery, InvalidUtf8CountsAsTheReplacementCharacter) {
  EXPECT_EQ(encoded("?\xFFx\xC3", "latin1"), "?%26%2365533%3Bx%26%2365533%3B");
  EXPECT_EQ(encoded("?\xE6\x97", "gb18030"), "?%841%A47");
}

TEST(EncodingQuery, BytesThatAreAsciiStayAsTheyAre) {
  EXPECT_EQ(encoded("?ソ表", "shift_jis"), "?%83\\%95\\");
  EXPECT_EQ(encoded("?😀", "gb18030"), "?%949%FC6");
  EXPECT_EQ(encoded("?똠", "euc-kr"), "?%8Cc");
}

TEST(EncodingQuery, CharactersWithSeveralOrSpecialBytes) {
  EXPECT_EQ(encoded("?¥‾−ｱ\u0080", "shift_jis"), "?\\~%81|%B1%80");
  EXPECT_EQ(encoded("?¥‾−ｱ", "euc-jp"), "?\\~%A1%DD%8E%B1");
  EXPECT_EQ(encoded("?≒ⅰ黑∵", "shift_jis"), "?%81%E0%FA@%FCK%81%E6");
  EXPECT_EQ(encoded("?═十卅兀", "big5"), "?%F9%F9%A4Q%A4%CA%A4a");
  EXPECT_EQ(encoded("?€\u3000\uE5E5", "gbk"), "?%80%A1%A1%26%2358853%3B");
  EXPECT_EQ(encoded("?€\uE81E\u9FB4\uFE10\uE7C7", "gb18030"), "?%A2%E3%FEY%FEY%A6%D9%815%F47");
  EXPECT_EQ(encoded("?\U0010FFFF", "gb18030"), "?%E32%9A5");
}

TEST(EncodingQuery, Iso2022JpReturnsToAscii) {
  EXPECT_EQ(encoded("?日本語", "iso-2022-jp"), "?%1B$BF|K\\8l%1B(B");
  EXPECT_EQ(encoded("?a日b&c=本#日", "iso-2022-jp"), "?a%1B$BF|%1B(Bb&c=%1B$BK\\%1B(B#日");
  EXPECT_EQ(encoded("?¥a\\‾", "iso-2022-jp"), "?%1B(J\\a%1B(B\\%1B(J~%1B(B");
  EXPECT_EQ(encoded("?ｱ−", "iso-2022-jp"), "?%1B$B%%22!]%1B(B");
  EXPECT_EQ(encoded("?日é", "iso-2022-jp"), "?%1B$BF|%1B(B%26%23233%3B");
  // Bytes of a character that would end the query or the attribute.
  EXPECT_EQ(encoded("?ＡああＣ", "iso-2022-jp"), "?%1B$B%23A$%22$%22%23C%1B(B");
  EXPECT_EQ(encoded("?日\n\t本", "iso-2022-jp"), "?%1B$BF|K\\%1B(B");
  EXPECT_EQ(encoded("?x\x1B$B", "iso-2022-jp"), "?x%26%2365533%3B$B");
  EXPECT_EQ(encoded("?日\x0E", "iso-2022-jp"), "?%1B$BF|%1B(B%26%2365533%3B");
  EXPECT_EQ(encoded("?ascii", "iso-2022-jp"), "?ascii");
}

TEST(EncodingQuery, LongQueriesStayInBounds) {
  std::string query = "?";
  for (int i = 0; i < 200'000; ++i)
    query += "ä日";
  for (const std::string_view label : {"windows-1251", "iso-2022-jp", "gb18030", "big5", "euc-kr"})
    EXPECT_LT(encoded(query, label).size(), 10 * query.size()) << label;
}

}  // namespace
}  // namespace trawl
