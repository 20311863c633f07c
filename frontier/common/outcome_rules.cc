#include "frontier/common/outcome_rules.h"

#include <algorithm>

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Without host_failures a host is given up after a silence of kSilentWaits times the longest
// backoff, and of at least kShortestSilence.
constexpr int kSilentWaits = 6;
constexpr std::chrono::minutes kShortestSilence(1);

}  // namespace

bool makes_host_back_off(FailureReason reason) {
  switch (reason) {
    case FailureReason::kTimeout:
    case FailureReason::kConnection:
    case FailureReason::kTooManyRequests:
    case FailureReason::kUnavailable:
    case FailureReason::kNoSuchHost:
      return true;
    case FailureReason::kServerError:
    case FailureReason::kPermanent:
      break;
  }
  return false;
}

bool is_transient(FailureReason reason) {
  return reason != FailureReason::kPermanent && reason != FailureReason::kNoSuchHost;
}

std::string_view to_string(FailureReason reason) {
  switch (reason) {
    case FailureReason::kTimeout:
      return "no answer in time";
    case FailureReason::kConnection:
      return "no connection";
    case FailureReason::kTooManyRequests:
      return "too many requests";
    case FailureReason::kUnavailable:
      return "service unavailable";
    case FailureReason::kServerError:
      return "the server failed";
    case FailureReason::kNoSuchHost:
      return "the host does not exist";
    case FailureReason::kPermanent:
      break;
  }
  return "failed";
}

bool has_succeeded(const Outcome& outcome) {
  const int status = outcome.status;
  return outcome.requested && ((status >= 200 && status < 300) || status == 304);
}

bool has_failed(const Outcome& outcome) {
  return !outcome.error.empty() || outcome.status >= 400;
}

std::string_view reason_of(const Outcome& outcome) {
  if (!outcome.reason.empty()) return outcome.reason;
  return outcome.status >= 400 ? "status" : "failed";
}

milliseconds retry_wait(const RetryOptions& options, std::uint32_t attempts,
                        std::optional<milliseconds> retry_after) {
  milliseconds wait = options.retry_delay;
  for (std::uint32_t i = 0; i < attempts && wait < options.max_retry_delay; ++i)
    wait *= 2;
  wait = std::min(wait, options.max_retry_delay);
  return retry_after ? std::max(wait, std::min(*retry_after, kMaxDelay)) : wait;
}

bool is_too_silent(const RetryOptions& options, std::optional<SteadyTime> since, SteadyTime now) {
  const milliseconds wait =
      options.host_backoff.count() > 0 ? options.max_host_backoff : milliseconds(0);
  return since && now - *since >= std::max<milliseconds>(kSilentWaits * wait, kShortestSilence);
}

}  // namespace trawl
