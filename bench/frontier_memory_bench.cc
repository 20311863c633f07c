// Memory with many queued URLs, and the time to reopen them. Each figure comes from a separate
// process, since a process rarely returns memory.
#include <atomic>
#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/frontier_bench.h"

extern char** environ;

namespace trawl::bench {

namespace {

// Watches allocated and resident memory on another thread; keeps the peak since the last reset.
class PeakMemory {
 public:
  PeakMemory() : watcher_([this] { watch(); }) {}
  ~PeakMemory() {
    stopped_.store(true, std::memory_order_relaxed);
    watcher_.join();
  }
  void reset() { peak_.store(resident_bytes().own, std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void watch() {
    while (!stopped_.load(std::memory_order_relaxed)) {
      const std::uint64_t now = resident_bytes().own;
      if (now > peak()) peak_.store(now, std::memory_order_relaxed);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::atomic<std::uint64_t> peak_{0};
  std::atomic<bool> stopped_{false};
  std::thread watcher_;
};

// Prints the peak so far without the filter's bits, stats().memory, and the mapped size of the
// program and its libraries.
void tell(const char* what, const PeakMemory& memory, Frontier& frontier, std::uint64_t limit) {
  const FrontierStats stats = frontier.stats().value();
  const std::uint64_t filter = stats.filter.memory_bytes;
  const std::uint64_t rest = memory.peak() - std::min(memory.peak(), filter);
  row(what, "%8.1f MiB = %.2f of max_memory; filter %.0f, stats().memory %.0f, program %.0f MiB",
      in_mib(rest), static_cast<double>(rest) / static_cast<double>(limit), in_mib(filter),
      in_mib(stats.memory), in_mib(resident_bytes().mapped));
}

void complete_some(Frontier& frontier, std::uint64_t pages) {
  complete_all(frontier, pages, 1);
  value_or_exit(frontier.flush());
}

EmbeddedOptions memory_options(const Settings& settings) {
  EmbeddedOptions options = default_options(settings);
  options.politeness.leases_per_host = settings.hosts == 1 ? 64 : 1;
  return options;
}

// Ends like a crash: without closing anything.
[[noreturn]] void fill(const Settings& settings) {
  PeakMemory memory;
  auto frontier = value_or_exit(EmbeddedFrontier::open(memory_options(settings)));
  offer_all(*frontier, UrlMaker(settings.hosts), {.new_urls = settings.urls, .threads = 2});
  tell("while offering", memory, *frontier, settings.max_memory);
  wait_until_quiet();
  memory.reset();
  complete_some(*frontier, settings.urls / 20);
  tell("while leasing and completing", memory, *frontier, settings.max_memory);
  std::fflush(stdout);
  ::_exit(0);
}

void reopen(const Settings& settings) {
  PeakMemory memory;
  const Usage before = Usage::now();
  OpenReport opened;
  auto frontier = value_or_exit(EmbeddedFrontier::open(memory_options(settings), &opened));
  const Usage used = Usage::now() - before;
  row("reopening", "%8.2f s, CPU %.2f s; %llu queued, %llu admissions replayed  must be <= 10 s",
      used.wall, used.cpu, static_cast<unsigned long long>(frontier->stats()->queued),
      static_cast<unsigned long long>(opened.replayed));
  tell("after it", memory, *frontier, settings.max_memory);
  complete_some(*frontier, settings.urls / 20);
  tell("leasing and completing then", memory, *frontier, settings.max_memory);
  value_or_exit(frontier->close());
}

void run_process(const char* what, const Settings& settings) {
  const std::string numbers[] = {std::to_string(settings.urls), std::to_string(settings.hosts),
                                 std::to_string(settings.max_memory)};
  std::string program = "/proc/self/exe", flag = "--memory-process", mode = what,
              directory = settings.directory.string();
  std::vector<std::string> arguments = {program,    flag,       mode,      directory,
                                        numbers[0], numbers[1], numbers[2]};
  std::vector<char*> pointers;
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::fflush(stdout);
  pid_t process = 0;
  int status = -1;
  if (::posix_spawn(&process, program.c_str(), nullptr, nullptr, pointers.data(), environ) != 0 ||
      ::waitpid(process, &status, 0) != process || status != 0) {
    std::fprintf(stderr, "frontier_bench: the process for `%s` failed\n", what);
    std::exit(1);
  }
}

}  // namespace

int run_memory_process(int argc, char** argv) {
  if (argc != 7) return 2;
  const std::string mode = argv[2];
  Settings settings;
  settings.directory = argv[3];
  settings.urls = std::strtoull(argv[4], nullptr, 10);
  settings.hosts = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
  settings.max_memory = std::strtoull(argv[6], nullptr, 10);
  if (mode == "fill") fill(settings);
  reopen(settings);
  return 0;
}

void bench_memory(const Settings& given) {
  for (const std::uint64_t mib : {64, 256}) {
    for (const std::uint32_t hosts : {given.hosts, 1u}) {
      Settings settings = given;
      settings.hosts = hosts;
      settings.max_memory = mib << 20;
      heading(("Memory allocated and resident, less the filter; max_memory " + std::to_string(mib) +
               " MiB, " + std::to_string(settings.urls) + " queued on " + std::to_string(hosts) +
               " host(s)")
                  .c_str());
      run_process("fill", settings);
      std::printf("  after a kill:\n");
      run_process("reopen", settings);
      std::printf("  after close():\n");
      run_process("reopen", settings);
      std::filesystem::remove_all(settings.directory / "state");
    }
  }
}

}  // namespace trawl::bench
