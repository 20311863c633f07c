// The fast path against the full one: whatever the first accepts, the second makes the same of.
#include "frontier/url_fast_path.h"

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/url.h"

#include "frontier/url_parser.h"
#include "tests/frontier/url_test_data.h"

namespace trawl {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMutations = 100'000;
constexpr int kSlowMutations = 1'000'000;
#else
constexpr int kMutations = 1'000'000;
constexpr int kSlowMutations = 20'000'000;
#endif

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

// Where `part` lies in the URL it belongs to; an empty part lies nowhere in particular.
std::string place(const Url& url, std::string_view part) {
  if (part.empty()) return "-";
  return fmt::format("{}+{}", part.data() - url.href().data(), part.size());
}

// All that the accessors tell, offsets included.
std::string describe(const Url& url) {
  return fmt::format(
      "{} scheme {} user {} password {} hostname {} host {} port {} path {} "
      "query {} {} fragment {} {} without {} percent {}",
      url.href(), place(url, url.scheme()), place(url, url.username()), place(url, url.password()),
      place(url, url.hostname()), place(url, url.host()), place(url, url.port()),
      place(url, url.path()), url.has_query(), place(url, url.query()), url.has_fragment(),
      place(url, url.fragment()), place(url, url.href_without_fragment()), url.has_percent());
}

// False, with a test failure, if the two paths differ over `input`. Counts what was fast.
bool paths_agree(std::string_view input, const Url* base, Url& out, std::size_t& fast) {
  if (!UrlFastPath::parse(input, base, out)) return true;
  ++fast;
  const auto full = UrlParser::parse_fully(input, base);
  if (full && full->href() == out.href() && describe(*full) == describe(out)) return true;
  ADD_FAILURE() << testing::PrintToString(std::string(input)) << "\nwith the base "
                << (base == nullptr ? "(none)" : base->href()) << "\nfast: " << describe(out)
                << "\nfull: " << (full ? describe(*full) : full.error().message);
  return false;
}

const std::vector<std::string>& built_in_urls() {
  static const std::vector<std::string> urls = {
      "https://example.com/",
      "http://example.com",
      "https://www.example.com:8443/a/b/c.html?q=1&r=%20#top",
      "http://h/a/./b/../c/%2e%2e/d",
      "https://1.2.3.4/",
      "http://a.b.0x1/",
      "http://u:p@h:81/d/f?q#frag",
      "../../c/./d?x",
      "..",
      "./a:b",
      "//other.example/x?y",
      "?only=query",
      "#only-fragment",
      "a/very/long/path/that/goes/on/for/more/than/sixty-four/bytes/of/text/../and/%2E/"
      "then?some#more",
      "mailto:a@b",
      "/.well-known/%7Euser",
  };
  return urls;
}

struct Corpus {
  std::vector<std::string> inputs;
  std::vector<Url> bases;
};

// What is mutated: links, references and the inputs of the conformance tests.
Corpus corpus() {
  Corpus corpus{.inputs = built_in_urls(), .bases = {}};
  if (const auto folder = url_data_folder()) {
    for (const auto& line : read_url_lines(*folder, "links-48k.txt"))
      corpus.inputs.push_back(line);
    for (const auto& line : read_url_lines(*folder, "resolve-pairs-20k.tsv")) {
      const std::size_t tab = line.find('\t');
      corpus.inputs.push_back(line.substr(tab + 1));
      if (corpus.inputs.size() % 16 == 0) corpus.inputs.push_back(line.substr(0, tab));
    }
    for (const auto& test : read_url_json(*folder, "urltestdata.json")) {
      if (test.is_object()) corpus.inputs.push_back(test["input"].get<std::string>());
    }
  }
  for (std::size_t i = 0; i < corpus.inputs.size(); i += corpus.inputs.size() / 2000 + 1) {
    if (const auto url = UrlParser::parse_fully(corpus.inputs[i], nullptr)) {
      corpus.bases.push_back(*url);
    }
  }
  return corpus;
}

std::string_view random_piece(Random& random) {
  using namespace std::string_view_literals;
  static constexpr std::array kPieces = {
      "/"sv,        "."sv,        ".."sv,     "/../"sv, "/./"sv,     "/.."sv,      "%2e"sv,
      "%2E"sv,      "%"sv,        "%41"sv,    "//"sv,   "?"sv,       "#"sv,        ":"sv,
      ":80"sv,      ":443"sv,     ":8080"sv,  ":0"sv,   ":65536"sv,  "@"sv,        "\\"sv,
      "\t"sv,       " "sv,        "\n"sv,     "A"sv,    "xn--"sv,    "\xC3\xA9"sv, "\xFF"sv,
      "\0"sv,       "\x7F"sv,     "'"sv,      "\""sv,   "<"sv,       "{"sv,        "}"sv,
      "`"sv,        "^"sv,        "|"sv,      "["sv,    "]"sv,       "_"sv,        "-"sv,
      "~"sv,        "1"sv,        ".1"sv,     ".0x"sv,  ".0xf"sv,    "http:"sv,    "http://"sv,
      "https://"sv, "HTTPS://"sv, "https:"sv, "//h"sv,  "mailto:"sv, "&"sv,        "="sv};
  return kPieces[below(random, kPieces.size())];
}

void mutate(std::string& text, const Corpus& corpus, Random& random) {
  for (std::size_t times = below(random, 4); times > 0; --times) {
    const std::size_t at = below(random, text.size() + 1);
    const std::size_t some = below(random, 12);
    switch (below(random, 7)) {
      case 0:
      case 1:
        text.insert(at, random_piece(random));
        break;
      case 2:
        text.replace(at, some, random_piece(random));
        break;
      case 3:
        text.erase(at, some);
        break;
      case 4:
        text.insert(at, std::string(text, at / 2, 3 * some));
        break;
      case 5:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      default: {
        const std::string& other = corpus.inputs[below(random, corpus.inputs.size())];
        text.replace(at, std::string::npos, other, other.size() / 2);
      }
    }
  }
}

void run_mutations(int rounds) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  const Corpus all = corpus();
  Url out;
  std::size_t fast = 0;
  std::string text;
  for (int round = 0; round < rounds; ++round) {
    text = all.inputs[below(random, all.inputs.size())];
    mutate(text, all, random);
    // An exact allocation, so that the address sanitizer sees a read beyond it.
    const std::vector<char> exact(text.begin(), text.end());
    const std::string_view input(exact.data(), exact.size());
    const Url& base = all.bases[below(random, all.bases.size())];
    if (!paths_agree(input, nullptr, out, fast) || !paths_agree(input, &base, out, fast)) return;
  }
  EXPECT_GT(fast, static_cast<std::size_t>(rounds) / 8) << "the fast path is hardly ever taken";
}

