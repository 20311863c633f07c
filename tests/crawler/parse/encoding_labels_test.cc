// Names and labels of encodings.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "crawler/parse/encoding/page_encoding.h"

namespace trawl {
namespace {

std::string_view name_of(std::string_view label) {
  const auto encoding = PageEncoding::find(label);
  return encoding ? encoding->name() : "none";
}

TEST(EncodingLabels, EachEncodingIsFoundByItsName) {
  for (const std::string_view name :
       {"UTF-8",        "IBM866",       "ISO-8859-2",   "ISO-8859-3",     "ISO-8859-4",
        "ISO-8859-5",   "ISO-8859-6",   "ISO-8859-7",   "ISO-8859-8",     "ISO-8859-8-I",
        "ISO-8859-10",  "ISO-8859-13",  "ISO-8859-14",  "ISO-8859-15",    "ISO-8859-16",
        "KOI8-R",       "KOI8-U",       "macintosh",    "windows-874",    "windows-1250",
        "windows-1251", "windows-1252", "windows-1253", "windows-1254",   "windows-1255",
        "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic", "GBK",
        "gb18030",      "Big5",         "EUC-JP",       "ISO-2022-JP",    "Shift_JIS",
        "EUC-KR",       "replacement",  "UTF-16BE",     "UTF-16LE",       "x-user-defined"})
    EXPECT_EQ(name_of(name), name);
}

TEST(EncodingLabels, OtherLabelsNameWhatBrowsersTakeThemFor) {
  EXPECT_EQ(name_of("latin1"), "windows-1252");
  EXPECT_EQ(name_of("iso-8859-1"), "windows-1252");
  EXPECT_EQ(name_of("us-ascii"), "windows-1252");
  EXPECT_EQ(name_of("ansi_x3.4-1968"), "windows-1252");
  EXPECT_EQ(name_of("latin5"), "windows-1254");
  EXPECT_EQ(name_of("iso-8859-9"), "windows-1254");
  EXPECT_EQ(name_of("tis-620"), "windows-874");
  EXPECT_EQ(name_of("gb2312"), "GBK");
  EXPECT_EQ(name_of("gb_2312-80"), "GBK");
  EXPECT_EQ(name_of("sjis"), "Shift_JIS");
  EXPECT_EQ(name_of("windows-31j"), "Shift_JIS");
  EXPECT_EQ(name_of("x-x-big5"), "Big5");
  EXPECT_EQ(name_of("big5-hkscs"), "Big5");
  EXPECT_EQ(name_of("ks_c_5601-1987"), "EUC-KR");
  EXPECT_EQ(name_of("windows-949"), "EUC-KR");
  EXPECT_EQ(name_of("cseucpkdfmtjapanese"), "EUC-JP");
  EXPECT_EQ(name_of("unicode"), "UTF-16LE");
  EXPECT_EQ(name_of("utf-16"), "UTF-16LE");
  EXPECT_EQ(name_of("utf8"), "UTF-8");
  EXPECT_EQ(name_of("x-unicode20utf8"), "UTF-8");
  EXPECT_EQ(name_of("iso-8859-6-e"), "ISO-8859-6");
  EXPECT_EQ(name_of("visual"), "ISO-8859-8");
  EXPECT_EQ(name_of("logical"), "ISO-8859-8-I");
  EXPECT_EQ(name_of("koi8-ru"), "KOI8-U");
  EXPECT_EQ(name_of("hz-gb-2312"), "replacement");
  EXPECT_EQ(name_of("iso-2022-kr"), "replacement");
}

TEST(EncodingLabels, CaseAndWhiteSpaceAroundDoNotMatter) {
  EXPECT_EQ(name_of("\t\n\f\r Shift_jis \n"), "Shift_JIS");
  EXPECT_EQ(name_of("UTF-8 "), "UTF-8");
  EXPECT_EQ(name_of("ISO_8859-1:1987"), "windows-1252");
}

TEST(EncodingLabels, OthersAreNotFound) {
  for (const std::string_view label :
       {"", " ", "utf-7", "utf-32", "utf_8", "utf-8!", "latin 1", "cesu-8", "\vutf-8", "\xA0utf-8"})
    EXPECT_EQ(name_of(label), "none") << label;
  EXPECT_EQ(name_of(std::string_view("utf-8\0", 6)), "none");
  EXPECT_EQ(name_of(std::string(1 << 20, 'a')), "none");
}

TEST(EncodingLabels, QueriesOfSomeEncodingsAreWrittenInUtf8) {
  for (const std::string_view label : {"utf-8", "utf-16le", "utf-16be", "replacement"})
    EXPECT_TRUE(PageEncoding::find(label)->output().is_utf8()) << label;
  for (const std::string_view label : {"gbk", "windows-1252", "iso-2022-jp", "x-user-defined"})
    EXPECT_EQ(PageEncoding::find(label)->output(), *PageEncoding::find(label)) << label;
}

TEST(EncodingLabels, TheTwoThatNeedNoLabel) {
  EXPECT_EQ(PageEncoding::utf8(), *PageEncoding::find("utf-8"));
  EXPECT_EQ(PageEncoding::windows_1252(), *PageEncoding::find("windows-1252"));
  EXPECT_FALSE(PageEncoding::windows_1252().is_utf8());
}

}  // namespace
}  // namespace trawl
