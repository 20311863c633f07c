#include "crawler/decide/blocklist.h"

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/growing_bloom_filter.h"

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using test::TemporaryDirectory;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> candidates_of(std::string_view text, const Profile& profile = {}) {
  const Url url = *Url::parse(text);
  BlockCandidates candidates;
  candidates.set(url, Canonicalizer(profile));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    out.emplace_back(candidates[i]);
  return out;
}

class BlocklistTest : public testing::Test {
 protected:
  std::string write(std::string_view text) {
    const std::string file = directory_ / "list.txt";
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  Blocklist open(const std::string& file, const Profile& profile = {}) {
    auto list = Blocklist::open(file, Canonicalizer(profile));
    if (!list) throw std::runtime_error(list.error().message);
    return std::move(*list);
  }
  Blocklist list_of(std::string_view text, const Profile& profile = {}) {
    return open(write(text), profile);
  }
  Error error_of(std::string_view text) {
    const auto list = Blocklist::open(write(text), Canonicalizer());
    return list ? Error{ErrorCode::kClosed, "there was no error"} : list.error();
  }
  static bool blocks(const Blocklist& list, std::string_view text, const Profile& profile = {}) {
    const Url url = *Url::parse(text);
    BlockCandidates candidates;
    candidates.set(url, Canonicalizer(profile));
    return list.find(candidates).has_value();
  }

  TemporaryDirectory directory_;
};

TEST(BlockCandidates, AreTheKeyTheTextTheHostAndItsDomains) {
  EXPECT_THAT(candidates_of("http://a.b.example.co.uk/x?y#z"),
              ElementsAre("http://a.b.example.co.uk/x?y", "a.b.example.co.uk", "uk", "co.uk",
                          "example.co.uk", "b.example.co.uk"));
  EXPECT_THAT(
      candidates_of("https://example.com/%7Ex"),
      ElementsAre("https://example.com/~x", "https://example.com/%7Ex", "example.com", "com"));
  EXPECT_THAT(candidates_of("http://www.example.com.:8080/"),
              ElementsAre("http://www.example.com:8080/", "http://www.example.com.:8080/",
                          "www.example.com:8080", "www.example.com", "com", "example.com"));
  EXPECT_THAT(candidates_of("http://192.0.2.7/"), ElementsAre("http://192.0.2.7/", "192.0.2.7"));
  EXPECT_THAT(candidates_of("http://[2001:db8::1]:81/"),
              ElementsAre("http://[2001:db8::1]:81/", "[2001:db8::1]:81", "[2001:db8::1]"));
  EXPECT_THAT(candidates_of("http://co.uk/"), ElementsAre("http://co.uk/", "co.uk", "uk"));
  EXPECT_THAT(candidates_of("http://localhost/"), ElementsAre("http://localhost/", "localhost"));
}

TEST(BlockCandidates, GoByTheRulesOfTheCrawl) {
  CanonicalRules rules;
  rules.sort_query = true;
  EXPECT_THAT(candidates_of("http://h.test/?b&a", Profile{.rules = rules}),
              ElementsAre("http://h.test/?a&b", "http://h.test/?b&a", "h.test", "test"));
}

TEST(BlockCandidates, OfAHostWithAThousandLabelsAreFew) {
  std::string host;
  for (int i = 0; i < 1000; ++i)
    host += "a.";
  const auto candidates = candidates_of("http://" + host + "example.com/");
  EXPECT_LE(candidates.size(), BlockCandidates::kMax);
  EXPECT_THAT(candidates, testing::Contains("example.com"));
}

TEST_F(BlocklistTest, BlocksUrlsHostsAndDomains) {
  const Blocklist list = list_of(
      "# what nobody wants\n"
      "\n"
      "http://example.com/ads\r\n"
      "  evil.test \t# a domain\n"
      "www.half.test\n"
      "port.test:8080\n"
      "192.0.2.7\n"
      "http://frag.test/x#top\n"
      "last.test");
  EXPECT_FALSE(list.is_filter());
  EXPECT_EQ(list.size(), 7u);
  for (const char* blocked :
       {"http://example.com/ads", "http://example.com/ads#x", "http://example.com/%61ds",
        "http://evil.test/", "https://evil.test:8443/x", "http://a.b.evil.test/",
        "http://evil.test./", "http://www.half.test/x", "http://port.test:8080/x",
        "http://192.0.2.7/x", "http://frag.test/x", "http://last.test/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
  for (const char* free :
       {"https://example.com/ads", "http://example.com/ads/", "http://example.com/ads?x",
        "http://example.com/", "http://notevil.test/", "http://evil.test.example.com/",
        "http://half.test/", "http://port.test/", "http://port.test:8081/", "http://192.0.2.8/",
        "http://test/"})
    EXPECT_FALSE(blocks(list, free)) << free;
}

TEST_F(BlocklistTest, APublicSuffixBlocksNothingButItself) {
  const Blocklist list = list_of("co.uk\ntest\nb.example.co.uk\n");
  EXPECT_TRUE(blocks(list, "http://co.uk/"));
  EXPECT_TRUE(blocks(list, "http://test/"));
  EXPECT_TRUE(blocks(list, "http://a.b.example.co.uk/"));
  EXPECT_FALSE(blocks(list, "http://example.co.uk/"));
  EXPECT_FALSE(blocks(list, "http://example.test/"));
}

TEST_F(BlocklistTest, ASuffixOfThePrivatePartBlocksAllBelow) {
  const Blocklist list = list_of("blogspot.com\ngithub.io\n");
  for (const char* blocked : {"http://blogspot.com/", "http://a.blogspot.com/",
                              "http://b.a.blogspot.com/x", "https://alice.github.io/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
  EXPECT_FALSE(blocks(list, "http://notblogspot.com/"));
  EXPECT_EQ(list.warning(), "");
}

TEST_F(BlocklistTest, ALineWithADotInFrontBlocksAllBelowWhateverItIs) {
  const Blocklist list = list_of(".zip\n*.co.uk\n.internal\n");
  for (const char* blocked : {"http://zip/", "http://invoice.zip/x", "http://a.b.zip/",
                              "http://example.co.uk/", "http://wiki.internal/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
  for (const char* free : {"http://example.uk/", "http://example.com/x.zip", "http://h.azip/"})
    EXPECT_FALSE(blocks(list, free)) << free;
  EXPECT_EQ(list.warning(), "");
}

TEST_F(BlocklistTest, WarnsOfSuffixesThatBlockNothingBelow) {
  EXPECT_EQ(list_of("com\nexample.com\nlocalhost\nhttp://com/\n").warning(),
            (directory_ / "list.txt") +
                ": 1 line is a public suffix, which blocks no host below: com; for all below write "
                "it with a dot in front");
  EXPECT_THAT(list_of("com\n.net\norg\nzip\nco.uk\nde\nfr\n.at\nit\n").warning(),
              AllOf(HasSubstr("7 lines are each"), HasSubstr("com, org, zip, co.uk, de, ...")));
}

TEST_F(BlocklistTest, HostsAreSpelledAsInUrls) {
  const Blocklist list = list_of(
      "\xEF\xBB\xBF"
      "EXAMPLE.com\n*.stars.test\n.dots.test\nb\xC3\xBC"
      "cher.test\n2001:db8::1\n[2001:db8:0::2]\n"
      "trailing.test.\nunder_score.test\nhttps.test:443\n");
  for (const char* blocked :
       {"http://example.com/", "http://stars.test/", "http://x.stars.test/", "http://dots.test/",
        "http://xn--bcher-kva.test/", "http://[2001:db8::1]/", "http://[2001:db8::2]/",
        "http://trailing.test/", "http://under_score.test/", "https://https.test/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
}

TEST_F(BlocklistTest, ReadsHostsFiles) {
  const Blocklist list = list_of(
      "127.0.0.1\tlocalhost\n"
      "127.0.0.1 localhost.localdomain\n"
      "255.255.255.255 broadcasthost\n"
      "::1 ip6-localhost ip6-loopback\n"
      "fe80::1%lo0 localhost\n"
      "0.0.0.0 0.0.0.0\n"
      "0.0.0.0 ads.test www.ads2.test # comment\n"
      "127.0.0.1   tracker.test\n"
      ":: v6.test\n");
  for (const char* blocked :
       {"http://ads.test/", "http://x.www.ads2.test/", "http://tracker.test/x", "http://v6.test/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
  for (const char* free : {"http://localhost/", "http://127.0.0.1/", "http://0.0.0.0/",
                           "http://[::1]/", "http://comment/"})
    EXPECT_FALSE(blocks(list, free)) << free;
}

TEST_F(BlocklistTest, UrlsAreReadAsTheCrawlsKeys) {
  CanonicalRules rules;
  rules.ignore_scheme = true;
  const Profile profile{.rules = rules};
  const Blocklist list = list_of("http://h.test/x\n", profile);
  EXPECT_TRUE(blocks(list, "https://h.test/x", profile));
  EXPECT_FALSE(blocks(list_of("http://h.test/x\n"), "https://h.test/x"));
}

TEST_F(BlocklistTest, AnEmptyListBlocksNothing) {
  for (const char* text : {"", "\n\n", "# nothing\n", "ftp://files.test/\n"}) {
    const Blocklist list = list_of(text);
    EXPECT_EQ(list.size(), 0u) << text;
    EXPECT_FALSE(blocks(list, "http://files.test/")) << text;
  }
}

TEST_F(BlocklistTest, ErrorsSayFileAndLine) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"good.test\n||ads.test^\n", ":2: \"||ads.test^\""},
      {"\n\nhttp://[broken/\n", ":3: \"http://[broken/\""},
      {"example.com/path\n", ":1: \"example.com/path\""},
      {"two words\n", ":1: \"two\""},
      {"a.test\nb.test\nuser@c.test", ":3: \"user@c.test\""},
      {"*\n", ":1:"},
      {"*.\n", ":1:"},
      {std::string("a\0b.test\n", 9), ":1: \"a?b.test\""},
      {"ok.test\n" + std::string(70'000, 'x') + "\n", ":2: the line is longer"},
      {std::string(10 << 20, 'x'), ":1: the line is longer"},
      {"0.0.0.0 bad^host.test\n", ":1: \"bad^host.test\""},
  };
  for (const auto& [text, message] : bad) {
    const Error error = error_of(text);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << text.substr(0, 100);
    EXPECT_THAT(error.message, HasSubstr((directory_ / "list.txt") + message));
    EXPECT_LT(error.message.size(), 600u);
  }
  EXPECT_EQ(Blocklist::open(directory_ / "missing", Canonicalizer()).error().code,
            ErrorCode::kNotFound);
  EXPECT_FALSE(Blocklist::open(directory_.path(), Canonicalizer()).has_value());
}

TEST_F(BlocklistTest, EveryBadLineIsListedOrCounted) {
  const std::string list = directory_ / "list.txt";
  const std::string some = error_of("a b\nok.test\nc d\n" + std::string(300'000, 'x') +
                                    "\nok.test\n" + std::string(70'000, 'x') + "\ne f")
                               .message;
  EXPECT_THAT(some, testing::StartsWith(list + ":1: \"a\" is followed by"));
  for (const char* const part : {":3: \"c\" is followed by", ":4: the line is longer than",
                                 ":6: the line is longer than", ":7: \"e\" is followed by"})
    EXPECT_THAT(some, HasSubstr("\n" + list + part));
  EXPECT_EQ(std::ranges::count(some, '\n'), 4);
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += "two words\n";
  const std::string many = error_of(text).message;
  EXPECT_EQ(std::ranges::count(many, '\n'), 100);
  EXPECT_THAT(many, testing::EndsWith("\nand 150 more lines that are wrong"));
}

TEST_F(BlocklistTest, HundredsOfThousandsOfLinesTakeLittleMemory) {
  std::string text;
  for (int i = 0; i < 200'000; ++i)
    text += "host" + std::to_string(i) + ".example" + std::to_string(i % 7) + ".test\n";
  const Blocklist list = list_of(text + text.substr(0, text.find('\n') + 1));
  EXPECT_EQ(list.size(), 200'000u);
  for (int i = 0; i < 200'000; i += 997) {
    const std::string host =
        "host" + std::to_string(i) + ".example" + std::to_string(i % 7) + ".test";
    EXPECT_TRUE(blocks(list, "http://" + host + "/x"));
    EXPECT_TRUE(blocks(list, "http://sub." + host + "/x"));
    EXPECT_FALSE(blocks(list, "http://not" + host + "/x"));
  }
  EXPECT_FALSE(blocks(list, "http://example1.test/"));
}

TEST(HashedLineSet, FindsWhatIsInAndNothingElse) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::size_t count : {0u, 1u, 2u, 3u, 7u, 8u, 1000u, 100'000u}) {
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < count; ++i)
      hashes.push_back(random());
    if (count > 2) hashes.insert(hashes.end(), {0, UINT64_MAX, hashes.front()});
    const HashedLineSet lines(hashes);
    EXPECT_LE(lines.memory(), 10 * hashes.size() + 64);
    for (const std::uint64_t hash : hashes)
      ASSERT_TRUE(lines.contains(hash));
    for (int i = 0; i < 1000; ++i)
      ASSERT_FALSE(lines.contains(random()));
  }
}

TEST_F(BlocklistTest, AFilterIsAskedForTextsAsTheyAre) {
  auto filter = BlockedBloomFilter::create({.capacity = 1000, .false_positive_rate = 1e-9});
  ASSERT_TRUE(filter.has_value());
  for (const char* line :
       {"http://example.com/ads", "evil.test", "port.test:8080", ".zip", "blogspot.com"})
    filter->insert(filter->hash()(line));
  const std::string file = directory_ / "blocked.filter";
  ASSERT_TRUE(filter->save(file).has_value());
  const Blocklist list = open(file);
  EXPECT_TRUE(list.is_filter());
  EXPECT_EQ(list.size(), 5u);
  for (const char* blocked :
       {"http://example.com/ads#x", "http://example.com/%61ds", "https://a.b.evil.test/x",
        "http://port.test:8080/", "http://invoice.zip/", "http://a.blogspot.com/"})
    EXPECT_TRUE(blocks(list, blocked)) << blocked;
  for (const char* free : {"http://example.com/", "http://notevil.test/", "http://port.test/"})
    EXPECT_FALSE(blocks(list, free)) << free;
}

TEST_F(BlocklistTest, ADamagedFilterIsRefused) {
  auto filter = GrowingBloomFilter::create({.capacity = 100'000, .false_positive_rate = 1e-4});
  ASSERT_TRUE(filter.has_value());
  for (int i = 0; i < 100'000; ++i)
    filter->insert(filter->hash()(std::to_string(i)));
  const std::string file = directory_ / "blocked.filter";
  ASSERT_TRUE(filter->save(file).has_value());
  ASSERT_TRUE(Blocklist::open(file, Canonicalizer()).has_value());
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(50'000);
  bytes.put('x').put('y').put('z');
  bytes.close();
  const auto damaged = Blocklist::open(file, Canonicalizer());
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr(file));
  std::filesystem::resize_file(file, 9);
  EXPECT_EQ(Blocklist::open(file, Canonicalizer()).error().code, ErrorCode::kCorrupt);
}

TEST_F(BlocklistTest, IsAskedByManyThreads) {
  const Blocklist list = list_of("evil.test\n");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&list] {
      BlockCandidates candidates;
      for (int i = 0; i < 1000; ++i) {
        const Url url = *Url::parse("http://evil.test/" + std::to_string(i));
        candidates.set(url, Canonicalizer());
        EXPECT_EQ(list.find(candidates), "evil.test");
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace trawl
