// What is kept with a URL comes back, and nothing else does.
#include "crawler/decide/url_note.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

UrlNote full_note() {
  UrlNote note;
  note.role = UrlNote::Role::kSitemap;
  note.sitemap_level = 2;
  note.vouched = true;
  note.hops_off_scope = 3;
  note.sitemap_priority = 0.75;
  note.etag = "W/\"5f-\xc3\xa9\"";
  note.last_modified = "Sat, 21 Nov 2026 20:31:09 GMT";
  note.digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
  note.interval = 36h;
  note.first_url = "http://a.example/first";
  note.first_date = "2026-11-21T20:31:09.123456Z";
  return note;
}

TEST(UrlNote, WhatSaysNothingTakesNoBytes) {
  EXPECT_EQ(UrlNote().encode(), "");
  EXPECT_EQ(UrlNote::decode(""), UrlNote());
}

TEST(UrlNote, ComesBackAsItWas) {
  EXPECT_EQ(UrlNote::decode(full_note().encode()), full_note());
  // Each field alone.
  UrlNote note;
  note.hops_off_scope = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  EXPECT_LE(note.encode().size(), 7u);
  note = {};
  note.sitemap_priority = 0.0;
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.interval = std::chrono::milliseconds::max();
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.etag = std::string(1024, 'e');
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.seed = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.listed_interval = std::chrono::milliseconds::max();
  note.has_lastmod = true;
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.requisite_hops = 3;
  note.style_sheet = true;
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  note = {};
  note.role = UrlNote::Role::kSitemap;
  note.lists_seeds = true;
  note.read_at = 1'800'000'000;
  EXPECT_EQ(UrlNote::decode(note.encode()), note);
  for (std::size_t kind = 0; kind < kFoundAsNames.size(); ++kind) {
    note = {};
    note.found = {static_cast<FoundAs>(kind)};
    EXPECT_EQ(UrlNote::decode(note.encode()), note);
    note.found.add(FoundAs::kRedirect);
    EXPECT_EQ(UrlNote::decode(note.encode()), note);
  }
}

TEST(UrlNote, LeavesOutWhatCannotBeKept) {
  const auto kept = [](auto change) {
    UrlNote note;
    change(note);
    return UrlNote::decode(note.encode());
  };
  EXPECT_EQ(kept([](UrlNote& note) { note.etag = std::string(1025, 'e'); }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.etag = "a\r\nCookie: b"; }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.last_modified = "a\0b"sv; }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.digest = std::string(129, 'd'); }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.interval = -1ms; }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.interval = 0ms; }), UrlNote());
  EXPECT_EQ(kept([](UrlNote& note) { note.first_url = "http://a.example/"; }), UrlNote());
  for (const double priority : {-0.1, 1.1, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(kept([=](UrlNote& note) { note.sitemap_priority = priority; }), UrlNote());
  }
}

TEST(UrlNote, IsBounded) {
  UrlNote note = full_note();
  note.etag = std::string(1024, 'e');
  note.last_modified = std::string(1024, 'm');
  note.first_url = "http://a.example/" + std::string(2000, 'p');
  EXPECT_LE(note.encode().size(), UrlNote::kMaxBytes);
  // What names the first copy goes before what the page's own fetches need.
  const UrlNote kept = UrlNote::decode(note.encode());
  EXPECT_EQ(kept.first_url, "");
  EXPECT_EQ(kept.first_date, "");
  EXPECT_EQ(kept.etag, note.etag);
  EXPECT_EQ(kept.last_modified, note.last_modified);
  EXPECT_EQ(kept.digest, note.digest);
}

TEST(UrlNote, OfDamagedBytesSaysNothing) {
  const std::string good = full_note().encode();
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(UrlNote::decode(std::string_view(good).substr(0, length)), UrlNote()) << length;
  }
  EXPECT_EQ(UrlNote::decode(good + '\0'), UrlNote());
  EXPECT_EQ(UrlNote::decode("\x02" + good.substr(1)), UrlNote());  // a later version
  EXPECT_EQ(UrlNote::decode(std::string(UrlNote::kMaxBytes + 1, '\x01')), UrlNote());
  // A header in a validator.
  EXPECT_EQ(UrlNote::decode("\x01\x08\x04"
                            "a\r\nb"sv),
            UrlNote());
  // A length beyond the end.
  EXPECT_EQ(UrlNote::decode("\x01\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                            "a"sv),
            UrlNote());
}

TEST(UrlNote, OfAnyBytesIsOneThatCouldHaveBeenWritten) {
  constexpr std::uint64_t kSeed = 3;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  const std::string good = full_note().encode();
  int notes = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = good;
    for (auto edits = 1 + random() % 4; edits > 0; --edits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const UrlNote note = UrlNote::decode(bytes);
    notes += note == UrlNote() ? 0 : 1;
    ASSERT_EQ(UrlNote::decode(note.encode()), note);
  }
  EXPECT_GT(notes, 1000);  // the loop looked at more than refusals
}

}  // namespace
}  // namespace trawl
