// trawl: the process.
#include <cstdlib>  // defines __GLIBC__ where it is

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "crawler/cli/command_line.h"

namespace {

// glibc gives each thread an arena of its own and keeps in it what was freed, beside what
// frontier.max_memory counts. Few arenas, and large blocks that go back to the system at once, make
// that bound hold for the process.
void limit_kept_memory() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // Else the pages of memory that each body takes are given back and asked for again.
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  limit_kept_memory();
  return trawl::cli::run_command_line(argc, argv);
}
