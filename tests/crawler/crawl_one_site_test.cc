// One site that several threads read: the same pages, links and lines as with one thread.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crawl_fixture.h"

namespace trawl {
namespace {

using test::fast_config;
using test::Json;
using test::keys_of;
using test::LoggedSite;
using test::pages_of;
using test::run;
using test::run_until;
using test::TemporaryDirectory;

CrawlConfig one_site(const TemporaryDirectory& directory, const LoggedSite& site,
                     std::uint32_t threads) {
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = threads;
  config.politeness.per_host_connections = 8;
  return config;
}

// What lines say of a page, whatever came before it; by key, as the order of answers is the
// network's.
std::map<std::string, Json> facts_of(const std::vector<Json>& pages) {
  std::map<std::string, Json> facts;
  for (const Json& page : pages) {
    Json& fact = facts[test::key_of(page["url"])];
    for (const char* name : {"status", "bytes", "links", "digest", "title", "canonical", "language",
                             "noindex", "nofollow", "redirect", "content_type"})
      fact[name] = page.value(name, Json());
  }
  return facts;
}

TEST(CrawlOneSite, ManyThreadsFindWhatOneFinds) {
  std::vector<std::map<std::string, Json>> facts;
  std::vector<std::uint64_t> new_links;
  for (const std::uint32_t threads : {1u, 4u}) {
    const TemporaryDirectory directory;
    const LoggedSite site(directory, 400, 1);
    CrawlConfig config = one_site(directory, site, threads);
    config.output.warc = true;
    ASSERT_TRUE(run(config));
    const auto pages = pages_of(config);
    EXPECT_EQ(keys_of(pages), site->reachable_urls());
    EXPECT_EQ(site.asked(), site->reachable_urls()) << "each once";
    facts.push_back(facts_of(pages));
    std::uint64_t sum = 0;
    for (const Json& page : pages)
      sum += page["new_links"].get<std::uint64_t>();
    new_links.push_back(sum);
  }
  // The sites have different ports.
  ASSERT_EQ(facts[0].size(), facts[1].size());
  const auto without_urls = [](Json fact) {
    for (const char* name : {"canonical", "redirect", "digest", "bytes"})
      fact.erase(name);
    return fact.dump();
  };
  const auto sorted = [&](const std::map<std::string, Json>& of) {
    std::vector<std::string> texts;
    for (const auto& [key, fact] : of)
      texts.push_back(key.substr(key.find('/', 8)) + " " + without_urls(fact));
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_EQ(sorted(facts[0]), sorted(facts[1]));
  EXPECT_EQ(new_links[0], new_links[1]);
}

TEST(CrawlOneSite, N1_DrainedAndResumedNothingIsAskedForTwice) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 1);
  const CrawlConfig config = one_site(directory, site, 4);
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 150u}) {
    SCOPED_TRACE(pages);
    run_until(config, mode, pages, [](Crawl& crawl) { crawl.drain(); });
    EXPECT_EQ(keys_of(pages_of(config)), site.asked()) << "what was requested was finished";
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls());
  EXPECT_EQ(site.asked(), site->reachable_urls());
}

TEST(CrawlOneSite, N1_AbortedAndResumedNothingIsLost) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 1);
  const CrawlConfig config = one_site(directory, site, 4);
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 150u}) {
    run_until(config, mode, pages, [](Crawl& crawl) { crawl.abort(); });
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls()) << "a line each";
}

}  // namespace
}  // namespace trawl
