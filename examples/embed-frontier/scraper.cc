// A scraper on Trawl's frontier: fetches each page once, keeps the delay of each host, and loses
// nothing when it is killed. Run it, kill -9 it, run it again: it continues.
//
//   scraper [STATE_DIRECTORY]
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <trawl/embedded_frontier.h>

using namespace std::chrono_literals;

// A substitute for HTTP: page n links to the pages 2n + 1, 2n + 2 and 7n, and every tenth page
// answers its first request with 500.
struct Response {
  int status = 200;
  std::vector<std::string> links = {};
};
std::string url_of(int page) {
  return "https://host" + std::to_string(page % 50) + ".example/" + std::to_string(page);
}
Response fetch(const trawl::Lease& lease) {
  const int page = std::stoi(lease.url.substr(lease.url.rfind('/') + 1));
  if (page % 10 == 9 && lease.attempts == 0) return {500};
  Response response;
  for (const int link : {2 * page + 1, 2 * page + 2, 7 * page % 5000})
    if (link < 5000) response.links.push_back(url_of(link));
  return response;
}

trawl::Result<void> scrape(trawl::Frontier& frontier, const trawl::Lease& lease) {
  const Response response = fetch(lease);
  std::printf("%d %s\n", response.status, lease.url.c_str());
  std::fflush(stdout);
  if (response.status >= 500)  // retried later, by this process or the next
    return frontier.fail(lease.id, trawl::FailureReason::kServerError).map([](auto&&) {});
  std::vector<trawl::UrlRequest> links;
  for (const std::string& link : response.links)
    links.push_back({.url = link, .depth = lease.depth + 1});
  return frontier.complete(lease.id, {.status = response.status}, links).map([](auto&&) {});
}

trawl::Result<void> run(const char* directory) {
  auto frontier = trawl::EmbeddedFrontier::open({.directory = directory,
                                                 .politeness = {.delay = 1ms},
                                                 .retry = {.retry_delay = 50ms},
                                                 .limits = {.max_open_leases = 200}});
  if (!frontier) return tl::unexpected(frontier.error());
  const std::string seed = url_of(0);
  const trawl::UrlRequest seeds[] = {{.url = seed}};  // already seen if this run continues another
  if (auto offered = (*frontier)->offer(seeds); !offered) return tl::unexpected(offered.error());
  for (;;) {
    const auto leases = (*frontier)->lease({.max = 16, .wait = 1s});
    if (!leases) return tl::unexpected(leases.error());
    for (const trawl::Lease& lease : *leases)
      if (auto done = scrape(**frontier, lease); !done) return done;
    if (leases->empty() && (*frontier)->progress()->exhausted) return (*frontier)->close();
  }
}

int main(int argc, char** argv) {
  const auto done = run(argc == 2 ? argv[1] : "state");
  std::puts(done ? "done" : done.error().message.c_str());
  return done ? 0 : 1;
}
