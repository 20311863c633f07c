// Pages of each encoding as UTF-8.
#include "crawler/parse/encoding/page_encoding.h"

#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/utf8_validation.h"
#include "crawler/parse/encoding/encoding_index.h"

namespace trawl {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kLabels[] = {
    "ibm866",       "iso-8859-2",   "iso-8859-3",     "iso-8859-4",    "iso-8859-5",
    "iso-8859-6",   "iso-8859-7",   "iso-8859-8",     "iso-8859-8-i",  "iso-8859-10",
    "iso-8859-13",  "iso-8859-14",  "iso-8859-15",    "iso-8859-16",   "koi8-r",
    "koi8-u",       "macintosh",    "windows-874",    "windows-1250",  "windows-1251",
    "windows-1252", "windows-1253", "windows-1254",   "windows-1255",  "windows-1256",
    "windows-1257", "windows-1258", "x-mac-cyrillic", "gbk",           "gb18030",
    "big5",         "euc-jp",       "iso-2022-jp",    "shift_jis",     "euc-kr",
    "replacement",  "utf-16be",     "utf-16le",       "x-user-defined"};

std::string decoded(std::string_view bytes, std::string_view label) {
  std::string buffer;
  return std::string(decode_page(bytes, *PageEncoding::find(label), buffer));
}

TEST(PageEncoding, AsciiNeedsNoCopy) {
  const std::string page(1000, 'x');
  std::string buffer;
  for (const std::string_view label : {"utf-8", "windows-1252", "gbk", "shift_jis", "euc-kr"}) {
    const std::string_view text = decode_page(page, *PageEncoding::find(label), buffer);
    EXPECT_EQ(static_cast<const void*>(text.data()), page.data()) << label;
    EXPECT_EQ(text.size(), page.size());
  }
}

TEST(PageEncoding, Utf8StaysAsItIs) {
  EXPECT_EQ(decoded("caf\xC3\xA9 \xFF\xC3", "utf-8"), "caf\xC3\xA9 \xFF\xC3");
  EXPECT_EQ(decoded("\xEF\xBB\xBFx", "utf-8"), "x");
  EXPECT_EQ(decoded("\xEF\xBB\xBF\xEF\xBB\xBFx", "utf-8"), "\xEF\xBB\xBFx");
}

TEST(PageEncoding, EmptyPages) {
  for (const std::string_view label : kLabels)
    EXPECT_EQ(decoded("", label), "") << label;
  EXPECT_EQ(decoded("", "utf-8"), "");
}

TEST(PageEncoding, LinksOfEachEncoding) {
  const auto expect_link = [](std::string_view label, std::string_view bytes,
                              std::string_view text) {
    const auto link = [](std::string_view in) {
      return std::string("<a href=\"/").append(in).append("?q=").append(in).append("#x\">");
    };
    EXPECT_EQ(decoded(link(bytes), label), link(text)) << label;
  };
  expect_link("shift_jis", "\x93\xFA\x96{\x8C\xEA", "日本語");
  expect_link("shift_jis", "\x83\\\x81[\x95\\", "ソー表");
  expect_link("gbk", "\xD6\xD0\xCE\xC4\xCD\xF8\xD2\xB3", "中文网页");
  expect_link("gb18030", "\xD6\xD0\x94\x39\xFC\x36", "中😀");
  expect_link("big5", "\xA4\xA4\xA4\xE5\xBA\xF4\xAD\xB6", "中文網頁");
  expect_link("euc-kr", "\xC7\xD1\xB1\xB9\xBE\xEE\x8C\x63", "한국어똠");
  expect_link("euc-jp", "\xC6\xFC\xCB\xDC\xB8\xEC", "日本語");
  expect_link("iso-2022-jp", "\x1B$BF|K\\8l\x1B(B", "日本語");
  expect_link("koi8-r", "\xF0\xD2\xC9\xD7\xC5\xD4", "Привет");
  expect_link("windows-1251", "\xCF\xF0\xE8\xE2\xE5\xF2", "Привет");
  expect_link("ibm866", "\x8F\xE0\xA8\xA2\xA5\xE2", "Привет");
  expect_link("windows-1252",
              "\x93"
              "caf\xE9\x94",
              "“café”");
}

TEST(PageEncoding, SingleBytesAsTheStandardHasThem) {
  EXPECT_EQ(decoded("\x80\x81\x8D\x9F\xA4\xFF", "windows-1252"), "€\u0081\u008DŸ¤ÿ");
  EXPECT_EQ(decoded("\x81\xCA\xD9", "windows-1255"), "\u0081\u05BA\uFFFD");
  EXPECT_EQ(decoded("\x80\xDB\xFF", "windows-874"), "€\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\x88\xAA\xD2\xE1", "windows-1253"), "\u0088\uFFFD\uFFFDα");
  EXPECT_EQ(decoded("\xA4\xA6", "iso-8859-15"), "€Š");
  EXPECT_EQ(decoded("\xA1\xC7", "iso-8859-6"), "\uFFFDا");
  EXPECT_EQ(decoded("\xAE\xBE", "koi8-u"), "ўЎ");
  EXPECT_EQ(decoded("\xDB\xC6\xF0", "macintosh"), "€∆\uF8FF");
  EXPECT_EQ(decoded("\xA2\xB6\xFF", "x-mac-cyrillic"), "Ґґ€");
  EXPECT_EQ(decoded("\x80\xFF\x7F", "x-user-defined"), "\uF780\uF7FF\x7F");
  EXPECT_EQ(decoded("\0\xE9\0"sv, "latin1"), "\0é\0"sv);
}

