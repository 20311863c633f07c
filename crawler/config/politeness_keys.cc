// The keys of [politeness].
#include <vector>

#include "crawler/config/config_key_types.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

using namespace std::chrono_literals;
using config_key::boolean;
using config_key::duration;
using config_key::integer;

constexpr auto kDay = 24h;

void add_delays(std::vector<ConfigKey>& keys) {
  keys.push_back(duration("politeness.delay", 0ms, kDay, TRAWL_FIELD(politeness.delay),
                          "the time between the starts of two requests to one host"));
  keys.push_back(duration("politeness.domain_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.domain_delay),
                          "the same for the hosts of a registrable domain together"));
  keys.push_back(duration("politeness.ip_delay", 0ms, kDay, TRAWL_FIELD(politeness.ip_delay),
                          "the same for the hosts at an IP address together, whatever is asked of "
                          "them; not for requests over a proxy that looks up names itself"));
  keys.push_back(config_key::factor(
      "politeness.adaptive_delay", 1000, TRAWL_FIELD(politeness.adaptive_delay),
      "a host's delay is at least so many times its response time of late; 0: no such delay"));
  keys.push_back(duration("politeness.max_adaptive_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.max_adaptive_delay),
                          "the longest delay that a slow host gets on that account"));
  keys.push_back(integer("politeness.per_host_connections", "requests", 1, 1024,
                         TRAWL_FIELD(politeness.per_host_connections),
                         "how many requests to one host may be under way at once"));
}

void add_robots(std::vector<ConfigKey>& keys) {
  keys.push_back(boolean("politeness.respect_robots", TRAWL_FIELD(politeness.respect_robots),
                         "obey robots.txt"));
  keys.push_back(duration("politeness.max_crawl_delay", 0ms, kDay,
                          TRAWL_FIELD(politeness.max_crawl_delay),
                          "the longest Crawl-delay of a robots.txt that is obeyed; a longer one is "
                          "taken for this"));
  keys.push_back(integer("politeness.robots_retries", "requests", 0, 100,
                         TRAWL_FIELD(politeness.robots_retries),
                         "how often a robots.txt that cannot be fetched is asked for again before "
                         "its host is parked; politeness.host_failures holds for it, too"));
  keys.push_back(duration("politeness.robots_backoff", 0ms, kDay,
                          TRAWL_FIELD(politeness.robots_backoff),
                          "the wait before it is asked for again; twice as long each time, and at "
                          "least what its Retry-After says"));
  keys.push_back(duration("politeness.robots_max_age", 1ms, kDay,
                          TRAWL_FIELD(politeness.robots_max_age),
                          "how long a robots.txt is obeyed before it is fetched again; shorter if "
                          "its Cache-Control says so"));
}

void add_backoff(std::vector<ConfigKey>& keys) {
  keys.push_back(duration("politeness.host_backoff", 0ms, kDay,
                          TRAWL_FIELD(politeness.host_backoff),
                          "how long a host that fails (429, 503, no answer, no connection) is left "
                          "alone; twice as long after each failure in a row, half of it random, "
                          "and at least what Retry-After says"));
  keys.push_back(duration("politeness.max_host_backoff", 0ms, 7 * kDay,
                          TRAWL_FIELD(politeness.max_host_backoff), "the longest such wait"));
  keys.push_back(
      duration("politeness.max_retry_after", 0ms, 7 * kDay, TRAWL_FIELD(politeness.max_retry_after),
               "the longest Retry-After that is heeded; a longer one is taken for this"));
  keys.push_back(integer(
      "politeness.host_failures", "failures", 0, 1'000'000, TRAWL_FIELD(politeness.host_failures),
      "a host that fails so often in a row is parked: the URLs it has left stay "
      "queued, but are not fetched in this run; 0: only one that answered before "
      "and is silent for six times max_host_backoff and at least a minute"));
  keys.push_back(duration("politeness.park_time", 0ms, 30 * kDay, TRAWL_FIELD(politeness.park_time),
                          "how long a parked host is left alone in a crawl that goes on; the next "
                          "run asks it again in any case; 0: only that"));
}

}  // namespace

void add_politeness_keys(std::vector<ConfigKey>& keys) {
  add_delays(keys);
  add_robots(keys);
  add_backoff(keys);
}

}  // namespace trawl
