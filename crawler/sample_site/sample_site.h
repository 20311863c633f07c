// SampleSite: a deterministic web on loopback, for the demo and the tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trawl/result.h"

namespace trawl {

// The same options give the same web. Hosts are loopback addresses 127.0.0.1, 127.0.0.2, ... on
// one port; docs/sample-site.md describes them.
struct SampleSiteOptions {
  std::uint16_t port = 0;      // 0: any free one
  std::uint64_t pages = 1000;  // HTML pages over all hosts, 1 to 100 million
  std::uint64_t seed = 1;
  std::uint32_t hosts = 3;      // 1 to 200; never more than there are pages
  std::uint32_t slow_ms = 200;  // delay of a slow page (1 in 50)
  // HTML pages with fewer bytes, except framesets, are filled up with text; at most 10 million.
  std::uint32_t page_bytes = 0;
  std::string access_log{};  // if set: one line per request, "<unix seconds, fraction> <url>"
};

class SampleSite {
 public:
  // Serves until stop(). Errors: kInvalidArgument, kInUse if the port is taken on one of the
  // addresses, kIo if the access log cannot be opened.
  static Result<std::unique_ptr<SampleSite>> start(const SampleSiteOptions& options);
  virtual ~SampleSite() = default;

  virtual std::uint16_t port() const = 0;
  // The root page of each host: the seeds of a crawl.
  virtual std::vector<std::string> seeds() const = 0;
  // The canonical keys of all URLs that a crawl from seeds() fetches with scope "host", no depth
  // limit and robots.txt obeyed: HTML pages, redirects, missing pages and files, but not
  // robots.txt. Sorted, without duplicates. A page may be linked as /p/%7epage1 and as /p/~page1,
  // and either may be fetched, so compare by key.
  virtual std::vector<std::string> reachable_urls() const = 0;
  // Closes open connections and returns when all have ended. May be called twice.
  virtual void stop() = 0;

  // Returns what reachable_urls() would, without serving; `options.port` must not be 0.
  static Result<std::vector<std::string>> list(const SampleSiteOptions& options);
};

}  // namespace trawl