TEST(UrlFastPath, AgreesWithTheFullPathOnMutatedUrls) {
  run_mutations(kMutations);
}

TEST(UrlFastPathSlow, AgreesWithTheFullPathOnMillionsOfMutatedUrls) {
  run_mutations(kSlowMutations);
}

TEST(UrlFastPath, AgreesOnBytesAndPiecesAtEveryPlace) {
  const Url base = *Url::parse("https://u@base.example:81/d%20/e/f?q=%41#frag");
  Url out;
  std::size_t fast = 0;
  for (const std::string& url : built_in_urls()) {
    for (std::size_t at = 0; at <= url.size(); ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string changed = url;
        changed.insert(at, 1, static_cast<char>(byte));
        ASSERT_TRUE(paths_agree(changed, nullptr, out, fast));
        ASSERT_TRUE(paths_agree(changed, &base, out, fast));
      }
      ASSERT_TRUE(paths_agree(url.substr(at), &base, out, fast));
      ASSERT_TRUE(paths_agree(url.substr(0, at), &base, out, fast));
    }
  }
  EXPECT_GT(fast, 1000u);
}

// Long ones cross the boundaries of the 64 bytes that are looked at together.
TEST(UrlFastPath, AgreesAtEveryLength) {
  const Url base =
      *Url::parse("http://base/" + std::string(70, 'd') + "/e/f/" + std::string(80, 'g'));
  Url out;
  std::size_t fast = 0;
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string filler(length, 'a');
    for (const auto* end :
         {"", "/", "/.", "/..", "/.a", "/%2e", "?", "#", "?a#b", ":", "%", "/../b", "\xC3"}) {
      for (const auto* start :
           {"", "../", "../../", "../../../../", "/", "http://h/", "https://", "//", "?", "#"}) {
        ASSERT_TRUE(paths_agree(start + filler + end, &base, out, fast));
        ASSERT_TRUE(paths_agree(start + filler + end + filler, &base, out, fast));
      }
    }
    const auto from_deep = Url::parse("http://h/" + filler + "/b/" + filler + "/c");
    ASSERT_TRUE(from_deep);
    for (const auto* reference : {"x", "../x", "../../x", "../../../x", "..", "."})
      ASSERT_TRUE(paths_agree(reference, &*from_deep, out, fast));
  }
  EXPECT_GT(fast, 10'000u);
}

