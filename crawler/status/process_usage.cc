#include "crawler/status/process_usage.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace trawl {

namespace {

void read_stat(ProcessUsage& usage) {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The name of the program, in parentheses, may have spaces.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(text.substr(name_end + 1));
  const std::vector<std::string> field{std::istream_iterator<std::string>(fields), {}};
  if (field.size() < 22) return;
  const double tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto number = [&field](std::size_t i) {
    return std::strtoull(field[i].c_str(), nullptr, 10);
  };
  usage.cpu_seconds = static_cast<double>(number(11) + number(12)) / tick;
  usage.threads = number(17);
  usage.virtual_memory = number(20);
  usage.resident = number(21) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  double up = 0;
  std::ifstream("/proc/uptime") >> up;
  const double age = up - static_cast<double>(number(19)) / tick;
  usage.started =
      std::chrono::system_clock::now() -
      std::chrono::duration_cast<SystemTime::duration>(std::chrono::duration<double>(age));
}

}  // namespace

ProcessUsage ProcessUsage::now() {
  ProcessUsage usage;
  read_stat(usage);
  rusage own{};
  if (::getrusage(RUSAGE_SELF, &own) == 0)
    usage.peak_resident = static_cast<std::uint64_t>(own.ru_maxrss) * 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.max_files = limit.rlim_cur;
  std::error_code failure;
  for (std::filesystem::directory_iterator it("/proc/self/fd", failure), end; !failure && it != end;
       it.increment(failure))
    ++usage.open_files;
  return usage;
}

std::optional<std::uint64_t> free_disk_space(const std::filesystem::path& directory) {
  struct statvfs found {};
  if (::statvfs(directory.c_str(), &found) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(found.f_bavail) * found.f_frsize;
}

}  // namespace trawl
