// SpoolGuard: a build that the user interrupts leaves nothing behind.
#pragma once

#include <csignal>
#include <string>
#include <thread>

#include "base/file_io.h"

namespace trawl::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP (those the process does not ignore) wait until it is
// armed; then they remove the files in the making, and a spool, which may be many times the size of
// the memory, and end the process as they would have. Made by the main thread before others are
// started: they inherit its signal mask.
class SpoolGuard {
 public:
  SpoolGuard();
  ~SpoolGuard();
  // Once, at most. `spool` is a folder that the process has locked; empty if there is none.
  void arm(std::string spool = {});
  SpoolGuard(const SpoolGuard&) = delete;
  SpoolGuard& operator=(const SpoolGuard&) = delete;

 private:
  void watch() const;

  std::string spool_;
  sigset_t signals_;
  sigset_t mask_before_;
  bool blocked_ = false;
  FileDescriptor taken_;  // reads the signals
  FileDescriptor ended_;  // readable when the guard ends
  std::thread watcher_;
};

}  // namespace trawl::cli
