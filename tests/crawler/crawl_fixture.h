// What the tests of whole crawls share: configs, runs and their output, sites that note what they
// were requested.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trawl/canonicalizer.h"

#include "crawler/config/crawl_paths.h"
#include "crawler/run/crawl.h"
#include "crawler/sample_site/loopback_server.h"
#include "crawler/sample_site/sample_site.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

using Json = nlohmann::json;

inline CrawlConfig fast_config(const TemporaryDirectory& directory,
                               std::vector<std::string> seeds) {
  CrawlConfig config;
  config.crawl.seeds = std::move(seeds);
  config.crawl.state_dir = directory.path() / "state";
  config.politeness.delay = std::chrono::milliseconds(0);
  config.politeness.per_host_connections = 4;
  config.politeness.robots_backoff = std::chrono::milliseconds(1);
  config.fetch.threads = 2;
  config.politeness.retry_delay = std::chrono::milliseconds(1);
  config.politeness.host_backoff = std::chrono::milliseconds(0);
  config.fetch.connections = 12;
  config.fetch.allow_private_addresses = true;
  config.filter.expected_urls = 100'000;
  config.checkpoint.interval = std::chrono::milliseconds(100);
  return config;
}

inline std::unique_ptr<Crawl> opened(const CrawlConfig& config, OpenMode mode) {
  auto crawl = Crawl::open(config, {.mode = mode});
  if (!crawl) {
    ADD_FAILURE() << crawl.error().message;
    std::abort();
  }
  return std::move(*crawl);
}

// For CrawlOptions::frontier: an embedded frontier within what `around` makes of it.
template <class Around>
auto frontier_within(Around around) {
  return [around](const EmbeddedOptions& options,
                  OpenReport* report) -> Result<std::unique_ptr<Frontier>> {
    auto frontier = EmbeddedFrontier::open(options, report);
    if (!frontier) return frontier;
    return around(*std::move(frontier));
  };
}

inline void wait_until(const std::function<bool()>& condition) {
  while (!condition())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Waits for the end and closes.
inline void finish(Crawl& crawl) {
  wait_until([&] { return crawl.ended(); });
  const auto closed = crawl.close();
  EXPECT_TRUE(closed) << closed.error().message;
}

// Crawls until `pages` are fetched, and ends by `stop`.
inline std::unique_ptr<Crawl> run_until(const CrawlConfig& config, OpenMode mode,
                                        std::uint64_t pages,
                                        const std::function<void(Crawl&)>& stop) {
  auto crawl = opened(config, mode);
  crawl->start();
  wait_until([&] { return crawl->progress().fetched >= pages; });
  stop(*crawl);
  finish(*crawl);
  return crawl;
}

// Crawls to the end; whether all is done.
inline bool run(const CrawlConfig& config, OpenMode mode = OpenMode::kCreate) {
  const auto crawl = opened(config, mode);
  crawl->start();
  finish(*crawl);
  return crawl->why_ended() == EndReason::kFinished;
}

inline std::vector<Json> pages_of(const CrawlConfig& config) {
  std::vector<Json> pages;
  std::ifstream file(output_directory(config) / "pages.jsonl");
  for (std::string line; std::getline(file, line);) {
    pages.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(pages.back().is_object()) << line;
  }
  return pages;
}

inline std::string key_of(const std::string& url) {
  const auto parsed = Url::parse(url);
  EXPECT_TRUE(parsed) << url;
  return parsed ? Canonicalizer{}.key(*parsed) : url;
}

inline std::vector<std::string> keys_of(const std::vector<Json>& pages) {
  std::vector<std::string> keys;
  for (const Json& page : pages)
    keys.push_back(key_of(page["url"]));
  std::sort(keys.begin(), keys.end());
  return keys;
}

inline const Json& page_of(const std::vector<Json>& pages, const std::string& url) {
  static const Json none;
  const auto found =
      std::ranges::find_if(pages, [&](const Json& page) { return page["url"] == url; });
  EXPECT_TRUE(found != pages.end()) << "no line for " << url;
  return found == pages.end() ? none : *found;
}

inline bool is_robots(const std::string& key) {
  return key.ends_with("/robots.txt");
}

class LoggedSite {
 public:
  // `page_bytes`: see SampleSiteOptions. Pages of kShared are read by other threads than their
  // fetcher, too.
  static constexpr std::uint32_t kShared = 40'000;
  LoggedSite(const TemporaryDirectory& directory, std::uint64_t pages, std::uint32_t hosts,
             std::uint32_t page_bytes = 0)
      : log_(directory / "access.log") {
    auto site = SampleSite::start({.pages = pages,
                                   .seed = 1,
                                   .hosts = hosts,
                                   .slow_ms = 5,
                                   .page_bytes = page_bytes,
                                   .access_log = log_});
    if (!site) {
      ADD_FAILURE() << site.error().message;
      std::abort();
    }
    site_ = std::move(*site);
  }
  SampleSite* operator->() const { return site_.get(); }

  // The key of each request, in order.
  std::vector<std::string> requests() const {
    std::vector<std::string> requests;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) {
      requests.push_back(key_of(line.substr(line.find(' ') + 1)));
    }
    return requests;
  }
  // The keys requested, in sorted order, robots.txt left out.
  std::vector<std::string> asked() const {
    std::vector<std::string> keys;
    for (const std::string& key : requests()) {
      if (!is_robots(key)) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

 private:
  std::string log_;
  std::unique_ptr<SampleSite> site_;
};

// A site of a few pages of the test's own, on 127.0.0.1.
class OwnSite {
 public:
  explicit OwnSite(std::function<HttpReply(const std::string& target)> answer) {
    auto server = LoopbackServer::bind("127.0.0.1", 0, [this, answer](const std::string& target) {
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(url(target));
      }
      return answer(target);
    });
    if (!server) {
      ADD_FAILURE() << server.error().message;
      std::abort();
    }
    server_ = std::move(*server);
    EXPECT_TRUE(server_->serve());
  }
  ~OwnSite() { server_->stop(); }

  std::string url(const std::string& target) const {
    return fmt::format("http://127.0.0.1:{}{}", server_->port(), target);
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::unique_ptr<LoopbackServer> server_;
};

inline HttpReply html(std::string body) {
  return {.content_type = "text/html", .body = std::move(body)};
}
inline HttpReply text(std::string body, int status = 200) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

}  // namespace trawl::test
