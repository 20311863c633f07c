#include "crawler/state/free_space_guard.h"

#include <limits>
#include <utility>

#include <fmt/format.h>
#include <sys/statvfs.h>

#include "crawler/config/config_values.h"

namespace trawl {

std::optional<std::uint64_t> free_space_of(const std::filesystem::path& path) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return std::nullopt;
  return std::uint64_t{found.f_bavail} * found.f_frsize;
}

FreeSpaceGuard::FreeSpaceGuard(std::vector<std::filesystem::path> paths, std::uint64_t min_free,
                               std::chrono::milliseconds wait, FreeSpace free_space)
    : paths_(std::move(paths)),
      min_free_(min_free),
      wait_(wait),
      free_space_(std::move(free_space)) {}

void FreeSpaceGuard::set(std::uint64_t min_free, std::chrono::milliseconds wait) {
  min_free_ = min_free;
  wait_ = wait;
  looked_.reset();
}

FreeSpaceGuard::Step FreeSpaceGuard::check(SteadyTime now) {
  if (looked_ && now - *looked_ < kInterval) return Step::kNone;
  looked_ = now;
  least_ = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; min_free_ > 0 && i < paths_.size(); ++i) {
    const auto free = free_space_(paths_[i]);
    if (!free || *free >= least_) continue;
    least_ = *free;
    least_of_ = i;
  }
  if (least_ >= min_free_) return std::exchange(since_, std::nullopt) ? Step::kGoOn : Step::kNone;
  if (!since_) {
    since_ = now;
    return wait_.count() == 0 ? Step::kGiveUp : Step::kPause;
  }
  return now - *since_ >= wait_ ? Step::kGiveUp : Step::kNone;
}

std::string FreeSpaceGuard::what() const {
  // In whole MiB, or as it is if there is less than one.
  constexpr std::uint64_t kMiB = 1u << 20;
  const std::uint64_t shown = least_ < kMiB ? least_ : least_ / kMiB * kMiB;
  return fmt::format("{} are free on the disk of {}, less than output.min_free = {}",
                     format_size(shown), paths_[least_of_].string(), format_size(min_free_));
}

}  // namespace trawl
