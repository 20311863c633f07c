// A frontier in an event loop, in C: poll() waits for what becomes due, and never blocks in Trawl.
// Prints the URLs of the command line in the order in which their hosts may be requested.
//
//   event_loop URL...
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <trawl/trawl.h>

static void check(trawl_status status, trawl_error** error) {
  if (status == TRAWL_OK) return;
  fprintf(stderr, "event_loop: %s\n", trawl_error_message(*error));
  exit(1);
}

// Handles what is due now.
static void turn(trawl_frontier* frontier) {
  trawl_error* error = NULL;
  trawl_leases* leases = NULL;
  check(trawl_frontier_lease(frontier, 64, 0, &leases, &error), &error);
  for (size_t i = 0; i < trawl_leases_count(leases); ++i) {
    trawl_lease lease;
    trawl_lease_init(&lease);
    check(trawl_leases_get(leases, i, &lease, &error), &error);
    printf("%.*s\n", (int)lease.url.size, lease.url.data);
    trawl_outcome outcome;
    trawl_outcome_init(&outcome);
    outcome.status = 200;
    check(trawl_frontier_complete(frontier, lease.id, &outcome, NULL, 0, NULL, &error), &error);
  }
  trawl_leases_free(leases);
}

int main(int argc, char** argv) {
  trawl_error* error = NULL;
  trawl_frontier* frontier = NULL;
  trawl_frontier_options options;
  trawl_frontier_options_init(&options);
  options.delay_ms = 100;
  check(trawl_frontier_open_in_memory(&options, &frontier, &error), &error);
  for (int i = 1; i < argc; ++i) {
    const trawl_str url = trawl_str_of(argv[i]);
    uint8_t answer = TRAWL_INVALID;
    check(trawl_frontier_offer_urls(frontier, &url, 1, &answer, 0, &error), &error);
    if (answer == TRAWL_INVALID) fprintf(stderr, "event_loop: not a URL: %s\n", argv[i]);
  }
  struct pollfd wake = {.fd = trawl_frontier_event_fd(frontier, &error), .events = POLLIN};
  if (wake.fd < 0) check(trawl_error_status(error), &error);
  for (;;) {
    turn(frontier);
    trawl_progress progress;
    trawl_progress_init(&progress);
    check(trawl_frontier_progress(frontier, &progress, &error), &error);
    if (progress.at_end) break;
    int64_t wait_ms = -1;  // until the eventfd says so
    check(trawl_frontier_next_due(frontier, &wait_ms, &error), &error);
    if (poll(&wake, 1, (int)(wait_ms < 60000 ? wait_ms : 60000)) > 0) {
      uint64_t count;
      if (read(wake.fd, &count, sizeof count) < 0) perror("event_loop");
    }
  }
  check(trawl_frontier_close(frontier, &error), &error);
  trawl_frontier_free(frontier);
  return 0;
}
