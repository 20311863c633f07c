// SpoolGuard: no spool is left behind by a build that the user interrupts.
#pragma once

#include <csignal>
#include <string>
#include <thread>

#include "filter/file_io.h"

namespace trawl::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP (those the process does not ignore) first remove the
// spool, which may be many times the size of the memory, and then end the process as they would
// have. Made by the main thread before others are started: they inherit its signal mask.
class SpoolGuard {
 public:
  explicit SpoolGuard(std::string folder);
  ~SpoolGuard();
  SpoolGuard(const SpoolGuard&) = delete;
  SpoolGuard& operator=(const SpoolGuard&) = delete;

 private:
  void watch() const;

  const std::string folder_;
  sigset_t signals_;
  sigset_t mask_before_;
  FileDescriptor taken_;  // reads the signals
  FileDescriptor ended_;  // readable when the guard ends
  std::thread watcher_;
};

}  // namespace trawl::cli
