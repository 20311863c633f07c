#include "crawler/explain/state_names.h"

namespace trawl {

std::string_view to_string(HostState state) {
  switch (state) {
    case HostState::kActive:
      return "active";
    case HostState::kBlocked:
      return "blocked";
    case HostState::kParked:
      return "given up";
    case HostState::kAtLimit:
      return "at its limit";
  }
  return "";
}

std::string_view to_string(RobotsReason reason) {
  switch (reason) {
    case RobotsReason::kRule:
      return "rule";
    case RobotsReason::kNoRuleMatches:
      return "no rule matches";
    case RobotsReason::kNoGroup:
      return "no group";
    case RobotsReason::kRobotsTxt:
      return "robots.txt";
    case RobotsReason::kWholeSite:
      return "status";
  }
  return "";
}

std::string_view to_string(WaitingState state) {
  switch (state) {
    case WaitingState::kQueued:
      return "queued";
    case WaitingState::kDeferred:
      return "deferred";
    case WaitingState::kHeld:
      return "held";
    case WaitingState::kFailed:
      return "failed";
  }
  return "";
}

std::optional<WaitingState> waiting_state_named(std::string_view name) {
  using enum WaitingState;
  for (const WaitingState state : {kQueued, kDeferred, kHeld, kFailed}) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace trawl
