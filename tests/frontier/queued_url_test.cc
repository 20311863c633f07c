#include "frontier/store/queued_url.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "frontier/common/queue_names.h"

namespace trawl {
namespace {

constexpr auto kMaxCount = std::numeric_limits<std::uint32_t>::max();

void expect_equal(const UrlRecord& a, const UrlRecord& b) {
  EXPECT_EQ(a.url, b.url);
  EXPECT_EQ(a.parent, b.parent);
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.redirects, b.redirects);
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.recrawl, b.recrawl);
  EXPECT_EQ(a.note, b.note);
}

void expect_round_trip(const UrlRecord& url) {
  const std::string record = encode_record(url);
  const auto back = decode_record(record);
  ASSERT_TRUE(back);
  expect_equal(*back, url);
}

TEST(QueuedUrl, RecordsRoundTrip) {
  const std::string_view url = "http://a.test:8080/x?y";
  for (const std::string& parent :
       {std::string(), std::string("http://b.test/"), std::string("http://a.test:8080/x?y"),
        std::string("http://a.test:8080/x?y&more=1"), std::string("http://a.test:8080/"),
        std::string("no prefix of it"), std::string(300, 'h')}) {
    for (const std::uint32_t count : {0u, 1u, 300u, kMaxCount}) {
      expect_round_trip({.url = url, .parent = parent, .depth = count});
      expect_round_trip({.url = url, .parent = parent, .redirects = count});
      expect_round_trip({.url = url, .parent = parent, .attempts = count, .recrawl = true});
      expect_round_trip({.url = url,
                         .parent = parent,
                         .depth = count,
                         .redirects = count,
                         .attempts = count,
                         .recrawl = true,
                         .note = parent});
    }
  }
}

TEST(QueuedUrl, TellsRecrawlsFromRetries) {
  EXPECT_TRUE(is_recrawl_record(encode_record({.url = "http://a/", .depth = 9, .recrawl = true})));
  EXPECT_FALSE(is_recrawl_record(encode_record({.url = "http://a/", .depth = 9})));
  EXPECT_FALSE(
      is_recrawl_record(encode_record({.url = "http://a/", .attempts = 1, .recrawl = true})));
  EXPECT_FALSE(is_recrawl_record(""));
}

TEST(QueuedUrl, OfAParentOnlyWhatTheUrlLacksIsKept) {
  const std::string site = "https://a.rather.long.name.example.com/section/";
  const std::string alone = encode_record({.url = site + "page"});
  const std::string with_parent = encode_record({.url = site + "page", .parent = site + "up"});
  EXPECT_LE(with_parent.size(), alone.size() + 4);
}

TEST(QueuedUrl, KeysRoundTripAndSortAsTheQueuesDo) {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  std::vector<QueueOrder> orders;
  for (const std::int32_t priority : {kMax, 1, 0, -1, kMin}) {
    for (const std::uint64_t sequence : {0ull, 1ull, 255ull, 256ull, ~0ull})
      orders.push_back({priority, sequence});
  }
  EXPECT_TRUE(std::ranges::is_sorted(orders));
  std::vector<std::string> keys;
  for (const HostId host :
       {HostId{0}, HostId{1}, HostId{255}, HostId{256}, HostId{1} << 63, ~HostId{0}}) {
    for (const QueueOrder& order : orders) {
      keys.push_back(pending_key(host, order));
      ASSERT_EQ(keys.back().size(), kPendingKeyBytes);
      const auto back = decode_pending_key(keys.back());
      ASSERT_TRUE(back);
      EXPECT_EQ(back->first, host);
      EXPECT_EQ(back->second, order);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(keys));
}

TEST(QueuedUrl, KeysOfAnotherLengthAreRefused) {
  const std::string key = pending_key(1, {.priority = 2, .sequence = 3});
  for (std::size_t n = 0; n < key.size(); ++n)
    EXPECT_FALSE(decode_pending_key(key.substr(0, n)));
  EXPECT_FALSE(decode_pending_key(key + "x"));
}

TEST(QueuedUrl, RecordsCutShortAreRefused) {
  const std::string parent = "http://a/p";
  const UrlRecord url = {.url = "http://a/",
                         .parent = parent,
                         .depth = 1,
                         .redirects = 2,
                         .attempts = 3,
                         .note = "note"};
  const std::string record = encode_record(url);
  // The rest of the parent is what is left of a record.
  for (std::size_t n = 0; n < record.size() - 1; ++n)
    EXPECT_FALSE(decode_record(record.substr(0, n))) << n;
  const std::string without = encode_record({.url = "http://a/"});
  for (std::size_t n = 0; n < without.size(); ++n)
    EXPECT_FALSE(decode_record(without.substr(0, n))) << n;
  EXPECT_FALSE(decode_record(without + "x"));
}

// In a block of exactly their size, so that a sanitizer sees a read beyond them.
bool decodes(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const auto record = decode_record({exact.data(), exact.size()});
  if (!record) return false;
  EXPECT_TRUE(record->url.empty() ||
              (record->url.data() >= exact.data() &&
               record->url.data() + record->url.size() <= exact.data() + exact.size()));
  EXPECT_LE(record->parent.size(), exact.size() * 2);
  return true;
}

TEST(QueuedUrl, RandomAndDamagedBytesDecodeToNothingWorseThanARecord) {
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  int decoded = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % (i % 2 == 0 ? 256 : 12));
    decoded += decodes(bytes) ? 1 : 0;
  }
  EXPECT_GT(decoded, 100) << "some are records by chance";
  const std::string good = encode_record({.url = "http://a.test/some/path",
                                          .parent = "http://a.test/some",
                                          .depth = 200,
                                          .redirects = 1,
                                          .attempts = 200});
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = good;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2 == 0) bytes.resize(random() % bytes.size());
    decodes(bytes);
  }
}

