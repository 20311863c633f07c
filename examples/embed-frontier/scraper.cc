// A scraper on the frontier of Trawl: each page once, its host's delay kept, and nothing lost if it
// is killed. Run it, kill -9 it, run it again: it goes on where it was.
//
//   scraper [STATE_DIRECTORY]
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <trawl/frontier.h>

namespace {

constexpr int kPages = 5000;
constexpr int kHosts = 50;

std::string url_of(int page) {
  return "https://host" + std::to_string(page % kHosts) + ".example/" + std::to_string(page);
}

struct Response {
  int status;
  std::vector<std::string> links;
};

// Stands in for HTTP: a web in which page n links to the pages 2n + 1, 2n + 2 and 7n, and every
// tenth page answers 500 when it is asked first.
Response fetch(const trawl::Lease& lease) {
  const int page = std::stoi(lease.url.substr(lease.url.rfind('/') + 1));
  if (page % 10 == 9 && lease.attempts == 0) return {500, {}};
  Response response{200, {}};
  for (const int link : {2 * page + 1, 2 * page + 2, 7 * page % kPages})
    if (link < kPages) response.links.push_back(url_of(link));
  return response;
}

trawl::Result<void> scrape(trawl::Frontier& frontier, const trawl::Lease& lease) {
  const Response response = fetch(lease);
  std::printf("%d %s\n", response.status, lease.url.c_str());
  std::fflush(stdout);
  if (response.status >= 500) {  // tried again later, by this process or the next
    const auto failed = frontier.fail(lease.id, trawl::FailureReason::kServerError);
    return failed ? trawl::Result<void>{} : tl::unexpected(failed.error());
  }
  std::vector<trawl::UrlRequest> links;
  for (const std::string& link : response.links)
    links.push_back({.url = link, .depth = lease.depth + 1});
  const auto completed = frontier.complete(lease.id, {.status = response.status}, links);
  return completed ? trawl::Result<void>{} : tl::unexpected(completed.error());
}

trawl::Result<void> run(const char* directory) {
  auto frontier = trawl::Frontier::open({.directory = directory,
                                         .delay = std::chrono::milliseconds(1),
                                         .retry_delay = std::chrono::milliseconds(50),
                                         .max_open_leases = 200});
  if (!frontier) return tl::unexpected(frontier.error());
  const std::string seed = url_of(0);
  const trawl::UrlRequest seeds[] = {{.url = seed}};  // seen already, if this goes on
  if (auto offered = (*frontier)->offer(seeds); !offered) return tl::unexpected(offered.error());
  while (!(*frontier)->exhausted()) {
    auto leases = (*frontier)->lease(16);
    if (!leases) return tl::unexpected(leases.error());
    for (const trawl::Lease& lease : *leases)
      if (auto done = scrape(**frontier, lease); !done) return done;
    if (leases->empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return (*frontier)->close();
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc == 2 ? argv[1] : "state");
  std::puts(done ? "done" : done.error().message.c_str());
  return done ? 0 : 1;
}
