#include "crawler/http/content_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "compressed.h"

namespace trawl {
namespace {

using test::brotli;
using test::deflated;
using test::gzip;
using test::zstd;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

struct Decoded {
  std::string text;
  bool broken = false;
  bool exceeded = false;
  bool complete = false;
};

// Given in pieces of `step` bytes, taken in pieces of `room`.
Decoded decode(std::string_view coding, std::string_view input, std::size_t step = 1 << 20,
               std::size_t room = 1 << 16, std::uint64_t max_between = kNoLimit) {
  auto decoder = ContentDecoder::create(coding, max_between);
  EXPECT_TRUE(decoder.has_value() && *decoder != nullptr) << coding;
  Decoded got;
  std::string out(room, '\0');
  while (!input.empty() && !(*decoder)->broken() && !(*decoder)->exceeded()) {
    std::string_view piece = input.substr(0, step);
    input.remove_prefix(piece.size());
    std::size_t written = 0;
    do {
      written = (*decoder)->decode(piece, {out.data(), out.size()});
      got.text.append(out, 0, written);
    } while (written == out.size());
    EXPECT_TRUE(piece.empty() || (*decoder)->broken() || (*decoder)->exceeded());
  }
  got.broken = (*decoder)->broken();
  got.exceeded = (*decoder)->exceeded();
  got.complete = (*decoder)->complete();
  return got;
}

std::string sample(std::size_t size) {
  std::mt19937 random(1);
  std::string text;
  while (text.size() < size)
    text += "<p>" + std::to_string(random() % 10'000) + "</p>";
  return text;
}

struct Coded {
  std::string coding;
  std::string bytes;
};
std::vector<Coded> all_codings(const std::string& text) {
  return {{"gzip", gzip(text)},
          {"X-GZip", gzip(text)},
          {"deflate", deflated(text, 15)},
          {"deflate", deflated(text, -15)},
          {"br", brotli(text)},
          {"zstd", zstd(text)},
          {"gzip, identity", gzip(text)},
          {"br,gzip", gzip(brotli(text))},
          {"deflate , zstd, gzip", gzip(zstd(deflated(text, -15)))}};
}

TEST(ContentDecoder, UndoesEveryCodingHoweverItComes) {
  const std::string text = sample(100'000);
  for (const Coded& coded : all_codings(text)) {
    for (const std::size_t step : {1, 2, 7, 1000, 1 << 20}) {
      for (const std::size_t room : {1, 100, 1 << 16}) {
        if (step < 7 && room < 100) continue;  // slow, and nothing new
        const Decoded got = decode(coded.coding, coded.bytes, step, room);
        EXPECT_TRUE(got.text == text) << coded.coding << ' ' << step << ' ' << room;
        EXPECT_TRUE(got.complete && !got.broken) << coded.coding;
      }
    }
  }
}

TEST(ContentDecoder, NothingToUndoIsNoDecoder) {
  for (const char* none :
       {"", "identity", " Identity ", ",", "identity,, identity", "none", "utf-8", "binary",
        "aws-chunked", "compress", "rot13, none", "g zip", "gzip;q=1", "\"gzip\""}) {
    const auto decoder = ContentDecoder::create(none, kNoLimit);
    ASSERT_TRUE(decoder.has_value()) << none;
    EXPECT_EQ(*decoder, nullptr) << none;
  }
}

// As Firefox does: what was sent as "aws-chunked,gzip" is gzip.
TEST(ContentDecoder, UnknownCodingsAreLeftOutOfAList) {
  const std::string text = sample(1000);
  for (const char* codings : {"gzip, aws-chunked", "aws-chunked,gzip", "utf-8, gzip, none"}) {
    const Decoded got = decode(codings, gzip(text));
    EXPECT_TRUE(got.text == text && got.complete && !got.broken) << codings;
  }
}

TEST(ContentDecoder, TooManyCodingsAreAnError) {
  EXPECT_TRUE(ContentDecoder::create("gzip,gzip,gzip", kNoLimit).has_value());
  EXPECT_TRUE(ContentDecoder::create("gzip,rot13,gzip,none,gzip", kNoLimit).has_value());
  EXPECT_FALSE(ContentDecoder::create("gzip,gzip,gzip,gzip", kNoLimit).has_value());
}

// 8 bytes behind gzip's data, 4 behind that of zlib.
TEST(ContentDecoder, AChecksumThatIsMissingIsNotMissed) {
  for (const std::size_t size : {0, 1, 100, 300'000}) {
    const std::string text = sample(size).substr(0, size);
    for (const auto& [coding, bytes, trailer] :
         {std::tuple("gzip", gzip(text), 8u), std::tuple("deflate", deflated(text, 15), 4u)}) {
      for (unsigned left_out = 0; left_out <= trailer; ++left_out) {
        const auto cut = std::string_view(bytes).substr(0, bytes.size() - left_out);
        for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, cut.size()}) {
          for (const std::size_t room : {std::size_t{100}, std::size_t{1} << 20}) {
            if (step == 1 && size > 1000) continue;
            const Decoded got = decode(coding, cut, step, room);
            EXPECT_TRUE(got.text == text && got.complete && !got.broken)
                << coding << ' ' << size << " without " << left_out << " in steps of " << step;
          }
        }
      }
      const Decoded cut =
          decode(coding, std::string_view(bytes).substr(0, bytes.size() - trailer - 1));
      EXPECT_FALSE(cut.complete) << coding << ' ' << size << ", a byte of the data is missing";
    }
    std::string wrong = gzip(text);
    wrong[wrong.size() - 8] ^= 1;
    EXPECT_TRUE(decode("gzip", wrong).broken) << "a checksum that is wrong";
    const Decoded members =
        decode("gzip", gzip(text) + gzip("more").substr(0, gzip("more").size() - 8));
    EXPECT_TRUE(members.text == text + "more" && members.complete && !members.broken);
  }
}

TEST(ContentDecoder, WhatIsCutOffIsDecodedSoFarAndIncomplete) {
  const std::string text = sample(300'000);  // more than a block of zstd
  for (const Coded& coded : all_codings(text)) {
    for (const double part : {0.01, 0.5, 0.95}) {
      const auto size = static_cast<std::size_t>(static_cast<double>(coded.bytes.size()) * part);
      const Decoded got = decode(coded.coding, std::string_view(coded.bytes).substr(0, size));
      EXPECT_FALSE(got.complete) << coded.coding << ' ' << part;
      EXPECT_TRUE(std::string_view(text).starts_with(got.text)) << coded.coding;
      if (part == 0.95) {
        EXPECT_GT(got.text.size(), 0u) << coded.coding;
      }
    }
    EXPECT_TRUE(decode(coded.coding, "").complete) << "no body at all: " << coded.coding;
  }
}

TEST(ContentDecoder, SeveralMembersAndFramesAreOneBody) {
  const std::string one = sample(5000);
  const std::string two = sample(70'000);
  for (const std::size_t step : {1, 1 << 20}) {
    EXPECT_TRUE(decode("gzip", gzip(one) + gzip(two) + gzip(""), step).text == one + two);
    EXPECT_TRUE(decode("zstd", zstd(one) + zstd(two) + zstd(""), step).text == one + two);
  }
}

TEST(ContentDecoder, RubbishBehindTheEndIsIgnored) {
  const std::string text = sample(5000);
  for (const Coded& coded : all_codings(text)) {
    for (const std::string& rubbish :
         {std::string("\n"), std::string(600, '\0'), std::string("\x1f"),
          std::string("\x1f\x8b rubbish that begins like a member"), std::string("HTTP/1.1 200")}) {
      for (const std::size_t step : {1, 1 << 20}) {
        const Decoded got = decode(coded.coding, coded.bytes + rubbish, step);
        EXPECT_TRUE(got.text == text && !got.broken && got.complete)
            << coded.coding << " + " << rubbish.size() << " bytes";
      }
    }
  }
}

TEST(ContentDecoder, DamagedBytesNeverCrashOrHang) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string text = sample(20'000);
  const auto codings = all_codings(text);
  for (int i = 0; i < 2000; ++i) {
    const Coded& coded = codings[random() % codings.size()];
    std::string bytes = coded.bytes;
    for (unsigned damage = random() % 4 + 1; damage > 0; --damage)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes = bytes.substr(random() % bytes.size());
    decode(coded.coding, bytes, random() % 5000 + 1, random() % 5000 + 1);
  }
  for (const char* coding : {"gzip", "deflate", "br", "zstd"})
    EXPECT_TRUE(decode(coding, "this is what no compressor writes").broken) << coding;
}

// A bomb within a bomb shows in none of the output.
TEST(ContentDecoder, WhatIsBetweenTwoCodingsHasALimit) {
  const std::string empty = gzip("");
  std::string nothing;
  for (int i = 0; i < 200'000; ++i)
    nothing += empty;
  ASSERT_GE(nothing.size(), 4'000'000u);
  const std::string bomb = brotli(nothing);
  ASSERT_LT(bomb.size(), 100'000u);
  const Decoded got = decode("gzip, br", bomb, 16 * 1024, 32 * 1024, 1'000'000);
  EXPECT_TRUE(got.exceeded);
  EXPECT_EQ(got.text, "");
  EXPECT_FALSE(decode("gzip, br", bomb, 16 * 1024, 32 * 1024, 10'000'000).exceeded);
}

TEST(ContentDecoder, SaysWhatMemoryItHas) {
  const std::string text = sample(1 << 20);
  const auto memory_of = [&](std::string_view coding, const std::string& bytes) {
    const auto decoder = ContentDecoder::create(coding, kNoLimit);
    std::string out(1000, '\0');
    std::string_view input = bytes;
    (*decoder)->decode(input, {out.data(), out.size()});
    return (*decoder)->memory();
  };
  EXPECT_GE(memory_of("gzip", gzip(text)), 40'000u);
  EXPECT_GE(memory_of("zstd", zstd(text, 20)), 1u << 20);
  EXPECT_GT(memory_of("br", brotli(text, 20)), memory_of("br", brotli(text, 12)));
}

TEST(ContentDecoder, ZstdWindowsBeyondWhatBrowsersTakeAreRefused) {
  const std::string text = sample(1 << 20);
  EXPECT_TRUE(decode("zstd", zstd(text, 23)).text == text);
  EXPECT_TRUE(decode("zstd", zstd(text, 25)).broken);
}

}  // namespace
}  // namespace trawl
