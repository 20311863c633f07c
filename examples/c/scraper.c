// A scraper on Trawl's frontier, in C: fetches each page once, keeps the delay of each host, and
// loses nothing when it is killed. Run it, kill -9 it, run it again: it continues.
//
//   scraper [STATE_DIRECTORY]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trawl/trawl.h>

static void check(trawl_status status, trawl_error** error) {
  if (status == TRAWL_OK) return;
  fprintf(stderr, "scraper: %s\n", trawl_error_message(*error));
  exit(1);
}

// A substitute for HTTP: page n links to the pages 2n + 1, 2n + 2 and 7n, and every tenth page
// answers its first request with 500. Returns the status, and writes the links to `urls`.
static int fetch(const trawl_lease* lease, char urls[3][64], trawl_request* links, size_t* count) {
  char url[64] = "";
  memcpy(url, lease->url.data, lease->url.size < 63 ? lease->url.size : 63);
  const int page = atoi(strrchr(url, '/') + 1);
  *count = 0;
  if (page % 10 == 9 && lease->attempts == 0) return 500;
  const int targets[3] = {2 * page + 1, 2 * page + 2, 7 * page % 5000};
  for (int i = 0; i < 3; ++i) {
    if (targets[i] >= 5000) continue;
    snprintf(urls[i], 64, "https://host%d.example/%d", targets[i] % 50, targets[i]);
    trawl_request_init(&links[*count]);
    links[*count].url = trawl_str_of(urls[i]);
    links[(*count)++].depth = lease->depth + 1;
  }
  return 200;
}

static void scrape(trawl_frontier* frontier, const trawl_lease* lease) {
  char urls[3][64];
  trawl_request links[3];
  size_t count = 0;
  trawl_error* error = NULL;
  trawl_outcome outcome;
  trawl_outcome_init(&outcome);
  outcome.status = fetch(lease, urls, links, &count);
  printf("%d %.*s\n", outcome.status, (int)lease->url.size, lease->url.data);
  fflush(stdout);
  check(outcome.status >= 500
            ? trawl_frontier_fail(frontier, lease->id, TRAWL_SERVER_ERROR, -1, NULL, NULL, &error)
            : trawl_frontier_complete(frontier, lease->id, &outcome, links, count, NULL, &error),
        &error);
}

int main(int argc, char** argv) {
  trawl_error* error = NULL;
  trawl_frontier* frontier = NULL;
  trawl_frontier_options options;
  trawl_frontier_options_init(&options);
  options.directory = trawl_str_of(argc > 1 ? argv[1] : "scraper-state");
  options.delay_ms = 1;
  options.retry_delay_ms = 50;
  options.max_open_leases = 200;
  check(trawl_frontier_open(&options, &frontier, &error), &error);
  const trawl_str seed = trawl_str_of("https://host0.example/0");  // seen if this run continues
  check(trawl_frontier_offer_urls(frontier, &seed, 1, NULL, 0, &error), &error);
  for (size_t count = 1; count > 0;) {  // none: the end is reached
    trawl_leases* leases = NULL;
    check(trawl_frontier_lease(frontier, 16, -1, &leases, &error), &error);
    count = trawl_leases_count(leases);
    for (size_t i = 0; i < count; ++i) {
      trawl_lease lease;
      trawl_lease_init(&lease);
      check(trawl_leases_get(leases, i, &lease, &error), &error);
      scrape(frontier, &lease);
    }
    trawl_leases_free(leases);
  }
  check(trawl_frontier_close(frontier, &error), &error);
  trawl_frontier_free(frontier);
  puts("done");
}
