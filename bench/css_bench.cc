// Finding the URLs of real style sheets, against the bytes themselves: one memchr() pass over them.
//
//   css_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
//       --benchmark_report_aggregates_only=true
//
// Needs the packages of scripts/deps.sh test. One thread; bytes per second of CSS.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "trawl/links.h"

#include "crawler/parse/css/css_references.h"
#include "crawler/parse/css/style_sheet_reader.h"

namespace trawl {
namespace {

std::vector<std::string> sheets_of_this_machine() {
  std::vector<std::string> sheets;
  for (const char* folder : {"/usr/share/javascript", "/usr/share/nodejs", "/usr/share/doc"}) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
      if (entry.path().extension() != ".css" || !entry.is_regular_file(ignored)) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      sheets.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return sheets;
}

const std::vector<std::string>& sheets() {
  static const std::vector<std::string> all = sheets_of_this_machine();
  return all;
}

template <class Work>
void for_each_sheet(benchmark::State& state, Work work) {
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const std::string& sheet : sheets()) {
      work(sheet);
      bytes += static_cast<std::int64_t>(sheet.size());
    }
  }
  state.SetBytesProcessed(bytes);
}

void read_every_byte(benchmark::State& state) {
  for_each_sheet(state, [](const std::string& sheet) {
    benchmark::DoNotOptimize(std::memchr(sheet.data(), 0x01, sheet.size()));
  });
}
BENCHMARK(read_every_byte)->Unit(benchmark::kMillisecond);

void references(benchmark::State& state) {
  std::deque<std::string> made;
  for_each_sheet(state, [&](const std::string& sheet) {
    CssReferences references(sheet, CssSource::kStyleSheet, made);
    while (const auto found = references.next())
      benchmark::DoNotOptimize(found->url.data());
    made.clear();
  });
}
BENCHMARK(references)->Unit(benchmark::kMillisecond);

// With the encoding, the check for valid UTF-8 and the resolution of every URL.
void reader(benchmark::State& state) {
  StyleSheetReader reader(LinkOptions{});
  const Url base = *Url::parse("http://site.example/css/style.css");
  PageLinks page;
  for_each_sheet(state, [&](const std::string& sheet) {
    reader.read_into(sheet, "text/css", base, page);
    benchmark::DoNotOptimize(page.links.size());
  });
}
BENCHMARK(reader)->Unit(benchmark::kMillisecond);

// One sheet of 1 MB that is nothing but `piece`.
void hostile(benchmark::State& state, std::string_view piece) {
  std::string sheet;
  while (sheet.size() < 1'000'000)
    sheet += piece;
  StyleSheetReader reader(LinkOptions{});
  const Url base = *Url::parse("http://site.example/css/style.css");
  PageLinks page;
  for (auto _ : state) {
    reader.read_into(sheet, "text/css", base, page);
    benchmark::DoNotOptimize(page.links.size());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(sheet.size() * state.iterations()));
}
BENCHMARK_CAPTURE(hostile, urls, "url(a)")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostile, escapes, "\\75 rl(")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostile, parentheses, "(")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostile, bad_strings, "'\n")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostile, bad_urls, "url( x y")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hostile, comments, "/**/")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trawl

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (trawl::sheets().empty()) {
    std::fputs("css_bench: no style sheets: run scripts/deps.sh test\n", stderr);
    return 1;
  }
  std::int64_t bytes = 0;
  for (const std::string& sheet : trawl::sheets())
    bytes += static_cast<std::int64_t>(sheet.size());
  std::printf("%zu style sheets, %.1f MB\n", trawl::sheets().size(),
              static_cast<double>(bytes) / 1e6);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
