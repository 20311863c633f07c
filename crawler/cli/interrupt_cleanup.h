// InterruptCleanup: removes the files of a build that the user interrupts.
#pragma once

#include <csignal>
#include <string>
#include <thread>

#include "base/file_io.h"

namespace trawl::cli {

// While a guard exists, SIGINT, SIGTERM and SIGHUP (except those the process ignores) are delayed
// until it is armed. Then they remove unfinished files and the spool, which may be many times
// larger than memory, and end the process as usual. Create it in the main thread before other
// threads are started, which inherit its signal mask.
class InterruptCleanup {
 public:
  InterruptCleanup();
  ~InterruptCleanup();
  // Call at most once. `spool`: a directory that the process has locked; empty if there is none.
  void arm(std::string spool = {});
  InterruptCleanup(const InterruptCleanup&) = delete;
  InterruptCleanup& operator=(const InterruptCleanup&) = delete;

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
