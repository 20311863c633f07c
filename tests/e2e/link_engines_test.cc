// The two link engines against each other: on every page of the documentation packages, and on
// damaged copies of them.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "crawler/parse/encoding/page_encoding.h"
#include "tests/support/anchor_texts_of_tree.h"
#include "tests/support/documentation_pages.h"
#include "tests/support/page_facts.h"
#include "tests/support/page_text_of_tree.h"

namespace trawl {
namespace {

class LinkEngines : public testing::Test {
 protected:
  static void SetUpTestSuite() { pages_ = new std::vector(documentation_pages()); }
  static void TearDownTestSuite() { delete pages_; }
  void SetUp() override {
    for (const DocumentationPage& page : *pages_)
      packages_.insert(page.package);
    if (packages_.size() < 4) {
      GTEST_SKIP() << "only " << packages_.size()
                   << " of the documentation packages are installed: run scripts/deps.sh test";
    }
  }

  LinkExtractor scanner_{options(LinkEngine::kScanner)};
  LinkExtractor gumbo_{options(LinkEngine::kGumbo)};
  const Url base_ = *Url::parse("http://site.example/dir/page.html?q=1");
  std::set<std::string> packages_;
  inline static std::vector<DocumentationPage>* pages_ = nullptr;

 private:
  static LinkOptions options(LinkEngine engine) {
    LinkOptions options;
    options.kinds = LinkKinds::all();
    options.engine = engine;
    options.texts = true;
    options.max_time = std::chrono::seconds(60);
    return options;
  }
};

TEST_F(LinkEngines, AgreeOnEveryDocumentationPage) {
  std::size_t links = 0;
  std::size_t bytes = 0;
  std::size_t handed_on = 0;
  for (const DocumentationPage& page : *pages_) {
    const PageLinks scanned = scanner_.extract(page.bytes, "", base_);
    const PageLinks parsed = gumbo_.extract(page.bytes, "", base_);
    ASSERT_EQ(parsed.skipped, LinksSkipped::kNo) << page.file;
    const auto ours = facts(scanned);
    const auto theirs = facts(parsed);
    EXPECT_TRUE(ours == theirs) << page.file << "\n" << first_difference(ours, theirs);
    links += scanned.links.size();
    bytes += page.bytes.size();
    handed_on += scanned.engine == LinkEngine::kGumbo ? 1 : 0;
  }
  fmt::print("{} pages of {} packages, {} bytes, {} links; {} pages handed on to Gumbo\n",
             pages_->size(), packages_.size(), bytes, links, handed_on);
  EXPECT_GE(pages_->size(), 5000u);
  EXPECT_GT(links, 100'000u);
  // Or the test compares Gumbo with itself.
  EXPECT_LE(handed_on, pages_->size() / 50);
}

// Texts are read from the source for both engines: so they are held against a tree.
TEST_F(LinkEngines, TextsAreThoseOfTheTree) {
  std::size_t texts = 0;
  std::size_t cut = 0;
  std::string utf8;
  // Some of them, since it takes time; all agree.
  for (std::size_t i = 0; i < pages_->size(); i += 3) {
    const DocumentationPage& page = (*pages_)[i];
    const PageLinks scanned = scanner_.extract(page.bytes, "", base_);
    const AnchorTextsOfTree tree(decode_page(page.bytes, detect_encoding(page.bytes, ""), utf8));
    const auto expected = tree.of_links(scanned.base.value_or(base_));
    std::size_t at = 0;
    for (const Link& link : scanned.links) {
      if (link.element != "a" || link.attribute != "href") {
        EXPECT_EQ(link.text, "") << page.file;
        continue;
      }
      ASSERT_LT(at, expected.size()) << page.file;
      const std::string& whole = expected[at++];
      const std::string text = without_white_space(link.text);
      const bool is_cut = link.text.size() > kMaxLinkText - 8 && text.size() < whole.size();
      EXPECT_EQ(text, is_cut ? whole.substr(0, text.size()) : whole)
          << page.file << ": " << link.url.href();
      texts += text.empty() ? 0 : 1;
      cut += is_cut ? 1 : 0;
    }
    EXPECT_EQ(at, expected.size()) << page.file;
  }
  fmt::print("{} texts, {} of them cut\n", texts, cut);
  EXPECT_GT(texts, 100'000u);
  EXPECT_GT(cut, 0u);
}

TEST_F(LinkEngines, TheTextsOfPagesAreThoseOfTheTree) {
  LinkOptions options;
  options.max_text = 16u << 20;
  LinkExtractor reader(options);
  std::size_t bytes = 0;
  std::string utf8;
  // Some of them, since it takes time; all agree.
  for (std::size_t i = 0; i < pages_->size(); i += 4) {
    const DocumentationPage& page = (*pages_)[i];
    const PageLinks read = reader.extract(page.bytes, "", base_);
    const std::string expected =
        page_text_of_tree(decode_page(page.bytes, detect_encoding(page.bytes, ""), utf8));
    ASSERT_EQ(without_white_space(read.text), expected) << page.file;
    bytes += expected.size();
  }
  fmt::print("{} bytes of text\n", bytes);
  EXPECT_GT(bytes, 10'000'000u);
}

// Damages pages in the ways of the real web: cut short, mixed, garbled, wrongly nested, with
// quotes that never end.
class Damage {
 public:
  Damage(const std::vector<const DocumentationPage*>& pages, std::uint64_t seed)
      : pages_(pages), random_(seed) {}

  std::string next() {
    std::string page = pages_[below(pages_.size())]->bytes;
    const std::size_t times = 1 + below(3);
    for (std::size_t i = 0; i < times; ++i)
      damage(page);
    return page;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  void damage(std::string& page) {
    switch (below(6)) {
      case 0:
        return page.resize(below(page.size() + 1));
      case 1:
        page.erase(below(page.size()), below(200));
        return;
      case 2:
        return splice(page);
      case 3:
        return flip(page);
      case 4:
        return nest(page);
      default:
        return unclose(page);
    }
  }
  void splice(std::string& page) {
    const std::string& other = pages_[below(pages_.size())]->bytes;
    const std::size_t from = below(other.size());
    page.insert(below(page.size() + 1), other, from, below(4000));
  }
  void flip(std::string& page) {
    if (page.empty()) return;
    for (std::size_t i = 1 + below(8); i > 0; --i)
      page[below(page.size())] ^= static_cast<char>(1u << below(8));
  }
  void nest(std::string& page) {
    static constexpr std::string_view kTags[] = {
        "a href=nested",
        "b",
        "p",
        "div",
        "table",
        "tr",
        "td",
        "caption",
        "select",
        "option",
        "form action=f",
        "svg",
        "math",
        "template",
        "noscript",
        "title",
        "style",
        "script",
        "textarea",
        "iframe",
        "ul",
        "li",
        "button",
        "object data=o",
        "i",
        "span",
        "colgroup",
        "h1",
        "nobr",
        "font color=red",
    };
    const std::string_view tag = kTags[below(std::size(kTags))];
    const std::size_t open = below(page.size() + 1);
    page.insert(open, fmt::format("<{}>", tag));
    if (below(3) == 0) return;
    const std::string_view name = tag.substr(0, tag.find(' '));
    page.insert(open + below(page.size() - open), fmt::format("</{}>", name));
  }
  void unclose(std::string& page) {
    const std::size_t quote = page.find(below(4) == 0 ? '\'' : '"', below(page.size() + 1));
    if (quote == std::string::npos) {
      page.insert(below(page.size() + 1), "\"");
    } else {
      page.erase(quote, 1);
    }
  }

  const std::vector<const DocumentationPage*>& pages_;
  std::mt19937_64 random_;
};

TEST_F(LinkEngines, AgreeOnDamagedPages) {
  constexpr std::size_t kPages = 10'000;
  constexpr std::size_t kLargest = 32u << 10;
  std::vector<const DocumentationPage*> small;
  for (const DocumentationPage& page : *pages_) {
    if (page.bytes.size() <= kLargest && !page.bytes.empty()) small.push_back(&page);
  }
  const char* given = std::getenv("TRAWL_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : 1;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Damage damage(small, seed);
  std::size_t agreed = 0;
  std::size_t handed_on = 0;
  for (std::size_t i = 0; i < kPages; ++i) {
    const std::string page = damage.next();
    const PageLinks scanned = scanner_.extract(page, "", base_);
    const PageLinks parsed = gumbo_.extract(page, "", base_);
    const auto ours = facts(scanned);
    const auto theirs = facts(parsed);
    handed_on += scanned.engine == LinkEngine::kGumbo ? 1 : 0;
    if (ours == theirs) {
      ++agreed;
      continue;
    }
    fmt::print("page {}: {}\n", i, first_difference(ours, theirs));
    if (const char* folder = std::getenv("TRAWL_KEEP_PAGES")) {
      std::ofstream(std::filesystem::path(folder) / fmt::format("{}-{}.html", seed, i)) << page;
    }
  }
  fmt::print("{} of {} pages agree; {} handed on to Gumbo\n", agreed, kPages, handed_on);
  EXPECT_GE(agreed, kPages * 999 / 1000);
  EXPECT_LE(handed_on, kPages / 4);
}

}  // namespace
}  // namespace trawl
