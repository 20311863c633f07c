// What `trawl` exits with.
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
  kIncomplete = 5,    // nothing came back, no seed did, or hosts are parked with URLs queued
  kInterrupted = 11,  // and resumable
  kForced = 13,       // ended at once, by a third signal
  kSizeLimit = 14,    // scope.max_bytes was reached
  kTimeLimit = 15,    // scope.max_time was
};

inline ExitCode exit_code_of(const Error& error) {
  return error.code == ErrorCode::kNoSpace ? kOutOfSpace : kFailed;
}

// Prints why a command failed; returns what to exit with.
inline int report(const Error& error) {
  say(stderr, "trawl: {}\n", error.message);
  return exit_code_of(error);
}

// The same for commands whose exit codes are those of grep: 0 and 1 are answers, 2 is trouble.
inline constexpr int kTrouble = 2;
inline int report_trouble(const Error& error) {
  report(error);
  return kTrouble;
}

// Prints what is wrong with the arguments; returns what to exit with.
inline int usage_error(std::string_view message) {
  say(stderr, "trawl: {}\n", message);
  return kUsage;
}

}  // namespace trawl::cli