TEST(QueuedUrl, NumbersBeyondTheirRangeAreRefused) {
  // depth 2^32, and a count of redirects of 2^32.
  EXPECT_TRUE(decode_record(std::string("\xe0\xff\xff\xff\xff\x03\x01u", 8)));
  EXPECT_FALSE(decode_record(std::string("\x80\x80\x80\x80\x80\x04\x01u", 8)));
  EXPECT_TRUE(decode_record(std::string("\x02\xff\xff\xff\xff\x0f\x01u", 8)));
  EXPECT_FALSE(decode_record(std::string("\x02\x80\x80\x80\x80\x10\x01u", 8)));
  // A parent that shares more than the whole URL.
  EXPECT_TRUE(decode_record(std::string("\x08\x01u\x01", 4)));
  EXPECT_FALSE(decode_record(std::string("\x08\x01u\x02", 4)));
}

TEST(QueuedUrl, HostsDifferByKeyAndName) {
  const auto hash = KeyedHash::from_seed(1);
  EXPECT_EQ(host_id(hash, "a.test"), host_id(KeyedHash::from_seed(1), "a.test"));
  EXPECT_NE(host_id(hash, "a.test"), host_id(hash, "b.test"));
  EXPECT_NE(host_id(hash, "a.test"), host_id(KeyedHash::from_seed(2), "a.test"));
}

void expect_same_group(const std::string& text) {
  const auto url = Url::parse(text);
  if (!url) return;
  EXPECT_EQ(host_of(url->href()), politeness_group(*url)) << text;
  EXPECT_EQ(host_of(url->href_without_fragment()), politeness_group(*url)) << text;
}

TEST(QueuedUrl, TheHostOfAUrlIsItsPolitenessGroup) {
  EXPECT_EQ(host_of("http://a.test/"), "a.test");
  EXPECT_EQ(host_of("https://user:pw@a.test.:8080/x"), "a.test:8080");
  const std::array schemes = {"http://", "https://"};
  const std::array users = {"", "user@", "user:pw@", ":pw@", "a%40b:c%3A@", "a@b@", "u:[x]@"};
  const std::array hosts = {"a.test",
                            "a.test.",
                            "A.Test",
                            "1.2.3.4",
                            "[::1]",
                            "[2001:db8::8:443]",
                            "xn--bcher-kva.test",
                            "b\xc3\xbc"
                            "cher.test",
                            "a..",
                            "localhost",
                            "0x7f.1"};
  const std::array ports = {"", ":", ":80", ":443", ":8080", ":080", ":0", ":65535"};
  const std::array tails = {
      "",       "/",           "/a:81@b/c", "?q=//x:1@y",      "#f:2@g",
      "/a?b#c", "//c:9/d@e:8", "/http://b", "/?http://u@v:3/", "/#http://w:4"};
  for (const char* scheme : schemes) {
    for (const char* user : users) {
      for (const char* host : hosts) {
        for (const char* port : ports) {
          for (const char* tail : tails)
            expect_same_group(std::string(scheme) + user + host + port + tail);
        }
      }
    }
  }
}

TEST(QueuedUrl, TheHostOfARandomUrlIsItsPolitenessGroup) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr std::string_view kBytes = "ab.:/@[]?#%12480\\-_~ \t";
  for (int i = 0; i < 100'000; ++i) {
    std::string text = random() % 2 == 0 ? "http://" : "https://";
    for (std::size_t n = random() % 16; n > 0; --n)
      text += kBytes[random() % kBytes.size()];
    expect_same_group(text);
    host_of(text);  // no crash, whatever it is
  }
}

}  // namespace
}  // namespace trawl
