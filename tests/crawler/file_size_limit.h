// FileSizeLimit: makes files of this process end at some size, as a full disk would.
#pragma once

#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace trawl::test {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &now) != 0) ADD_FAILURE() << "cannot limit the size of files";
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace trawl::test
