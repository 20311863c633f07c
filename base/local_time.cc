#include "base/local_time.h"

#include <array>
#include <cstdint>
#include <ctime>

#include <fmt/format.h>

namespace trawl {

namespace {

std::tm in_local_zone(SystemTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

}  // namespace

std::string to_local_time(SystemTime time, SystemTime now) {
  const std::tm local = in_local_zone(time);
  const std::tm today = in_local_zone(now);
  const bool same_day = local.tm_year == today.tm_year && local.tm_yday == today.tm_yday;
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(),
                                         same_day ? "%H:%M:%S %Z" : "%Y-%m-%d %H:%M %Z", &local);
  return {text.data(), size};
}

std::string readable_duration(std::chrono::nanoseconds duration) {
  const double exact = std::chrono::duration<double>(duration).count();
  if (exact <= 0) return "0 s";
  if (exact < 9.95) return fmt::format("{:.1f} s", exact);
  const auto seconds = static_cast<std::uint64_t>(exact + 0.5);
  const auto two = [](std::uint64_t first, const char* unit, std::uint64_t second,
                      const char* smaller) {
    return second == 0 ? fmt::format("{} {}", first, unit)
                       : fmt::format("{} {} {} {}", first, unit, second, smaller);
  };
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return two(seconds / 60, "min", seconds % 60, "s");
  if (seconds < 86'400) return two(seconds / 3600, "h", seconds % 3600 / 60, "min");
  return two(seconds / 86'400, "d", seconds % 86'400 / 3600, "h");
}

}  // namespace trawl
