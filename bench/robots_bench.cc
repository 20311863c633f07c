// robots.txt: reading files and giving verdicts, ordinary and hostile ones.
//
//   robots_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
//       --benchmark_report_aggregates_only=true
//
// Copy is the cost of copying the bytes. A verdict's time is for one URL; those of Hostile/ must
// stay below 10 ms. FirstHostile/ includes parsing and compiling the file.
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "trawl/robots.h"

#include "tests/crawler/parse/robots_files.h"

namespace trawl {
namespace {

struct OrdinaryFile {
  const char* name;
  std::size_t rules;
  std::size_t agents;
};
constexpr OrdinaryFile kOrdinary[] = {
    {"small", 12, 2}, {"wikipedia_like", 700, 100}, {"shop_like", 180, 10}};

std::vector<Url> ordinary_urls() {
  std::vector<Url> urls;
  std::mt19937 random(3);
  constexpr std::string_view kPaths[] = {
      "/wiki/Special:Topic_{:03}/and-some-more-words-to-read-in-here-today-{:06}",
      "/articles/2024/{:03}/the-long-title-of-an-article-about-gardens-{:06}.html",
      "/shop/{:03}/catalogue/chairs-and-tables/oak-table-with-drawers-{:06}",
      "/forum/Topic_{:03}/view.html?page=2&order=newest&highlight=word{:06}",
      "/w/static/Topic_{:03}/images/large/picture-of-the-day-number-{:06}.jpeg"};
  for (int i = 0; i < 1000; ++i) {
    const std::string path =
        fmt::format(fmt::runtime(kPaths[i % 5]), random() % 1000, random() % 1'000'000);
    urls.push_back(*Url::parse("https://site.example" + path));
  }
  return urls;
}

void copy(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    std::string copied = text;
    benchmark::DoNotOptimize(copied);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Robots::parse(text));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void parse_and_first_verdict(benchmark::State& state, const std::string& text, const Url& url) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Robots::parse(text).allowed("trawl", url));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void verdict(benchmark::State& state, const std::string& text, const std::vector<Url>& urls) {
  const Robots robots = Robots::parse(text);
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(robots.allowed("trawl", urls[i]));
    if (++i == urls.size()) i = 0;
  }
}

void register_all() {
  for (const auto& [name, rules, agents] : kOrdinary) {
    const std::string text = ordinary_robots(rules, agents);
    benchmark::RegisterBenchmark(fmt::format("Copy/{}", name).c_str(), copy, text);
    benchmark::RegisterBenchmark(fmt::format("Parse/{}", name).c_str(), parse, text);
    benchmark::RegisterBenchmark(fmt::format("ParseAndFirstVerdict/{}", name).c_str(),
                                 parse_and_first_verdict, text, ordinary_urls().front());
    benchmark::RegisterBenchmark(fmt::format("Verdict/{}", name).c_str(), verdict, text,
                                 ordinary_urls());
  }
  for (const HostileRobots& file : hostile_robots()) {
    const Url url = *Url::parse("http://site.example" + file.path);
    benchmark::RegisterBenchmark(("Hostile/" + file.name).c_str(), verdict, file.text,
                                 std::vector<Url>{url})
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("FirstHostile/" + file.name).c_str(), parse_and_first_verdict,
                                 file.text, url)
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace trawl

int main(int argc, char** argv) {
  trawl::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
