// The clock of leases goes on while the machine is suspended.
#include "frontier/shared/boot_clock.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::steady_clock;

static_assert(!std::is_convertible_v<steady_clock::time_point, BootTime>);

bool writes(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// How far the boot clock is ahead of the steady one, in hours.
std::int64_t hours_ahead() {
  return std::chrono::round<hours>(BootClock::now().time_since_epoch() -
                                   steady_clock::now().time_since_epoch())
      .count();
}

// A machine that was suspended for 1,000 hours is one whose CLOCK_BOOTTIME is so far ahead of
// CLOCK_MONOTONIC. Linux has namespaces in which it is. Exits with 0 if the clock shows it.
[[noreturn]] void measure_after_a_suspension(std::int64_t before) {
  const auto uid = ::getuid(), gid = ::getgid();
  if (::unshare(CLONE_NEWTIME) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) ::_exit(2);
    writes("/proc/self/setgroups", "deny");
    if (!writes("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1")) ::_exit(2);
    if (!writes("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1")) ::_exit(2);
  }
  if (!writes("/proc/self/timens_offsets", "boottime 3600000 0")) ::_exit(2);
  const pid_t child = ::fork();  // children live in the namespace
  if (child == 0) ::_exit(hours_ahead() == before + 1000 ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

TEST(BootClock, GoesOnWhileTheMachineIsSuspended) {
  const std::int64_t before = hours_ahead();
  const pid_t child = ::fork();
  if (child == 0) measure_after_a_suspension(before);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "time namespaces are not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace trawl
