// A large frontier for real: filled, killed and opened. bench/scale.sh runs the whole.
//
//   scale_bench fill DIR FIRST OFFERS PAGES [MAX_MEMORY_MIB]
//   scale_bench open DIR FIRST OFFERS [MAX_MEMORY_MIB]
//   scale_bench fill-hosts DIR HOSTS [MAX_MEMORY_MIB]
//   scale_bench open-hosts DIR HOSTS [MAX_MEMORY_MIB]
//
// fill: opens the frontier in DIR, which `trawl frontier load --seen` made, offers the URLs FIRST
// to FIRST + OFFERS - 1 over 100,000 hosts, leases and completes PAGES of them, and kills itself
// with SIGKILL while other threads go on. open: what opening then takes, that no URL is lost, how
// fast leases and offers are, and what closing takes. Figures: seconds, resident memory, bytes on
// the disk.
//
// fill-hosts: queues a URL of each of HOSTS hosts in a new frontier in DIR. open-hosts: when the
// first URL is leased and when all hosts are known after opening, and the memory, also when parts
// of the hosts are done.
#include <algorithm>
#include <csignal>
#include <string_view>

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

constexpr unsigned kThreads = 2;
constexpr std::uint32_t kHosts = 100'000;

[[noreturn]] void usage() {
  std::fputs(
      "usage: scale_bench fill DIR FIRST OFFERS PAGES [MAX_MEMORY_MIB]\n"
      "       scale_bench open DIR FIRST OFFERS [MAX_MEMORY_MIB]\n"
      "       scale_bench fill-hosts|open-hosts DIR HOSTS [MAX_MEMORY_MIB]\n",
      stderr);
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') usage();
  return value;
}

struct Scale {
  std::filesystem::path directory;
  UrlMaker maker{kHosts};
  std::uint64_t first = 0;
  std::uint64_t offers = 0;

  std::unique_ptr<Frontier> open(std::uint64_t max_memory, OpenReport& report) const {
    EmbeddedOptions options{.directory = directory};
    options.mode = OpenMode::kResume;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.store.max_memory = max_memory;
    return value_or_exit(EmbeddedFrontier::open(options, &report));
  }
};

void tell_state(const char* when, const Frontier& frontier,
                const std::filesystem::path& directory) {
  const FrontierStats stats = value_or_exit(frontier.stats());
  const Resident resident = resident_bytes();
  const DiskUsage disk = disk_usage(directory);
  row(when, "admitted %llu, queued %llu, completed %llu",
      static_cast<unsigned long long>(stats.admitted),
      static_cast<unsigned long long>(stats.queued),
      static_cast<unsigned long long>(stats.completed));
  row("", "memory %.0f MiB: filter %.0f, other %.0f (stats().memory %.0f)", in_mib(resident.own),
      in_mib(stats.filter.memory_bytes),
      in_mib(resident.own - std::min(resident.own, stats.filter.memory_bytes)),
      in_mib(stats.memory));
  row("", "disk %.1f GB: tables %.1f, logs %.1f, checkpoints %.1f", 1e-9 * disk.all(),
      1e-9 * disk.tables, 1e-9 * disk.logs, 1e-9 * disk.other);
}

std::unique_ptr<Frontier> open_and_tell(const Scale& scale, std::uint64_t max_memory) {
  OpenReport report;
  const Usage before = Usage::now();
  auto frontier = scale.open(max_memory, report);
  const Usage opened = Usage::now() - before;
  row("opening", "%8.2f s, CPU %.2f s; %llu admissions replayed", opened.wall, opened.cpu,
      static_cast<unsigned long long>(report.replayed));
  return frontier;
}