TEST(PageEncoding, ShiftJis) {
  // No yen sign and no overline, but half-width katakana in one byte.
  EXPECT_EQ(decoded("\\~\xB1\x80", "shift_jis"), "\\~ｱ\u0080");
  EXPECT_EQ(decoded("\x81\x60\x87\x40\xFA\x40\xFC\x4B", "shift_jis"), "～①ⅰ黑");
  EXPECT_EQ(decoded("\xF0\x40\xF9\xFC", "shift_jis"), "\uE000\uE757");
  EXPECT_EQ(decoded("\xA0\xFD\xFF", "shift_jis"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\x85\x9F\x93", "shift_jis"), "\uFFFD\uFFFD");
}

TEST(PageEncoding, Gb18030) {
  EXPECT_EQ(decoded("\x80\xFF", "gbk"), "€\uFFFD");
  EXPECT_EQ(decoded("\xA2\xE3\xA3\xA0\xA8\xBC", "gb18030"), "€\u3000\u1E3F");
  EXPECT_EQ(decoded("\xA6\xD9\xFE\x59", "gb18030"), "\uFE10\u9FB4");
  EXPECT_EQ(decoded("\x81\x30\x81\x30\x81\x35\xF4\x37", "gb18030"), "\u0080\uE7C7");
  EXPECT_EQ(decoded("\x90\x30\x81\x30\xE3\x32\x9A\x35", "gb18030"), "\U00010000\U0010FFFF");
  EXPECT_EQ(decoded("\xE3\x32\x9A\x36\x84\x31\xA5\x30", "gb18030"), "\uFFFD\uFFFD");
  // The digit of an invalid sequence is text.
  EXPECT_EQ(decoded("\x81\x30<", "gbk"), "\uFFFD0<");
  EXPECT_EQ(decoded("\x81\x30\x81<", "gbk"), "\uFFFD0\uFFFD<");
  EXPECT_EQ(decoded("\x81\x30\xD6\xD0", "gbk"), "\uFFFD0中");
  EXPECT_EQ(decoded("\x81", "gbk"), "\uFFFD");
  EXPECT_EQ(decoded("\x81\x30", "gbk"), "\uFFFD");
  EXPECT_EQ(decoded("\x81\x30\x81", "gbk"), "\uFFFD");
}

TEST(PageEncoding, Big5) {
  EXPECT_EQ(decoded("\x88\x62\x88\x64\x88\xA3\x88\xA5", "big5"), "Ê\u0304Ê\u030Cê\u0304ê\u030C");
  EXPECT_EQ(decoded("\x87\x40\xA3\xE1\x8E\x69\xFE\xFE", "big5"), "\u43F0€\u7BB8\u79D4");
  EXPECT_EQ(decoded("\xA1\x45\xA1\x5A\xA3\xC0\xA3\xDF", "big5"), "\u2027\u2574\u2400\u241F");
  EXPECT_EQ(decoded("\x80\xFF\xA4", "big5"), "\uFFFD\uFFFD\uFFFD");
}

TEST(PageEncoding, EucJp) {
  EXPECT_EQ(decoded("\x8E\xB1\x8F\xB0\xA1\xA1\xC1", "euc-jp"), "ｱ丂～");
  EXPECT_EQ(decoded("\x8E\xE0\x8F\x8E\x80", "euc-jp"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\x8F\xB0<", "euc-jp"), "\uFFFD<");
  EXPECT_EQ(decoded("\x8F\xB0", "euc-jp"), "\uFFFD");
  EXPECT_EQ(decoded("\x8F", "euc-jp"), "\uFFFD");
}

TEST(PageEncoding, Iso2022Jp) {
  EXPECT_EQ(decoded("\x1B(J\\~a\x1B(I1\x1B(B\\", "iso-2022-jp"), "¥‾aｱ\\");
  EXPECT_EQ(decoded("\x1B$@F|\n\x1B(Bx", "iso-2022-jp"), "日\uFFFDx");
  EXPECT_EQ(decoded("\x0E\x0F\xB1", "iso-2022-jp"), "\uFFFD\uFFFD\uFFFD");
  // Consecutive and invalid escape sequences are not lost.
  EXPECT_EQ(decoded("\x1B$B\x1B(B<", "iso-2022-jp"), "\uFFFD<");
  EXPECT_EQ(decoded("\x1B<\x1B(<\x1B$", "iso-2022-jp"), "\uFFFD<\uFFFD(<\uFFFD$");
  EXPECT_EQ(decoded("\x1B$BF\x1B(B<", "iso-2022-jp"), "\uFFFD<");
  EXPECT_EQ(decoded("\x1B$BF", "iso-2022-jp"), "\uFFFD");
  EXPECT_EQ(decoded("plain", "iso-2022-jp"), "plain");
}

TEST(PageEncoding, Utf16) {
  EXPECT_EQ(decoded("\xFF\xFE<\0\xE5\x65"sv, "utf-16le"), "<日");
  EXPECT_EQ(decoded("\xFE\xFF\0<\x65\xE5"sv, "utf-16be"), "<日");
  EXPECT_EQ(decoded("\x3D\xD8\x00\xDE"sv, "utf-16le"), "😀");
  EXPECT_EQ(decoded("\xD8\x3D\xDE\x00"sv, "utf-16be"), "😀");
  // Surrogates that are alone; the unit behind one is kept.
  EXPECT_EQ(decoded("\x3D\xD8<\0\x00\xDE\x3D\xD8\x3D\xD8\x00\xDE"sv, "utf-16le"),
            "\uFFFD<\uFFFD\uFFFD😀");
  EXPECT_EQ(decoded("\x3D\xD8"sv, "utf-16le"), "\uFFFD");
  EXPECT_EQ(decoded("\x3D\xD8\x00"sv, "utf-16le"), "\uFFFD");
  EXPECT_EQ(decoded("a\0b"sv, "utf-16le"), "a\uFFFD");
  EXPECT_EQ(decoded("\0\0a\0\xFF\xFE"sv, "utf-16le"), "\0a\uFEFF"sv);
  std::string units, text;
  for (int i = 0; i < 1000; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    units += letter;
    units += '\0';
    text += letter;
    if (i % 7 == 0) units.append("\xAC\x20"), text += "€";
  }
  EXPECT_EQ(decoded(units, "utf-16le"), text);
}

TEST(PageEncoding, ReplacementIsOneCharacter) {
  EXPECT_EQ(decoded("<a href=x>", "iso-2022-kr"), "\uFFFD");
}

// A lead byte before it must not hide what ends an attribute or opens a tag.
TEST(PageEncoding, LeadBytesDoNotSwallowAscii) {
  for (const std::string_view label : {"gbk", "gb18030", "big5", "euc-kr", "shift_jis", "euc-jp"}) {
    for (int lead = 0x80; lead <= 0xFF; ++lead) {
      for (const char ascii : {'<', '"', '\'', '>', ' ', '&', '/', '\n', '\x7F', '?'}) {
        const std::string page = {'x', static_cast<char>(lead), ascii, 'y', 'z', 'w', 'v', 'u'};
        const std::string text = decoded(page, label);
        EXPECT_TRUE(text.ends_with(page.substr(2))) << label << " " << lead << " " << ascii;
      }
    }
  }
}

TEST(PageEncoding, RandomBytesBecomeUtf8WithTheirMarkUp) {
  constexpr unsigned kSeed = 51;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  const auto mark_up = [](std::string_view text) {
    std::string found;
    for (const char c : text) {
      if (std::string_view("<>\"'&=?/# \n\t;:").find(c) != std::string_view::npos) found += c;
    }
    return found;
  };
  for (const std::string_view label : kLabels) {
    const PageEncoding encoding = *PageEncoding::find(label);
    const bool keeps_ascii = encoding.output() == encoding && label != "iso-2022-jp";
    std::string buffer;
    for (int round = 0; round < 200; ++round) {
      std::string page(random() % 300, '\0');
      for (char& c : page)
        c = static_cast<char>(random() % 3 ? random() % 256 : "<\"\x1B(B"[random() % 5]);
      const std::string_view text = decode_page(page, encoding, buffer);
      ASSERT_TRUE(is_utf8(text)) << label << " " << testing::PrintToString(page);
      ASSERT_LE(text.size(), 3 * page.size() + 3);
      if (!keeps_ascii) continue;
      ASSERT_EQ(mark_up(text), mark_up(page)) << label << testing::PrintToString(page);
    }
  }
}

TEST(PageEncoding, BufferIsUsedAgain) {
  std::string buffer;
  const PageEncoding encoding = *PageEncoding::find("shift_jis");
  const std::string page(10000, '\xB1');
  EXPECT_EQ(decode_page(page, encoding, buffer).size(), 3 * page.size());
  EXPECT_EQ(decode_page("\xB1", encoding, buffer), "ｱ");
  EXPECT_EQ(decode_page("\xB1\xB1", encoding, buffer), "ｱｱ");
}

TEST(PageEncoding, TablesAreMadeOnceForAllThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> texts(8);
  for (std::string& text : texts) {
    threads.emplace_back([&text] {
      for (const std::string_view label : kLabels)
        text += decoded("\xC6\xFC\xCB\xDC\xB8\xEC", label);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& text : texts)
    EXPECT_EQ(text, texts.front());
}

// What a machine without all of the C library's converters is left with.
TEST(PageEncoding, EncodingThatIconvLacksMeansNothing) {
  const SingleByteIndex single = make_single_byte_index("NO-SUCH-ENCODING", "ISO-8859-2");
  EXPECT_EQ(single['a'], pack_utf8('a'));
  EXPECT_EQ(single[0xE9], kPackedReplacement);
  const PointerIndex two = make_two_byte_index({.iconv_name = "NO-SUCH-ENCODING",
                                                .prefix = "",
                                                .pointers = kBig5Pointers,
                                                .is_lead = is_lead,
                                                .pointer = big5_pointer,
                                                .corrections = {}});
  EXPECT_EQ(two, PointerIndex(kBig5Pointers, 0));
}

}  // namespace
}  // namespace trawl
