// The fast path against the full one: whatever the first accepts, the second makes the same of.
#include "url/url_fast_path.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trawl/url.h"

#include "tests/support/sanitized.h"
#include "tests/url/url_test_data.h"
#include "url/url_byte_masks.h"
#include "url/url_parser.h"

namespace trawl {
namespace {

#ifdef TRAWL_SANITIZED
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

// All that the accessors return, including offsets.
std::string describe(const Url& url) {
  return fmt::format(
      "{} scheme {} user {} password {} hostname {} host {} port {} path {} "
      "query {} {} fragment {} {} without {} percent {}",
      url.href(), place(url, url.scheme()), place(url, url.username()), place(url, url.password()),
      place(url, url.hostname()), place(url, url.host()), place(url, url.port()),
      place(url, url.path()), url.has_query(), place(url, url.query()), url.has_fragment(),
      place(url, url.fragment()), place(url, url.href_without_fragment()), url.has_percent());
}

// Memory between two pages that nobody may read, so that a look beyond its ends is noticed.
class GuardedMemory {
 public:
  GuardedMemory() {
    void* const pages = mmap(nullptr, kSize + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                             /*fd=*/-1, /*offset=*/0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<char*>(pages);
    if (mprotect(pages_ + page_, kSize, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(pages_, kSize + 2 * page_); }

  // Copies of `text`, which must be no longer than kSize, until the next call of either.
  std::string_view at_start(std::string_view text) { return copy(text, pages_ + page_); }
  std::string_view at_end(std::string_view text) {
    return copy(text, pages_ + page_ + kSize - text.size());
  }

  static constexpr std::size_t kSize = std::size_t{1} << 20;  // a multiple of any page's

 private:
  static std::string_view copy(std::string_view text, char* to) {
    std::copy(text.begin(), text.end(), to);
    return {to, text.size()};
  }

  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* pages_ = nullptr;
};

// False, with a test failure, if the full path and an implementation of the fast one differ over
// `input`, or two of the latter over whether they take it. Counts what was fast.
bool paths_agree(std::string_view input, const Url* base, Url& out, std::size_t& fast) {
  std::optional<std::string> expected;
  std::size_t taken = 0;
  const auto implementations = UrlFastPath::implementations();
  for (const auto& implementation : implementations) {
    if (!implementation.parse(input, base, out)) continue;
    ++taken;
    if (!expected) {
      const auto full = UrlParser::parse_fully(input, base);
      expected = full ? describe(*full) : full.error().message;
    }
    if (describe(out) == *expected) continue;
    ADD_FAILURE() << testing::PrintToString(std::string(input)) << "\nwith the base "
                  << (base == nullptr ? "(none)" : base->href()) << "\n"
                  << implementation.name << ": " << describe(out) << "\nfull: " << *expected;
    return false;
  }
  if (taken > 0) ++fast;
  if (taken == 0 || taken == implementations.size()) return true;
  ADD_FAILURE() << taken << " implementations take " << testing::PrintToString(std::string(input));
  return false;
}

// The same for copies of `input` that end, and start, where memory does.
bool paths_agree_between_guards(std::string_view input, const Url* base, Url& out,
                                std::size_t& fast) {
  static GuardedMemory memory;
  std::size_t fast_again = 0;
  return paths_agree(memory.at_end(input), base, out, fast) &&
         paths_agree(memory.at_start(input), base, out, fast_again);
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
  GuardedMemory memory;
  Url out;
  std::size_t fast = 0;
  std::string text;
  for (int round = 0; round < rounds; ++round) {
    text = all.inputs[below(random, all.inputs.size())];
    mutate(text, all, random);
    if (text.size() > GuardedMemory::kSize) continue;
    const std::string_view input = round % 2 == 0 ? memory.at_end(text) : memory.at_start(text);
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
        ASSERT_TRUE(paths_agree_between_guards(changed, nullptr, out, fast));
        ASSERT_TRUE(paths_agree_between_guards(changed, &base, out, fast));
      }
      ASSERT_TRUE(paths_agree_between_guards(url.substr(at), &base, out, fast));
      ASSERT_TRUE(paths_agree_between_guards(url.substr(0, at), &base, out, fast));
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
        ASSERT_TRUE(paths_agree_between_guards(start + filler + end, &base, out, fast));
        ASSERT_TRUE(paths_agree_between_guards(start + filler + end + filler, &base, out, fast));
      }
    }
    const auto from_deep = Url::parse("http://h/" + filler + "/b/" + filler + "/c");
    ASSERT_TRUE(from_deep);
    for (const auto* reference : {"x", "../x", "../../x", "../../../x", "..", "."})
      ASSERT_TRUE(paths_agree_between_guards(reference, &*from_deep, out, fast));
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

TEST(UrlFastPath, TakesAddressesThatAreWrittenAsTheyStay) {
  for (const auto& way : UrlFastPath::implementations()) {
    Url url;
    for (const char* address : {"127.0.0.1", "0.0.0.0", "255.255.255.255", "10.20.30.4:8080"}) {
      EXPECT_TRUE(way.parse(fmt::format("http://{}/a", address), nullptr, url)) << address;
    }
    for (const char* address :
         {"127.1", "127.0.0.01", "256.0.0.1", "1.2.3.4.5", "1.2.3", "0x7f.0.0.1", "1.2.3.4.",
          "1..2.3", "1.2.3.", "4294967295", "1.2.3.1000"}) {
      EXPECT_FALSE(way.parse(fmt::format("http://{}/a", address), nullptr, url)) << address;
    }
  }
}

TEST(UrlFastPath, LeavesTheOldValueWhenItSaysNo) {
  Url out = *Url::parse("http://old/");
  for (const auto* input :
       {"http://1.2.3.4.5/", "http://h/\xFF", "http://h/a/../b", "x", "", "http://h:80/"}) {
    EXPECT_FALSE(UrlFastPath::parse(input, nullptr, out)) << input;
    EXPECT_EQ(out.href(), "http://old/") << input;
  }
}

// --- UrlByteMasks: all ways of making one give the same.

TEST(UrlByteMasks, IsTheSameOnEveryProcessor) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  GuardedMemory memory;
  std::string bytes;
  for (int round = 0; round < 60'000; ++round) {
    // Every byte, and often those that matter.
    bytes.resize(static_cast<std::size_t>(round) % 65);
    for (char& byte : bytes) {
      const std::string_view piece = random_piece(random);
      byte = round % 3 == 0 ? static_cast<char>(random()) : piece[below(random, piece.size())];
    }
    const UrlByteMasks expected = PortableProcessor::masks(bytes.data(), bytes.size());
    for (const auto& implementation : UrlFastPath::implementations()) {
      for (const auto& place : {&GuardedMemory::at_end, &GuardedMemory::at_start}) {
        const std::string_view copy = (memory.*place)(bytes);
        ASSERT_EQ(implementation.masks(copy.data(), copy.size()), expected)
            << implementation.name << " of " << testing::PrintToString(bytes);
      }
    }
  }
}

TEST(UrlByteMasks, SaysWhatEachByteIsWhereverItStands) {
  for (const auto& implementation : UrlFastPath::implementations()) {
    SCOPED_TRACE(implementation.name);
    for (std::size_t length = 1; length <= UrlByteMasks::kBytes; ++length) {
      for (unsigned i = 0; i < 256; ++i) {
        const std::size_t at = i % length;
        const auto bit = [at](bool is_set) { return std::uint64_t{is_set} << at; };
        const auto byte = static_cast<unsigned char>(i);
        std::string text(length, 'a');
        text[at] = static_cast<char>(byte);
        const std::uint64_t behind = length == 64 ? 0 : ~std::uint64_t{0} << length;
        const UrlByteMasks masks = implementation.masks(text.data(), length);
        ASSERT_EQ(masks.outside_host, bit(!is_plain_in_host(byte)) | behind) << i;
        ASSERT_EQ(masks.special, bit(is_special(byte))) << i;
        ASSERT_EQ(masks.slash, bit(byte == '/')) << i;
        ASSERT_EQ(masks.dot, bit(byte == '.')) << i;
      }
    }
  }
}

// Each one runs where the next one does, so that the last one is the best.
TEST(UrlFastPath, HasAnImplementationForEachProcessor) {
  const auto implementations = UrlFastPath::implementations();
  ASSERT_FALSE(implementations.empty());
  EXPECT_EQ(implementations[0].name, "portable");
#if defined(__x86_64__)
  ASSERT_GE(implementations.size(), 2u);
  EXPECT_EQ(implementations[1].name, "SSE2");
  __builtin_cpu_init();
  EXPECT_EQ(implementations.size() > 2,
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"));
#endif
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
