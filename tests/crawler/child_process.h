// ended_by: runs a function in a process of its own, and how that ended.
#pragma once

#include <csignal>
#include <cstdlib>
#include <functional>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sanitized.h"

namespace trawl::test {

#ifdef TRAWL_SANITIZED
inline constexpr bool kSanitized = true;  // crashes end as the sanitizer wants them to
#else
inline constexpr bool kSanitized = false;
#endif

// As waitpid() has it. A function that returns ends the process with 0.
inline int ended_by(const std::function<void()>& function) {
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    function();
    ::_exit(0);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) std::abort();
  return status;
}

inline bool died_of(int status, int signal) {
  return kSanitized || (WIFSIGNALED(status) && WTERMSIG(status) == signal);
}

}  // namespace trawl::test
