// The main function of trawl.
#include "crawler/cli/command_line.h"

// jemalloc reads this when the program starts, if it is the program's malloc. A thread keeps freed
// blocks for reuse, up to the size of most bodies. What malloc keeps is not counted by
// frontier.max_memory, so there are few arenas, and unused memory is returned to the system after
// two seconds; but by threads that allocate or free, so that an idle program keeps it.
extern "C" {
[[gnu::visibility("default")]] const char* malloc_conf =
    "narenas:2,lg_tcache_max:16,dirty_decay_ms:2000";
}

int main(int argc, char** argv) {
  return trawl::cli::run_command_line(argc, argv);
}
