#include "bench/process_usage.h"

#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl::bench {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Usage Usage::now() {
  Usage usage;
  usage.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  rusage resources{};
  ::getrusage(RUSAGE_SELF, &resources);
  usage.cpu = seconds(resources.ru_utime) + seconds(resources.ru_stime);
  std::ifstream io("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; io >> name >> value;) {
    if (name == "syscr:") usage.reads = value;
    if (name == "read_bytes:") usage.from_disk = value;
    if (name == "wchar:") usage.written = value;
    if (name == "write_bytes:") usage.to_disk = value;
  }
  return usage;
}

Usage Usage::operator-(const Usage& before) const {
  return {.wall = wall - before.wall,
          .cpu = cpu - before.cpu,
          .reads = reads - before.reads,
          .from_disk = from_disk - before.from_disk,
          .written = written - before.written,
          .to_disk = to_disk - before.to_disk};
}

Usage wait_until_quiet() {
  constexpr auto kStep = std::chrono::milliseconds(50);
  constexpr int kQuietSteps = 10;
  constexpr int kMaxSteps = 6000;
  constexpr double kIdleCpu = 0.003;  // per step, for measuring and timers
  Usage last = Usage::now();
  Usage busy = last;
  for (int step = 0, quiet = 0; step < kMaxSteps && quiet < kQuietSteps; ++step) {
    std::this_thread::sleep_for(kStep);
    const Usage now = Usage::now();
    const bool worked = now.written != last.written || now.cpu - last.cpu > kIdleCpu;
    quiet = worked ? 0 : quiet + 1;
    if (worked) busy = now;
    last = now;
  }
  return busy;
}

Resident resident_bytes() {
  std::ifstream memory("/proc/self/statm");
  std::uint64_t all = 0, mapped = 0;
  memory >> all >> all >> mapped;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {.own = (all - mapped) * page, .mapped = mapped * page};
}

DiskUsage disk_usage(const std::filesystem::path& directory) {
  DiskUsage usage;
  std::error_code error;  // files may vanish while they are counted
  for (auto entry = std::filesystem::recursive_directory_iterator(directory, error);
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    struct stat status {};
    if (::lstat(entry->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::uint64_t bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    const auto kind = entry->path().extension();
    (kind == ".sst" ? usage.tables : kind == ".log" ? usage.logs : usage.other) += bytes;
  }
  return usage;
}

}  // namespace trawl::bench
