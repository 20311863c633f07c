// TinyCrawler: the least that crawls, to check the sample site with: one thread, libcurl for HTTP
// and for resolving references, links by a scan that knows what the sample site writes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trawl::test {

struct TinyPage {
  long status = 0;  // 0: no answer
  std::string content_type;
  std::string location;  // resolved
  std::string content_encoding;
  std::string body;
};

class TinyClient {
 public:
  TinyClient();
  ~TinyClient();
  TinyClient(const TinyClient&) = delete;
  TinyClient& operator=(const TinyClient&) = delete;

  TinyPage get(const std::string& url);

 private:
  void* curl_;
};

// `reference` resolved against `base`, as a canonical key; empty if it is not an http URL.
std::string tiny_resolve(const std::string& base, std::string reference);

// The canonical keys of the links of an HTML page.
std::vector<std::string> tiny_links(const std::string& html, const std::string& url);

// What a crawl with scope host that obeys robots.txt fetches: canonical key to status.
std::map<std::string, long> tiny_crawl(const std::vector<std::string>& seeds);

}  // namespace trawl::test
