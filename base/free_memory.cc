#include "base/free_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include <unistd.h>

namespace trawl {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_of(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return std::nullopt;
  text.remove_prefix(begin);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;  // "max"
  return number;
}

// The number after `name` at the beginning of a line; without a name, the number of the first line.
std::optional<std::uint64_t> number_in(const std::string& path, std::string_view name = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return number_of(std::string_view(line).substr(name.size()));
  }
  return std::nullopt;
}

std::uint64_t machine_memory() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* active;  // names in memory.stat
  const char* inactive;
};
constexpr GroupFiles kVersion2{"/memory.max", "/memory.current", "active_file ", "inactive_file "};
constexpr GroupFiles kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_active_file ", "total_inactive_file "};

std::uint64_t left_in_group(const std::string& folder, const GroupFiles& files) {
  const auto limit = number_in(folder + files.limit);
  const auto usage = number_in(folder + files.usage);
  if (!limit || !usage) return kUnlimited;
  const std::string statistics = folder + "/memory.stat";
  const std::uint64_t cached = number_in(statistics, files.active).value_or(0) +
                               number_in(statistics, files.inactive).value_or(0);
  const std::uint64_t taken = *usage - std::min(*usage, cached);
  return *limit - std::min(*limit, taken);
}

// A group's limit applies to the groups inside it. In a container the process's path may be the
// path outside of the container, while the mounted folder is the process's own group.
std::uint64_t left_in_groups(const std::string& mounted, std::string group,
                             const GroupFiles& files) {
  std::uint64_t left = left_in_group(mounted, files);
  for (; group.size() > 1; group.resize(group.rfind('/')))
    left = std::min(left, left_in_group(mounted + group, files));
  return left;
}

// For a line "hierarchy:controllers:path" of /proc/self/cgroup.
std::uint64_t left_by_line(const std::string& root, const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == line.npos || second == line.npos) return kUnlimited;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const std::string group = line.substr(second + 1);
  if (!group.starts_with('/')) return kUnlimited;
  if (controllers == ",,") return left_in_groups(root + "/sys/fs/cgroup", group, kVersion2);
  if (controllers.find(",memory,") == controllers.npos) return kUnlimited;
  return left_in_groups(root + "/sys/fs/cgroup/memory", group, kVersion1);
}

}  // namespace

std::uint64_t free_memory(const std::string& root) {
  const auto available = number_in(root + "/proc/meminfo", "MemAvailable:");
  std::uint64_t free = available ? *available * 1024 : machine_memory();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);)
    free = std::min(free, left_by_line(root, line));
  return free;
}

}  // namespace trawl
