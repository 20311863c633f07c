// To be preloaded (LD_PRELOAD) into a program whose wall clock a test sets: the clock is that many
// seconds off as the file named by TRAWL_TEST_WALL_CLOCK has in its first 8 bytes. All other clocks
// are left alone. Nobody can do that to the real clock without doing it to the whole machine.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using Offset = std::atomic<std::int64_t>;
static_assert(Offset::is_always_lock_free);

const Offset* map_offset() {
  const char* path = std::getenv("TRAWL_TEST_WALL_CLOCK");
  const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file == -1) std::abort();
  void* mapped = mmap(nullptr, sizeof(Offset), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) std::abort();
  return static_cast<const Offset*>(mapped);
}

std::int64_t offset() {
  static const Offset* mapped = map_offset();
  return mapped->load(std::memory_order_relaxed);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += offset();
  return result;
}

int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* time) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}

// The kernel compares with the clock that nobody set.
int pthread_cond_timedwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                           const timespec* __restrict until) {
  timespec real = *until;
  real.tv_sec -= offset();
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &real);
}

}  // extern "C"
