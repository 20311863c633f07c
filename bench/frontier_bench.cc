// The frontier under load: offers, pages, disk, memory. Not a Google Benchmark program: a part
// takes seconds to minutes, and its figures are the resource usage of the whole process.
//
//   frontier_bench [--only PART[,PART...]] [--urls N] [--max-memory MIB] [--threads N]
//                  [--directory DIR]
//
//   offers      URLs offered a second, 90 % of them known
//   duplicates  CPU of a known URL, against parsing, hashing and the filter alone
//   new         all new, by --threads threads: rate, bytes written and kept; see serial_parts.py
//   pages       lease, and complete with 10 links
//   refills     lease and complete while all queues are read from the disk, by --threads threads
//   large-page  what a page of 100,000 links costs other threads' calls
//   mix         URLs a CPU second, of which 45 % are known, and with all new
//   memory      resident memory and the time of reopening, in processes of their own
//
// --urls scales all parts down; the figures for comparisons are those of the default, 10^7. DIR, by
// default the working directory, should be on a disk; files created there are removed.
#include "bench/frontier_bench.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace trawl::bench {

namespace {

struct Part {
  std::string_view name;
  void (*run)(const Settings&);
};
constexpr Part kParts[] = {
    {"depths", bench_depths}, {"offers", bench_offers}, {"duplicates", bench_duplicates},
    {"new", bench_new},       {"pages", bench_pages},   {"refills", bench_refills},
    {"mix", bench_mix},       {"memory", bench_memory}, {"large-page", bench_large_page},
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: frontier_bench [--only PART[,PART...]] [--urls N] [--max-memory MIB] "
               "[--threads N] [--directory DIR]\nparts: depths, offers, duplicates, new, pages, "
               "refills, mix, memory, large-page\n");
  std::exit(2);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0) usage();
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

int run(int argc, char** argv) {
  Settings settings;
  settings.directory = ".";
  std::vector<std::string_view> only;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage();
    const std::string_view option = argv[i], value = argv[i + 1];
    if (option == "--only") {
      only = split(value);
    } else if (option == "--urls") {
      settings.urls = std::max<std::uint64_t>(number(value), 10'000);
    } else if (option == "--max-memory") {
      settings.max_memory = number(value) << 20;
    } else if (option == "--threads") {
      settings.threads = static_cast<unsigned>(std::min<std::uint64_t>(number(value), 256));
    } else if (option == "--directory") {
      settings.directory = value;
    } else {
      usage();
    }
  }
  for (const std::string_view name : only) {
    if (std::ranges::find(kParts, name, &Part::name) == std::end(kParts)) usage();
  }
  settings.directory /= "frontier_bench." + std::to_string(::getpid());
  std::filesystem::create_directories(settings.directory);
  for (const Part& part : kParts) {
    if (only.empty() || std::ranges::find(only, part.name) != only.end()) part.run(settings);
  }
  std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace

double cost_of_making_a_url(const UrlMaker& maker) {
  constexpr std::size_t kBatch = 1000;
  constexpr int kBatches = 2000;
  UrlBatch batch(maker, kBatch);
  Random random(1);
  const Usage before = Usage::now();
  for (int i = 0; i < kBatches; ++i) {
    batch.clear();
    for (std::size_t j = 0; j < kBatch; ++j)
      batch.add(random.below(10'000'000));
  }
  return (Usage::now() - before).cpu / (kBatches * static_cast<double>(kBatch));
}

void heading(const char* text) {
  std::printf("\n%s\n", text);
}

}  // namespace trawl::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--memory-process") {
    return trawl::bench::run_memory_process(argc, argv);
  }
  return trawl::bench::run(argc, argv);
}
