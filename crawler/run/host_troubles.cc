#include "crawler/run/host_troubles.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/local_time.h"

namespace trawl {

namespace {

std::string failing_line(const HostTrouble& trouble, std::string_view details) {
  const SystemTime now = SystemTime::clock::now();
  const std::string row =
      trouble.failures > 1 ? fmt::format(", {} failures in a row", trouble.failures) : "";
  if (trouble.parked) {
    return fmt::format(
        "{}: host parked {}, its queue is kept{}; last failure: {}", trouble.host,
        trouble.until ? "until " + to_local_time(*trouble.until, now) : "for the rest of this run",
        row, details);
  }
  if (!trouble.until) return fmt::format("{}: fails{}: {}", trouble.host, row, details);
  return fmt::format("{}: fails{}: {}; next try at {}, in {}", trouble.host, row, details,
                     to_local_time(*trouble.until, now), readable_duration(*trouble.until - now));
}

bool comes_before(const HostTrouble& one, const HostTrouble& other) {
  constexpr SystemTime kNever = SystemTime::max();
  const SystemTime first = one.until.value_or(kNever);
  const SystemTime second = other.until.value_or(kNever);
  return first != second ? first < second : one.host < other.host;
}

}  // namespace

// Null: there is no room.
HostTroubles::Entry* HostTroubles::entry_of(const std::string& host) {
  if (const auto found = hosts_.find(host); found != hosts_.end()) return &found->second;
  if (hosts_.size() >= kMostHosts && failing_hosts_ < hosts_.size())
    std::erase_if(hosts_, [](const auto& each) { return each.second.trouble.failures == 0; });
  if (hosts_.size() >= kMostHosts) return nullptr;
  Entry& entry = hosts_[host];
  entry.trouble.host = host;
  return &entry;
}

bool HostTroubles::may_log(Clock::time_point now) {
  if (lines_ >= kLinesAMinute && now < minute_ + std::chrono::minutes(1)) {
    ++left_out_;
    return false;
  }
  if (now >= minute_ + std::chrono::minutes(1)) {
    minute_ = now;
    lines_ = 0;
  }
  ++lines_;
  return true;
}

void HostTroubles::failed(const std::string& host, std::string_view why, std::string_view details,
                          std::optional<SystemTime> until, bool parked) {
  std::string line;
  {
    const MutexLock lock(mutex_);
    Entry* const entry = entry_of(host);
    if (entry == nullptr) return;
    HostTrouble& trouble = entry->trouble;
    const bool begins = trouble.failures == 0;
    const bool is_parked_now = parked && !trouble.parked;
    ++trouble.failures;
    trouble.why = why;
    trouble.until = until;
    trouble.parked |= parked;
    if (begins) {
      ++failing_hosts_;
      failing_.store(failing_hosts_, std::memory_order_relaxed);
    }
    const auto now = Clock::now();
    const bool quiet = entry->logged && now < *entry->logged + kQuietTime;
    if ((is_parked_now || (begins && !quiet)) && may_log(now)) {
      entry->logged = now;
      line = failing_line(trouble, details);
    }
  }
  if (!line.empty()) log_(line);
}

void HostTroubles::recovered(const std::string& host) {
  std::string line;
  {
    const MutexLock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end() || found->second.trouble.failures == 0) return;
    HostTrouble& trouble = found->second.trouble;
    // One failure alone is not worth a second line.
    if ((trouble.failures > 1 || trouble.parked) && may_log(Clock::now())) {
      line = fmt::format("{}: answers again, after {} failure{} in a row", host, trouble.failures,
                         trouble.failures == 1 ? "" : "s");
    }
    trouble = {.host = host, .why = {}};
    --failing_hosts_;
    failing_.store(failing_hosts_, std::memory_order_relaxed);
  }
  if (!line.empty()) log_(line);
}

void HostTroubles::log_left_out() {
  std::uint64_t left_out = 0;
  {
    const MutexLock lock(mutex_);
    if (left_out_ == 0 || Clock::now() < minute_ + std::chrono::minutes(1)) return;
    left_out = std::exchange(left_out_, 0);
  }
  log_(
      fmt::format("{} more lines about hosts that fail or answer again were left out in the last "
                  "minute",
                  left_out));
}

std::optional<HostTrouble> HostTroubles::of(const std::string& host) const {
  if (count() == 0) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || found->second.trouble.failures == 0) return std::nullopt;
  return found->second.trouble;
}

std::vector<HostTrouble> HostTroubles::first(std::size_t limit) const {
  std::vector<HostTrouble> troubles;
  if (count() == 0) return troubles;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, entry] : hosts_)
      if (entry.trouble.failures > 0) troubles.push_back(entry.trouble);
  }
  const auto kept = static_cast<std::ptrdiff_t>(std::min(limit, troubles.size()));
  std::partial_sort(troubles.begin(), troubles.begin() + kept, troubles.end(), comes_before);
  troubles.resize(static_cast<std::size_t>(kept));
  return troubles;
}

}  // namespace trawl
