// A small scraper on the frontier: each URL once, with the delays of its hosts, and nothing lost
// when it is killed. Run it, kill it, run it again: it continues.
//
//   example_frontier STATE_DIRECTORY SEED_URL...
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "trawl/embedded_frontier.h"

namespace {

// A substitute for fetching and parsing: every page "links" to two more, down to depth 3.
std::vector<std::string> fetch_and_find_links(const trawl::Lease& lease) {
  std::printf("fetching %s\n", lease.url.c_str());
  if (lease.depth >= 3) return {};
  const std::string base = lease.url.ends_with('/') ? lease.url : lease.url + "/";
  return {base + "a", base + "b"};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s STATE_DIRECTORY SEED_URL...\n", argv[0]);
    return 2;
  }
  auto opened = trawl::EmbeddedFrontier::open(
      {.directory = argv[1], .politeness = {.delay = std::chrono::milliseconds(100)}});
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  trawl::Frontier& frontier = **opened;

  std::vector<trawl::UrlRequest> seeds;
  for (int i = 2; i < argc; ++i)
    seeds.push_back({.url = argv[i]});
  if (!frontier.offer(seeds)) return 1;

  for (;;) {
    const auto leases = frontier.lease({.max = 64, .wait = std::chrono::seconds(1)});
    if (!leases) return 1;
    for (const trawl::Lease& lease : *leases) {
      const std::vector<std::string> links = fetch_and_find_links(lease);
      std::vector<trawl::UrlRequest> requests;
      for (const std::string& link : links)
        requests.push_back({.url = link, .depth = lease.depth + 1});
      if (!frontier.complete(lease.id, {.status = 200}, requests)) return 1;
    }
    if (leases->empty() && frontier.progress()->finished) break;
  }
  std::printf("%llu URLs done\n", static_cast<unsigned long long>(frontier.stats()->completed));
  return frontier.close() ? 0 : 1;
}
