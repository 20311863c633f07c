// The exit codes of `trawl`.
#pragma once

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

#include "trawl/result.h"

#include "crawler/cli/say.h"

namespace trawl::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kOutOfSpace = 3,
  kBadConfig = 4,
  kIncomplete = 5,    // nothing or no seed was fetched, or hosts are parked with URLs queued
  kInterrupted = 11,  // and resumable
  kForced = 13,       // killed by a third signal
  kSizeLimit = 14,    // scope.max_bytes was reached
  kTimeLimit = 15,    // scope.max_time was reached
};

inline ExitCode exit_code_of(const Error& error) {
  return error.code == ErrorCode::kNoSpace ? kOutOfSpace : kFailed;
}

// Prints why a command failed; returns the exit code.
inline int report(const Error& error) {
  say(stderr, "trawl: {}\n", error.message);
  return exit_code_of(error);
}

// The same for commands with grep's exit codes: 0 and 1 are answers, 2 is an error.
inline constexpr int kTrouble = 2;
inline int report_trouble(const Error& error) {
  report(error);
  return kTrouble;
}

// Prints what is wrong with the arguments; returns the exit code.
inline int usage_error(std::string_view message) {
  say(stderr, "trawl: {}\n", message);
  return kUsage;
}

}  // namespace trawl::cli
