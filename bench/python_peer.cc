// What bench/python_bench.py measures the Python package against: the CPU time of the process for each
// known URL offered in batches of 100.
//
//   python_peer DIRECTORY FILE_OF_URLS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "trawl/embedded_frontier.h"

#include "bench/process_usage.h"

namespace {

constexpr std::size_t kBatch = 100;

template <class Value>
Value value_or_exit(trawl::Result<Value> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<Value>) return std::move(*result);
}

void offer_all(trawl::Frontier& frontier, const std::vector<std::string>& urls) {
  for (std::size_t first = 0; first < urls.size(); first += kBatch) {
    std::vector<trawl::UrlRequest> requests;
    requests.reserve(kBatch);
    for (std::size_t i = first; i < std::min(first + kBatch, urls.size()); ++i)
      requests.push_back({.url = urls[i]});
    value_or_exit(frontier.offer(requests));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::string> urls;
  std::ifstream file(argv[2]);
  for (std::string line; std::getline(file, line);)
    urls.push_back(line);
  trawl::EmbeddedOptions options;
  options.directory = argv[1];
  const auto frontier = value_or_exit(trawl::EmbeddedFrontier::open(options));
  offer_all(*frontier, urls);
  value_or_exit(frontier->flush());
  offer_all(*frontier, urls);  // what the admissions left to do is not measured
  const trawl::bench::Usage before = trawl::bench::Usage::now();
  offer_all(*frontier, urls);
  std::printf("%.1f\n", 1e9 * (trawl::bench::Usage::now() - before).cpu /
                            static_cast<double>(urls.size()));
  return 0;
}
