// Finding the links of real pages, against Gumbo as it is packaged and against the bytes
// themselves: one memchr() pass over them.
//
//   links_bench --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true
//       --benchmark_report_aggregates_only=true
//
// Needs the documentation packages of scripts/deps.sh test. One thread; bytes per second of HTML.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <gumbo.h>

#include "trawl/canonicalizer.h"
#include "trawl/fingerprint.h"
#include "trawl/links.h"

#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/page_scanner.h"
#include "crawler/parse/html/reference_collector.h"
#include "crawler/parse/html/tokenizer_kernel.h"
#include "tests/support/documentation_pages.h"

namespace trawl {
namespace {

const std::vector<DocumentationPage>& pages() {
  static const std::vector<DocumentationPage> all = documentation_pages();
  return all;
}

// Runs `work` on every `step`-th page.
template <class Work>
void for_each_page(benchmark::State& state, std::size_t step, Work work) {
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < pages().size(); i += step) {
      work(pages()[i].bytes);
      bytes += static_cast<std::int64_t>(pages()[i].bytes.size());
    }
  }
  state.SetBytesProcessed(bytes);
}

void read_every_byte(benchmark::State& state) {
  for_each_page(state, 1, [](const std::string& page) {
    benchmark::DoNotOptimize(std::memchr(page.data(), 0x01, page.size()));
  });
}
BENCHMARK(read_every_byte)->Unit(benchmark::kMillisecond);

void gumbo_as_packaged(benchmark::State& state) {
  for_each_page(state, 16, [](const std::string& page) {
    GumboOutput* output = gumbo_parse_with_options(&kGumboDefaultOptions, page.data(), page.size());
    benchmark::DoNotOptimize(output);
    gumbo_destroy_output(&kGumboDefaultOptions, output);
  });
}
BENCHMARK(gumbo_as_packaged)->Unit(benchmark::kMillisecond);

// Gumbo as in the crawler: the tree in an arena, and the links from it.
void gumbo_engine(benchmark::State& state) {
  LinkOptions options;
  options.engine = LinkEngine::kGumbo;
  LinkExtractor extractor(options);
  const Url base = *Url::parse("http://site.example/dir/page.html");
  PageLinks links;
  for_each_page(state, 16, [&](const std::string& page) {
    extractor.extract_into(page, "text/html; charset=utf-8", base, links);
    benchmark::DoNotOptimize(links.links.size());
  });
}
BENCHMARK(gumbo_engine)->Unit(benchmark::kMillisecond);

// Only the tags, with each set of vector instructions of this processor.
void tags(benchmark::State& state, const TokenizerKernel& kernel) {
  for_each_page(state, 1, [&](const std::string& page) {
    HtmlTokenizer tokens(page, kernel);
    std::uint64_t attributes = 0;
    for (auto kind = tokens.next_tag(); kind != TokenKind::kEnd; kind = tokens.next_tag()) {
      attributes += tokens.attributes().size();
      if (kind != TokenKind::kStartTag) continue;
      const std::string_view name = tokens.tag_name();
      if (name == "script") tokens.set_content(ContentModel::kScriptData, "script");
      if (name == "style") tokens.set_content(ContentModel::kRawtext, "style");
      if (name == "title") tokens.set_content(ContentModel::kRcdata, "title");
    }
    benchmark::DoNotOptimize(attributes);
  });
}

// The default engine alone: every reference with its kind, the title, the directives.
void scanner(benchmark::State& state, const LinkKinds& kinds) {
  LinkOptions options;
  options.kinds = kinds;
  PageScanner scanner;
  PageReferences references;
  for_each_page(state, 1, [&](const std::string& page) {
    references.clear();
    ReferenceCollector collector(options, references);
    scanner.scan(page, collector, references);
    benchmark::DoNotOptimize(references.references.size());
  });
}
BENCHMARK_CAPTURE(scanner, links_of_pages, LinkKinds::pages())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(scanner, all_kinds, LinkKinds::all())->Unit(benchmark::kMillisecond);

// With detection of the encoding and resolution of every link.
void extractor(benchmark::State& state, std::string_view content_type) {
  LinkExtractor extractor;
  const Url base = *Url::parse("http://site.example/dir/page.html");
  PageLinks links;
  for_each_page(state, 1, [&](const std::string& page) {
    extractor.extract_into(page, content_type, base, links);
    benchmark::DoNotOptimize(links.links.size());
  });
}
BENCHMARK_CAPTURE(extractor, utf8, "text/html; charset=utf-8")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(extractor, encoding_found, "text/html")->Unit(benchmark::kMillisecond);

// Everything between a body and the filter.
void extractor_keys_and_fingerprints(benchmark::State& state) {
  LinkExtractor extractor;
  const Url base = *Url::parse("http://site.example/dir/page.html");
  const Canonicalizer canonicalizer;
  const KeyedHash hash = KeyedHash::from_seed(1);
  PageLinks links;
  std::string scratch;
  std::int64_t urls = 0;
  for_each_page(state, 1, [&](const std::string& page) {
    extractor.extract_into(page, "text/html", base, links);
    std::uint64_t mixed = 0;
    for (const Link& link : links.links)
      mixed ^= hash(canonicalizer.key_view(link.url, scratch)).low;
    benchmark::DoNotOptimize(mixed);
    urls += static_cast<std::int64_t>(links.links.size());
  });
  state.SetItemsProcessed(urls);
}
BENCHMARK(extractor_keys_and_fingerprints)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace trawl

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (trawl::pages().empty()) {
    std::fputs("links_bench: no pages: run scripts/deps.sh test\n", stderr);
    return 1;
  }
  for (const trawl::TokenizerKernel& kernel : trawl::tokenizer_kernels()) {
    benchmark::RegisterBenchmark(("tags/" + std::string(kernel.name)).c_str(),
                                 [&kernel](benchmark::State& state) { trawl::tags(state, kernel); })
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
