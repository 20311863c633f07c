// Parsing and resolving URLs, against the cost of the bytes alone: a copy of each URL and one table
// lookup a byte.
//
//   TRAWL_TEST_DATA=... url_bench --benchmark_repetitions=7
//       --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
//
// All times are for one URL.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/url.h"

#include "url/url_parser.h"

namespace trawl {
namespace {

struct Reference {
  const Url* base;
  std::string text;
};

struct Corpus {
  std::vector<std::string> links;     // absolute, ASCII
  std::vector<Reference> references;  // relative
  std::vector<std::unique_ptr<Url>> bases;
};

bool is_plain_ascii(std::string_view text) {
  for (const char byte : text) {
    if (static_cast<unsigned char>(byte) >= 0x80) return false;
  }
  return true;
}

bool has_scheme(std::string_view reference) {
  const std::size_t end = reference.find_first_of(":/?#");
  return end != std::string_view::npos && reference[end] == ':';
}

Corpus read_corpus(const std::string& folder) {
  Corpus corpus;
  std::ifstream links(folder + "/url/links-48k.txt");
  for (std::string line; std::getline(links, line);) {
    if (is_plain_ascii(line) && Url::parse(line)) corpus.links.push_back(line);
  }
  std::ifstream pairs(folder + "/url/resolve-pairs-20k.tsv");
  for (std::string line; std::getline(pairs, line);) {
    const std::size_t tab = line.find('\t');
    const auto base = Url::parse(line.substr(0, tab));
    if (!base || tab == std::string::npos || has_scheme(line.substr(tab + 1))) continue;
    if (corpus.bases.empty() || !(*corpus.bases.back() == *base)) {
      corpus.bases.push_back(std::make_unique<Url>(*base));
    }
    corpus.references.push_back({corpus.bases.back().get(), line.substr(tab + 1)});
  }
  return corpus;
}

Corpus& corpus() {
  static Corpus instance;
  return instance;
}

template <class Items, class Work>
void for_each(benchmark::State& state, const Items& items, Work work) {
  for (auto _ : state) {
    for (const auto& item : items)
      work(item);
  }
  using benchmark::Counter;
  state.counters["a_url"] = Counter(static_cast<double>(items.size()),
                                    Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void copy_and_classify(benchmark::State& state) {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    kinds[i] = static_cast<std::uint8_t>(i * 37);
  std::vector<char> copy(1 << 16);
  for_each(state, corpus().links, [&](const std::string& link) {
    std::memcpy(copy.data(), link.data(), link.size());
    unsigned all = 0;
    for (std::size_t i = 0; i < link.size(); ++i)
      all |= kinds[static_cast<unsigned char>(copy[i])];
    benchmark::DoNotOptimize(all);
  });
}
BENCHMARK(copy_and_classify);

void parse(benchmark::State& state) {
  for_each(state, corpus().links, [](const std::string& link) {
    auto url = Url::parse(link);
    benchmark::DoNotOptimize(url);
  });
}
BENCHMARK(parse);

void parse_without_the_fast_path(benchmark::State& state) {
  for_each(state, corpus().links, [](const std::string& link) {
    auto url = UrlParser::parse_fully(link, nullptr);
    benchmark::DoNotOptimize(url);
  });
}
BENCHMARK(parse_without_the_fast_path);

void parse_into(benchmark::State& state) {
  Url url;
  for_each(state, corpus().links, [&](const std::string& link) {
    benchmark::DoNotOptimize(Url::parse_into(link, nullptr, url).has_value());
  });
}
BENCHMARK(parse_into);

void parse_into_and_key(benchmark::State& state) {
  const Canonicalizer canonical;
  Url url;
  std::string key;
  for_each(state, corpus().links, [&](const std::string& link) {
    if (!Url::parse_into(link, nullptr, url)) return;
    canonical.key_into(url, key);
    benchmark::DoNotOptimize(key.data());
  });
}
BENCHMARK(parse_into_and_key);

void parse_into_key_and_fingerprint(benchmark::State& state) {
  const Canonicalizer canonical;
  const KeyedHash hash = KeyedHash::from_seed(1);
  Url url;
  std::string key;
  for_each(state, corpus().links, [&](const std::string& link) {
    if (!Url::parse_into(link, nullptr, url)) return;
    canonical.key_into(url, key);
    benchmark::DoNotOptimize(hash(key).low);
  });
}
BENCHMARK(parse_into_key_and_fingerprint);

void resolve(benchmark::State& state) {
  for_each(state, corpus().references, [](const Reference& reference) {
    auto url = Url::parse(reference.text, reference.base);
    benchmark::DoNotOptimize(url);
  });
}
BENCHMARK(resolve);

void resolve_into(benchmark::State& state) {
  Url url;
  for_each(state, corpus().references, [&](const Reference& reference) {
    benchmark::DoNotOptimize(Url::parse_into(reference.text, reference.base, url).has_value());
  });
}
BENCHMARK(resolve_into);

}  // namespace
}  // namespace trawl

int main(int argc, char** argv) {
  const char* folder = std::getenv("TRAWL_TEST_DATA");
  if (folder == nullptr) {
    std::fputs("url_bench: set TRAWL_TEST_DATA to the folder of test corpora\n", stderr);
    return 1;
  }
  trawl::corpus() = trawl::read_corpus(folder);
  if (trawl::corpus().links.empty() || trawl::corpus().references.empty()) {
    std::fprintf(stderr, "url_bench: %s/url lacks links-48k.txt or resolve-pairs-20k.tsv\n",
                 folder);
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