TEST(UrlFastPath, TakesNearlyAllLinks) {
  const auto folder = url_data_folder();
  if (!folder) GTEST_SKIP() << "TRAWL_TEST_DATA, the folder of test corpora, is unset";
  Url out;
  std::size_t fast = 0;
  const auto links = read_url_lines(*folder, "links-48k.txt");
  for (const auto& link : links)
    ASSERT_TRUE(paths_agree(link, nullptr, out, fast));
  EXPECT_GT(fast, links.size() * 98 / 100);

  fast = 0;
  const auto pairs = read_url_lines(*folder, "resolve-pairs-20k.tsv");
  for (const auto& pair : pairs) {
    const std::size_t tab = pair.find('\t');
    const auto base = Url::parse(pair.substr(0, tab));
    ASSERT_TRUE(base) << base.error().message;
    ASSERT_TRUE(paths_agree(pair.substr(tab + 1), &*base, out, fast));
  }
  EXPECT_GT(fast, pairs.size() * 98 / 100);
}

TEST(UrlFastPath, LeavesTheOldValueWhenItSaysNo) {
  Url out = *Url::parse("http://old/");
  for (const auto* input :
       {"http://1.2.3.4.5/", "http://h/\xFF", "http://h/a/../b", "x", "", "http://h:80/"}) {
    EXPECT_FALSE(UrlFastPath::parse(input, nullptr, out)) << input;
    EXPECT_EQ(out.href(), "http://old/") << input;
  }
}

// --- UrlSketch: all ways of making one give the same.

TEST(UrlSketch, IsTheSameOnEveryProcessor) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  for (int round = 0; round < 60'000; ++round) {
    // Every byte, and often those that matter.
    std::vector<char> bytes(static_cast<std::size_t>(round) % 65);
    for (char& byte : bytes) {
      const std::string_view piece = random_piece(random);
      byte = round % 3 == 0 ? static_cast<char>(random()) : piece[below(random, piece.size())];
    }
    const UrlSketch expected = sketch_url_portable(bytes.data(), bytes.size());
    ASSERT_EQ(AnyProcessor::sketch(bytes.data(), bytes.size()), expected);
#if defined(__x86_64__)
    if (has_avx512()) {
      ASSERT_EQ(sketch_url_avx512(bytes.data(), bytes.size()), expected);
    }
#endif
  }
}

TEST(UrlSketch, SaysWhatEachByteIs) {
  for (unsigned i = 0; i < 256; ++i) {
    const char byte = static_cast<char>(i);
    const UrlSketch sketch = AnyProcessor::sketch(&byte, 1);
    EXPECT_EQ(sketch.outside_host & 1, is_plain_in_host(static_cast<unsigned char>(i)) ? 0u : 1u);
    EXPECT_EQ(sketch.outside_host >> 1, ~std::uint64_t{0} >> 1);
    EXPECT_EQ(sketch.special, is_special(static_cast<unsigned char>(i)) ? 1u : 0u) << i;
    EXPECT_EQ(sketch.slash, byte == '/' ? 1u : 0u);
    EXPECT_EQ(sketch.dot, byte == '.' ? 1u : 0u);
  }
}

// --- Url::parse_into()

TEST(UrlParseInto, DoesWhatParseDoes) {
  const Url base = *Url::parse("https://base/d/e?q");
  Url out;
  for (const std::string& input : built_in_urls()) {
    const auto expected = Url::parse(input, &base);
    const auto result = Url::parse_into(input, &base, out);
    ASSERT_EQ(result.has_value(), expected.has_value()) << input;
    if (expected) {
      EXPECT_EQ(describe(out), describe(*expected));
    } else {
      EXPECT_EQ(result.error().code, expected.error().code);
      EXPECT_EQ(result.error().message, expected.error().message);
    }
  }
}

