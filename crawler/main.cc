// The main function of trawl.
#include <cstdlib>  // defines __GLIBC__ if the C library is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "crawler/cli/command_line.h"

namespace {

// glibc gives each thread an arena of its own and keeps freed memory in it, which
// frontier.max_memory does not count. With few arenas, and large blocks returned to the system when
// freed, that bound holds for the process.
void limit_kept_memory() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // Otherwise the memory of each body is returned to the system and requested again.
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  limit_kept_memory();
  return trawl::cli::run_command_line(argc, argv);
}
