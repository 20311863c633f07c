// trawl_frontier: a frontier with what the C interface adds, and the values of its calls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/frontier.h"
#include "trawl/lease.h"

#include "bindings/c/call_guard.h"

namespace trawl::c {

// An eventfd; -1 if the system gave none.
class WakeFd {
 public:
  WakeFd() noexcept;
  ~WakeFd();
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  int get() const noexcept { return fd_; }
  // Makes it readable. Never blocks.
  void signal() const noexcept;

 private:
  int fd_;
};

// How often this process is the child of a fork.
std::uint32_t fork_generation() noexcept;

}  // namespace trawl::c

struct trawl_frontier {
  std::unique_ptr<trawl::Frontier> frontier;
  std::uint32_t generation = trawl::c::fork_generation();
  // Shared with the frontier's callback, which may outlive the handle.
  std::shared_ptr<const trawl::c::WakeFd> wake = std::make_shared<trawl::c::WakeFd>();
  std::atomic<bool> watched{false};
  // The calls that offered URLs with TRAWL_NO_WAIT, and how many of these are durable for certain.
  std::atomic<std::uint64_t> offers{0};
  std::atomic<std::uint64_t> durable_offers{0};
};

namespace trawl::c {

// The frontier of a handle that may be used in this process.
tl::expected<Frontier*, Failure> frontier_of(trawl_frontier* handle);

// The progress, with all offers of earlier calls: a frontier sees them when they are durable, and
// must not seem to be at its end before.
Result<Progress> progress_of(trawl_frontier& handle);

// Runs `body(frontier)` for a handle.
template <class Body>
trawl_status with_frontier(trawl_frontier* handle, trawl_error** error, Body&& body) noexcept {
  return guarded(error, [&]() -> Checked {
    const auto frontier = frontier_of(handle);
    if (!frontier) return tl::unexpected(frontier.error());
    return body(**frontier);
  });
}

template <class Value>
Checked checked(const Result<Value>& result) {
  if (!result) return failure(result.error());
  return {};
}

// Times as the interface has them; cut to what the clocks can hold.
SystemTime wall_time(std::int64_t unix_ms) noexcept;
std::int64_t unix_ms(SystemTime time) noexcept;
// Milliseconds and microseconds of a wait, from 0 to kMaxDelay.
std::chrono::milliseconds wait_ms(std::int64_t ms) noexcept;
std::chrono::microseconds wait_us(std::int64_t us) noexcept;
// The time until `when`, rounded up to milliseconds; at least 0.
std::int64_t ms_until(SteadyTime when) noexcept;

// The most URLs of one call that offers some: each takes memory, whatever the count is of.
inline constexpr std::size_t kMaxRequests = std::size_t{1} << 24;
template <class Element>
Checked require_requests(const Element* first, std::size_t count, const char* name) {
  if (auto given = require_array(first, count, name); !given) return given;
  if (count > kMaxRequests)
    return invalid(std::string(name) + ": more than 16777216 in one call: offer them in several");
  return {};
}

// The requests at `requests`, with views of their strings.
tl::expected<std::vector<UrlRequest>, Failure> requests_of(const trawl_request* requests,
                                                           std::size_t count);
std::uint8_t answer_of(Admission admission) noexcept;
void write_answers(const std::vector<Admission>& admissions, std::uint8_t* answers) noexcept;
// NULL is the default outcome.
tl::expected<Outcome, Failure> outcome_of(const trawl_outcome* outcome);

}  // namespace trawl::c