void fill(const Scale& scale, std::uint64_t pages, std::uint64_t max_memory) {
  auto frontier = open_and_tell(scale, max_memory);
  tell_state("opened", *frontier, scale.directory);
  Usage before = Usage::now();
  offer_all(*frontier, scale.maker,
            {.first = scale.first, .new_urls = scale.offers, .threads = kThreads});
  Usage used = Usage::now() - before;
  row("offering", "%8.1f s, %.0f URLs/s, CPU %.2f us each", used.wall,
      static_cast<double>(scale.offers) / used.wall,
      1e6 * used.cpu / static_cast<double>(scale.offers));
  tell_state("offered", *frontier, scale.directory);
  before = Usage::now();
  complete_all(*frontier, pages, kThreads);
  value_or_exit(frontier->flush());
  used = Usage::now() - before;
  row("leasing and completing", "%8.1f s, %.0f pages/s, CPU %.2f us each", used.wall,
      static_cast<double>(pages) / used.wall, 1e6 * used.cpu / static_cast<double>(pages));
  tell_state("leased and completed", *frontier, scale.directory);
  // Killed in the middle of work: other threads lease and complete.
  std::thread([&] { complete_all(*frontier, pages, kThreads); }).detach();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ::raise(SIGKILL);
}

// Exits if a URL that was offered is new.
void check_answers(Frontier& frontier, const Scale& scale) {
  constexpr std::size_t kBatch = 1000;
  constexpr int kBatches = 1000;
  UrlBatch batch(scale.maker, kBatch);
  Random random(11);
  for (int i = 0; i < kBatches; ++i) {
    batch.clear();
    for (std::size_t j = 0; j < kBatch; ++j)
      batch.add(scale.first + random.below(scale.offers));
    for (const Admission answer : value_or_exit(frontier.offer(batch.get()))) {
      if (answer == Admission::kSeen) continue;
      std::fputs("scale_bench: a URL that was offered before the kill is lost\n", stderr);
      std::exit(1);
    }
  }
  row("random URLs offered before the kill", "%8d of %d seen", kBatch * kBatches,
      kBatch * kBatches);
}

void reopen(const Scale& scale, std::uint64_t max_memory) {
  Usage before = Usage::now();
  auto frontier = open_and_tell(scale, max_memory);
  const auto leases = value_or_exit(frontier->lease({.max = 1}));
  if (leases.empty()) {
    std::fputs("scale_bench: nothing to lease\n", stderr);
    std::exit(1);
  }
  row("the first lease", "%8.2f s after the start", (Usage::now() - before).wall);
  tell_state("opened", *frontier, scale.directory);
  check_answers(*frontier, scale);

  const std::uint64_t pages = std::min<std::uint64_t>(2'000'000, scale.offers / 50);
  for (const char* const what : {"leasing and completing, just opened", "then"}) {
    before = Usage::now();
    complete_all(*frontier, pages, kThreads);
    const Usage used = Usage::now() - before;
    row(what, "%8.0f pages/s, CPU %.2f us each", static_cast<double>(pages) / used.wall,
        1e6 * used.cpu / static_cast<double>(pages));
  }
  constexpr std::uint64_t kOffers = 5'000'000;
  before = Usage::now();
  offer_all(*frontier, scale.maker,
            {.first = scale.first + scale.offers, .new_urls = kOffers, .threads = kThreads});
  Usage used = Usage::now() - before;
  row("offering new URLs", "%8.0f URLs/s, CPU %.2f us each", kOffers / used.wall,
      1e6 * used.cpu / kOffers);
  const std::uint64_t next = scale.first + scale.offers + kOffers;
  before = Usage::now();
  offer_all(*frontier, scale.maker,
            {.first = next,
             .known = scale.first,
             .new_urls = kOffers / 10,
             .new_share = 10,
             .threads = kThreads});
  used = Usage::now() - before;
  row("offering, 90 % known", "%8.0f URLs/s, CPU %.2f us each", kOffers / used.wall,
      1e6 * used.cpu / kOffers);
  tell_state("after all this", *frontier, scale.directory);
  const FrontierStats stats = value_or_exit(frontier->stats());
  row("the filter", "false-positive rate %.2g, expected URLs lost %.0f", stats.false_positive_rate,
      stats.expected_lost);
  before = Usage::now();
  value_or_exit(frontier->close());
  used = Usage::now() - before;
  row("closing", "%8.2f s", used.wall);
}

