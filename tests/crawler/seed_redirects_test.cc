#include "crawler/decide/seed_redirects.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/decide/url_decider.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using testing::HasSubstr;

Url parsed(const std::string& text) {
  return Url::parse(text).value();
}

std::shared_ptr<const SeedSettings> with(ScopeType type) {
  CrawlConfig config;
  config.scope.type = type;
  return std::make_shared<const SeedSettings>(config, Canonicalizer());
}

class SeedRedirectsTest : public testing::Test {
 protected:
  const std::filesystem::path& state() const { return directory_.path(); }
  std::shared_ptr<SeedRedirects> read(ScopeType type = ScopeType::kHost) const {
    auto redirects = SeedRedirects::read(state(), with(type), Canonicalizer());
    EXPECT_TRUE(redirects) << redirects.error().message;
    return redirects ? *redirects : nullptr;
  }
  std::shared_ptr<SeedRedirects> begin(bool resumed) const {
    auto redirects = read();
    EXPECT_TRUE(redirects->begin(state(), resumed));
    return redirects;
  }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(SeedRedirectsTest, ATargetBelongsToTheScopeOfThisAndLaterRuns) {
  const auto redirects = begin(false);
  EXPECT_FALSE(redirects->covers(parsed("https://two.example.org/x")));
  EXPECT_FALSE(std::filesystem::exists(SeedRedirects::path(state()))) << "not needed yet";
  ASSERT_TRUE(redirects->add(parsed("http://one.test/"), parsed("https://example.org/home")));
  for (const auto& each : {redirects, read(), begin(true)}) {
    EXPECT_TRUE(each->covers(parsed("https://example.org/x")));
    EXPECT_TRUE(each->covers(parsed("http://www.example.org/x")));
    EXPECT_FALSE(each->covers(parsed("https://three.test/")));
    ASSERT_EQ(each->found().size(), 1u);
    EXPECT_EQ(each->found().front().seed, "http://one.test/");
    EXPECT_EQ(each->found().front().target, "https://example.org/home");
  }
  EXPECT_TRUE(read(ScopeType::kPage)->covers(parsed("https://example.org/home")));
  EXPECT_FALSE(read(ScopeType::kPage)->covers(parsed("https://example.org/x")));
}

TEST_F(SeedRedirectsTest, ATargetIsAsDeepAsItsSeed) {
  const auto redirects = begin(false);
  CrawlConfig config;
  config.crawl.seed_settings = {{.url = "http://flat.test/", .depth = 1},
                                {.url = "http://deep.test/", .depth = 5}};
  redirects->set_settings(std::make_shared<const SeedSettings>(config, Canonicalizer()));
  ASSERT_TRUE(redirects->add(parsed("http://flat.test/"), parsed("http://two.test/")));
  const auto decider =
      UrlDecider::create(config, {parsed("http://host.test/")}, Canonicalizer(), redirects);
  ASSERT_TRUE(decider);
  const auto reason = [&](const char* url, std::uint32_t depth) {
    return decider->decide(parsed(url), {.depth = depth}).reason;
  };
  EXPECT_EQ(reason("http://two.test/x", 1), std::nullopt);
  EXPECT_EQ(reason("http://two.test/x", 2), SkipReason::kTooDeep);
  // Of several the deepest counts, whichever was first.
  ASSERT_TRUE(redirects->add(parsed("http://deep.test/"), parsed("http://two.test/")));
  ASSERT_TRUE(redirects->add(parsed("http://flat.test/"), parsed("http://two.test/")));
  EXPECT_EQ(redirects->found().size(), 2u);
  EXPECT_EQ(reason("http://two.test/x", 5), std::nullopt);
  EXPECT_EQ(reason("http://two.test/x", 6), SkipReason::kTooDeep);
}

TEST_F(SeedRedirectsTest, OtherSettingsCountForTargetsThatAreThere) {
  const auto redirects = begin(false);
  ASSERT_TRUE(redirects->add(parsed("http://one.test/"), parsed("https://two.test/home")));
  EXPECT_TRUE(redirects->covers(parsed("https://two.test/x")));
  redirects->set_settings(with(ScopeType::kPage));
  EXPECT_FALSE(redirects->covers(parsed("https://two.test/x")));
  EXPECT_TRUE(redirects->covers(parsed("https://two.test/home")));
  ASSERT_TRUE(redirects->add(parsed("http://three.test/"), parsed("https://four.test/")));
  EXPECT_FALSE(redirects->covers(parsed("https://four.test/x")));
}

TEST_F(SeedRedirectsTest, ANewCrawlForgetsThem) {
  ASSERT_TRUE(begin(false)->add(parsed("http://one.test/"), parsed("https://two.test/")));
  EXPECT_FALSE(begin(false)->covers(parsed("https://two.test/")));
  EXPECT_FALSE(read()->covers(parsed("https://two.test/")));
}

TEST_F(SeedRedirectsTest, SeedsThatRedirectToOneHostNeedOnePlace) {
  const auto redirects = begin(false);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(redirects->add(parsed(fmt::format("http://{}.test/", i)),
                               parsed(fmt::format("https://login.test/{}", i))));
  }
  EXPECT_EQ(redirects->found().size(), 1u);
}

TEST_F(SeedRedirectsTest, TooManyAreCountedAndNotFollowed) {
  const auto redirects = read();  // without a file, which makes it fast
  const auto from = parsed("http://one.test/");
  for (std::size_t i = 0; i < SeedRedirects::kMost + 20; ++i)
    ASSERT_TRUE(redirects->add(from, parsed(fmt::format("http://h{}.test/", i))));
  EXPECT_TRUE(redirects->covers(parsed("http://h5.test/")));
  EXPECT_FALSE(redirects->covers(parsed(fmt::format("http://h{}.test/", SeedRedirects::kMost))));
  EXPECT_EQ(redirects->not_followed(), 20u);
  EXPECT_LT(redirects->found().size(), SeedRedirects::kMost + 20);
}

TEST_F(SeedRedirectsTest, ADamagedFileIsAnErrorThatNamesIt) {
  std::ofstream(SeedRedirects::path(state())) << "something else\n";
  const auto redirects = SeedRedirects::read(state(), with(ScopeType::kHost), Canonicalizer());
  ASSERT_FALSE(redirects);
  EXPECT_THAT(redirects.error().message, HasSubstr("seed-redirects"));
  std::ofstream(SeedRedirects::path(state())) << "seed redirects 1\nno tab\nx\tnot a URL\n";
  EXPECT_TRUE(read()->found().empty());
}

TEST_F(SeedRedirectsTest, ADeciderReadsThoseOfTheStateDirectory) {
  ASSERT_TRUE(begin(false)->add(parsed("http://one.test/"), parsed("https://two.test/")));
  CrawlConfig config;
  config.crawl.state_dir = state();
  const auto decider = UrlDecider::create(config, {parsed("http://one.test/")}, Canonicalizer());
  ASSERT_TRUE(decider);
  EXPECT_TRUE(decider->decide(parsed("https://two.test/x"), {.depth = 1}).is_fetched());
  EXPECT_FALSE(decider->decide(parsed("https://three.test/x"), {.depth = 1}).is_fetched());
}

TEST_F(SeedRedirectsTest, ThreadsMayAddAndAskAtTheSameTime) {
  const auto redirects = begin(false);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) {
        const auto target = parsed(fmt::format("http://h{}-{}.test/", thread, i));
        EXPECT_TRUE(redirects->add(parsed("http://one.test/"), target));
        EXPECT_TRUE(redirects->covers(target));
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(read()->found().size(), 40u);
}

}  // namespace
}  // namespace trawl