TEST(UrlParseInto, KeepsTheOldValueOnAnError) {
  Url out = *Url::parse("http://old/");
  EXPECT_FALSE(Url::parse_into("http://[", nullptr, out));
  EXPECT_FALSE(Url::parse_into("ftp://h/", nullptr, out));
  EXPECT_EQ(out.href(), "http://old/");
}

TEST(UrlParseInto, TakesAnEmptyViewOfNothing) {
  const Url base = *Url::parse("http://h/a?b#c");
  Url out;
  EXPECT_FALSE(Url::parse_into(std::string_view(), nullptr, out));
  ASSERT_TRUE(Url::parse_into(std::string_view(), &base, out));
  EXPECT_EQ(out.href(), "http://h/a?b");
}

TEST(UrlParseInto, MayReadWhatItWrites) {
  Url url = *Url::parse("http://h/a/b/c?http://other/x#y");
  ASSERT_TRUE(Url::parse_into("../d?http://other/x", &url, url));
  EXPECT_EQ(url.href(), "http://h/a/d?http://other/x");
  ASSERT_TRUE(Url::parse_into(url.query(), nullptr, url));
  EXPECT_EQ(url.href(), "http://other/x");
  ASSERT_TRUE(Url::parse_into(url.path(), &url, url));
  EXPECT_EQ(url.href(), "http://other/x");
  ASSERT_TRUE(Url::parse_into("", &url, url));
  EXPECT_EQ(url.href(), "http://other/x");
}

TEST(UrlParseInto, StartsFromAUrlThatIsNone) {
  Url url;
  EXPECT_EQ(url.href(), "");
  EXPECT_EQ(url.href_without_fragment(), "");
  EXPECT_EQ(url.scheme(), "");
  EXPECT_EQ(url.username(), "");
  EXPECT_EQ(url.password(), "");
  EXPECT_EQ(url.hostname(), "");
  EXPECT_EQ(url.host(), "");
  EXPECT_EQ(url.port(), "");
  EXPECT_EQ(url.origin(), "");
  EXPECT_EQ(url.path(), "");
  EXPECT_EQ(url.query(), "");
  EXPECT_EQ(url.fragment(), "");
  EXPECT_FALSE(url.has_query() || url.has_fragment() || url.host_is_ip() || url.has_percent());
  ASSERT_TRUE(Url::parse_into("http://h", nullptr, url));
  EXPECT_EQ(url.href(), "http://h/");
}

TEST(UrlParseInto, TakesNoBaseFromAUrlThatIsNone) {
  const Url none;
  Url url;
  ASSERT_TRUE(Url::parse_into("http://h/a", &none, url));
  EXPECT_EQ(url.href(), "http://h/a");
  for (const auto* reference : {"", "a", "/a", "//h", "?a", "#a", "../a", "http:a/../b c"}) {
    const auto alone = Url::parse(reference);
    const auto resolved = Url::parse(reference, &none);
    EXPECT_EQ(resolved.has_value(), alone.has_value()) << reference;
    EXPECT_EQ(Url::parse_into(reference, &none, url).has_value(), alone.has_value()) << reference;
  }
}

TEST(Url, KnowsIfItHasAPercentBeforeTheFragment) {
  for (const auto* input :
       {"http://h/%41", "http://h/?%", "http://u%40@h/", "http://h/a b", "http://h/a/%41?b#c"})
    EXPECT_TRUE(Url::parse(input)->has_percent()) << input;
  for (const auto* input : {"http://h/", "http://h/#%41", "http://%61/", "http://h/a/%2e/b"})
    EXPECT_FALSE(Url::parse(input)->has_percent()) << input;
  const Url base = *Url::parse("http://h/a/%41?b#%42");
  EXPECT_FALSE(Url::parse("c", &base)->has_percent());
  EXPECT_TRUE(Url::parse("#c", &base)->has_percent());
  EXPECT_TRUE(Url::parse("?c", &base)->has_percent());
}

}  // namespace
}  // namespace trawl