EmbeddedOptions options_of_hosts(const std::filesystem::path& directory, std::uint64_t hosts,
                                 std::uint64_t max_memory) {
  EmbeddedOptions options{.directory = directory};
  options.politeness.delay = std::chrono::milliseconds(0);
  options.seen.expected_urls = hosts * 2;
  options.store.max_memory = max_memory;
  return options;
}

void fill_hosts(const std::filesystem::path& directory, std::uint64_t hosts,
                std::uint64_t max_memory) {
  auto frontier =
      value_or_exit(EmbeddedFrontier::open(options_of_hosts(directory, hosts, max_memory)));
  constexpr std::uint64_t kBatch = 1000;
  std::vector<std::string> urls(kBatch);
  const Usage before = Usage::now();
  for (std::uint64_t host = 0; host < hosts;) {
    std::vector<UrlRequest> requests;
    for (std::string& url : urls) {
      url = "https://www.host" + std::to_string(host++) + ".example.net/index.html";
      requests.push_back({.url = url});
    }
    value_or_exit(frontier->offer(requests));
  }
  const Usage used = Usage::now() - before;
  row("offering", "%8.1f s, %.0f URLs/s", used.wall, static_cast<double>(hosts) / used.wall);
  tell_state("offered", *frontier, directory);
  value_or_exit(frontier->close());
}

void open_hosts(const std::filesystem::path& directory, std::uint64_t hosts,
                std::uint64_t max_memory) {
  Usage before = Usage::now();
  auto frontier =
      value_or_exit(EmbeddedFrontier::open(options_of_hosts(directory, hosts, max_memory)));
  row("opening", "%8.2f s", (Usage::now() - before).wall);
  auto leases = value_or_exit(frontier->lease({.max = 1, .wait = std::chrono::seconds(60)}));
  row("the first lease", "%8.2f s after the start", (Usage::now() - before).wall);
  while (frontier->stats()->hosts < hosts)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  row("all hosts known", "%8.2f s after the start, CPU %.2f s", (Usage::now() - before).wall,
      (Usage::now() - before).cpu);
  tell_state("then", *frontier, directory);
  for (const Lease& lease : leases)
    value_or_exit(frontier->complete(lease.id, {.status = 200}, {}));
  for (int part = 1; part <= 3; ++part) {
    before = Usage::now();
    complete_all(*frontier, hosts / 4, kThreads);
    const Usage used = Usage::now() - before;
    row("leasing and completing a quarter", "%8.0f pages/s, CPU %.2f us each",
        static_cast<double>(hosts / 4) / used.wall, 4e6 * used.cpu / static_cast<double>(hosts));
    tell_state("then", *frontier, directory);
  }
  value_or_exit(frontier->close());
}

int run(int argc, char** argv) {
  if (argc == 4 || argc == 5) {
    const std::string_view mode = argv[1];
    const std::uint64_t max_memory = (argc > 4 ? number(argv[4]) : 256) << 20;
    if (mode == "fill-hosts") return fill_hosts(argv[2], number(argv[3]), max_memory), 0;
    if (mode == "open-hosts") return open_hosts(argv[2], number(argv[3]), max_memory), 0;
  }
  if (argc < 5) usage();
  const std::string_view mode = argv[1];
  const Scale scale{.directory = argv[2], .first = number(argv[3]), .offers = number(argv[4])};
  const int last = mode == "fill" ? 6 : 5;
  if (argc < last || argc > last + 1) usage();
  const std::uint64_t max_memory = (argc > last ? number(argv[last]) : 1024) << 20;
  if (mode == "fill") {
    fill(scale, number(argv[5]), max_memory);
  } else if (mode == "open") {
    reopen(scale, max_memory);
  } else {
    usage();
  }
  return 0;
}

}  // namespace

}  // namespace trawl::bench

int main(int argc, char** argv) {
  return trawl::bench::run(argc, argv);
}
