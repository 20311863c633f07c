// Refills: leases while every host's queue is read from the disk.
#include <algorithm>

#include <fcntl.h>
#include <unistd.h>

#include "bench/frontier_bench.h"

namespace trawl::bench {

namespace {

constexpr std::size_t kRefillLeases = 64;
// The first URLs of each host are in memory after opening.
constexpr std::uint64_t kOpenedUrls = 4;

// Puts the hosts' turns into a random order: each gives one URL back until a random time.
void shuffle_hosts(Frontier& frontier, std::uint32_t hosts) {
  constexpr std::chrono::milliseconds kWindow(4000);
  Random random(9);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t done = 0; done < hosts;) {
    const auto leases = value_or_exit(frontier.lease({.max = kRefillLeases}));
    for (const Lease& lease : leases) {
      const auto wait =
          std::chrono::microseconds(random.below(std::chrono::microseconds(kWindow).count()));
      value_or_exit(frontier.release(lease.id, start + kWindow + wait));
    }
    done += static_cast<std::uint32_t>(leases.size());
    if (leases.empty()) break;
  }
  std::this_thread::sleep_until(start + 2 * kWindow);
}

template <class Visit>
void visit_files(const std::filesystem::path& directory, Visit&& visit) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    visit(entry, file);
    ::close(file);
  }
}

// Has the kernel forget what it keeps in memory of the files.
void drop_caches(const std::filesystem::path& directory) {
  visit_files(directory, [](const auto&, int file) {
    ::fdatasync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  });
}

// Random reads of 8 KiB a second, one after the other, that the disk answers.
double disk_reads(const std::filesystem::path& directory) {
  std::vector<std::pair<std::filesystem::path, std::uint64_t>> tables;
  std::uint64_t bytes = 0;
  visit_files(directory, [&](const auto& entry, int) {
    if (entry.path().extension() != ".sst") return;
    bytes += entry.file_size();
    tables.emplace_back(entry.path(), bytes);
  });
  if (tables.empty()) return 0;
  constexpr std::size_t kBlock = 8192;
  std::vector<char> memory(2 * kBlock);
  Random random(5);
  const Usage before = Usage::now();
  int reads = 0;
  for (; reads < 2000; ++reads) {
    const std::uint64_t at = random.below(bytes);
    const auto table = std::ranges::upper_bound(tables, at, {}, [](auto& t) { return t.second; });
    const int file = ::open(table->first.c_str(), O_RDONLY | O_CLOEXEC);
    const std::uint64_t size = std::filesystem::file_size(table->first);
    const auto offset = static_cast<off_t>(random.below(std::max<std::uint64_t>(size, 1)));
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    if (::pread(file, memory.data(), kBlock, offset) < 0) std::exit(1);
    ::close(file);
  }
  return reads / (Usage::now() - before).wall;
}

void measure(const char* what, const Settings& settings, const EmbeddedOptions& options,
             std::uint64_t pages, bool cold, bool shuffled = false) {
  auto opened = value_or_exit(EmbeddedFrontier::open(options));
  complete_all(*opened, std::min(kOpenedUrls * settings.hosts, pages / 4), settings.threads);
  if (shuffled) shuffle_hosts(*opened, settings.hosts);
  value_or_exit(opened->flush());
  wait_until_quiet();
  if (cold) drop_caches(options.directory);
  const double disk = cold ? disk_reads(options.directory) : 0;
  if (cold) drop_caches(options.directory);
  const Usage before = Usage::now();
  complete_all(*opened, pages, settings.threads);
  value_or_exit(opened->flush());
  const Usage used = Usage::now() - before;
  const auto n = static_cast<double>(pages);
  row(what, "%10.0f leases/s; CPU a lease %.1f us; %.3f reads, %.0f bytes of the disk a lease",
      n / used.wall, 1e6 * used.cpu / n, static_cast<double>(used.reads) / n,
      static_cast<double>(used.from_disk) / n);
  if (cold) row("  the disk, reads of 8 KiB one by one", "%10.0f reads/s", disk);
}

}  // namespace

void bench_refills(const Settings& settings) {
  const UrlMaker maker(settings.hosts);
  const EmbeddedOptions options = default_options(settings);
  std::filesystem::remove_all(options.directory);
  {
    auto frontier = value_or_exit(EmbeddedFrontier::open(options));
    offer_all(*frontier, maker, {.new_urls = settings.urls, .threads = 2});
    wait_until_quiet();
    value_or_exit(frontier->close());
  }
  heading("lease + complete without links, all hosts' queues on the disk, no delay");
  std::printf("  %llu URLs on %u hosts, max_memory %.0f MiB, %u threads\n",
              static_cast<unsigned long long>(settings.urls), settings.hosts,
              in_mib(settings.max_memory), settings.threads);
  const std::uint64_t pages = std::min<std::uint64_t>(settings.urls / 4, 3'000'000);
  measure("warm", settings, options, pages, false);
  measure("cold: nothing in the kernel's cache", settings, options, pages, true);
  measure("cold, the hosts' turns in a random order", settings, options, pages, true, true);
  std::filesystem::remove_all(options.directory);
}

}  // namespace trawl::bench
