// TroubleReport: reports once what goes wrong again and again, and when it is over.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "trawl/result.h"

#include "frontier/shared/boot_clock.h"

namespace trawl {

// While there is trouble, each kind of it is reported once: all failures to reach a service are one
// kind, others differ by their messages. Not thread-safe.
class TroubleReport {
 public:
  // `over` is called after `quiet` without trouble.
  TroubleReport(std::function<void(const Error&)> trouble, std::function<void()> over,
                std::chrono::milliseconds quiet)
      : trouble_(std::move(trouble)), over_(std::move(over)), quiet_(quiet) {}

  void add(const Error& error, BootTime now) {
    last_ = now;
    const bool is_away = error.code == ErrorCode::kUnavailable;
    if (reported_.size() >= kMost) return;
    if (reported_.insert(is_away ? std::string() : error.message).second) trouble_(error);
  }
  // To be called from time to time.
  void look(BootTime now) {
    if (!last_ || now - *last_ < quiet_) return;
    last_.reset();
    reported_.clear();
    over_();
  }
  bool has_trouble() const noexcept { return last_.has_value(); }

 private:
  static constexpr std::size_t kMost = 20;  // kinds

  const std::function<void(const Error&)> trouble_;
  const std::function<void()> over_;
  const std::chrono::milliseconds quiet_;
  std::optional<BootTime> last_;
  std::set<std::string> reported_;
};

}  // namespace trawl
