// RobotsCache: the robots.txt rules of each origin that a fetcher thread knows, and when to request
// them again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trawl/robots.h"

#include "base/one_thread.h"
#include "crawler/http/http_client.h"

namespace trawl {

// The meaning of a response to a request for robots.txt (RFC 9309 section 2.3.1): its rules, or no
// rules for any 4xx except 429. Absent if the site must not be fetched now (429, 5xx, no response);
// `reason` says why.
struct RobotsVerdict {
  std::optional<Robots> robots;
  std::string reason;
};
RobotsVerdict read_robots_response(const HttpResponse& response);

// The max-age of a Cache-Control header (RFC 9111 section 5.2.2); absent if it sets none.
// "no-store" and "no-cache" count as 0.
std::optional<std::chrono::seconds> max_age(std::string_view cache_control);

struct RobotsCacheOptions {
  // Limits of origins kept, at least 1, and of their approximate memory; see RobotsCache.
  std::size_t capacity = 20'000;
  std::size_t max_memory = std::size_t{64} << 20;
  // A robots.txt that cannot be fetched is retried this many times; the first wait is `backoff`,
  // each further wait twice as long.
  std::uint32_t retries = 4;
  std::chrono::milliseconds backoff{1000};
  // Longer Retry-After values count as this.
  std::chrono::milliseconds longest_retry_after = std::chrono::hours(1);
  // Rules are used for as long as Cache-Control says, at most a day (RFC 9309 section 2.4), and
  // longer while they cannot be fetched again.
  std::chrono::milliseconds longest_age = std::chrono::hours(24);
  // Rules that must not be cached are still used for this time, so that not every page requests
  // robots.txt.
  std::chrono::milliseconds uncached_age = std::chrono::minutes(5);
  std::uint32_t seed = std::random_device{}();  // for the random part of each wait
};

// What may be done now with URLs of an origin.
struct RobotsAnswer {
  enum class Action : std::uint8_t {
    kObey,   // obey `rules`, which may be old if they cannot be fetched again
    kFetch,  // request `ask_for`, then store() the response
    kWait,   // wait until `ask_at`
    kFail,   // robots.txt failed too often; not requested before `ask_at`
  };
  using Time = std::chrono::steady_clock::time_point;

  Action action = Action::kFetch;
  const Robots* rules = nullptr;
  Time ask_at{};                           // when to request robots.txt again
  std::string_view reason = {};            // for kWait and kFail
  std::optional<FetchError> failure = {};  // likewise; nothing: there was an answer
  bool no_such_host = false;               // likewise: HttpResponse::no_such_host
  std::string ask_for = {};                // the URL of robots.txt, or the last redirect target
};

// Keeps the most recently used origins within the limits of its options, and the last one in any
// case. Origins that URLs wait for are kept regardless of their number: from kFetch on until their
// rules were stored and used, or fetching failed for good. They count against max_memory, and alone
// may exceed it: by the rules received within a delay of their hosts, and by about 1 KB (3 KB with
// a long redirect) for each origin whose robots.txt is being redirected or requested again, of
// which there are no more than hosts with URLs in the frontier's memory. For one thread.
class RobotsCache {
 public:
  using Action = RobotsAnswer::Action;
  using Time = RobotsAnswer::Time;

  explicit RobotsCache(const RobotsCacheOptions& options);

  // Looks an origin ("http://example.com:8080") up. Pointers in the answer are valid until the next
  // call.
  RobotsAnswer find(const std::string& origin, Time now);
  // Takes the response to the request that find() asked for. Answers kFetch for a redirect: the
  // caller calls find() again at the host's next turn, and that returns the target.
  RobotsAnswer store(const std::string& origin, const HttpResponse& response, Time now);
  // The longest Crawl-delay in the rules of a host queue's origins (politeness_group()); 0 if there
  // is none. Does not count as a use of the rules.
  std::chrono::milliseconds crawl_delay(std::string_view host, std::string_view agent);
  // Whether an origin of the host queue other than `origin` has rules. Does not count as a use
  // either.
  bool other_has_rules(std::string_view host, std::string_view origin) const;
  // Whether the robots.txt of an origin failed too often: see Action::kFail.
  bool has_failed(const std::string& origin) const;
  // Makes find() request robots.txt again in any case, to see whether the site answers.
  void ask_again(const std::string& origin);
  // For retries and rules from now on.
  void set_waits(const RobotsCacheOptions& options) {
    thread_.check();
    options_.retries = options.retries;
    options_.backoff = options.backoff;
    options_.longest_retry_after = options.longest_retry_after;
    options_.longest_age = options.longest_age;
  }
  std::size_t size() const noexcept { return entries_.size(); }
  // Approximate memory in bytes, as of the last call; rules may grow when they are used.
  std::size_t memory() const noexcept { return memory_; }

 private:
  struct Entry {
    std::optional<Robots> rules;
    std::uint32_t failures = 0;         // in a row
    std::string reason;                 // of the last failure
    std::optional<FetchError> failure;  // likewise
    bool no_such_host = false;          // likewise
    std::string hop;                    // redirect target to request next; empty: none
    std::uint32_t hops = 0;             // redirects in a row, with this one
    Time ask_at{};
    bool unused = false;                                  // rules not used since store()
    std::optional<std::list<std::string>::iterator> use;  // absent: URLs wait for this entry
    std::size_t memory = 0;                               // its part of memory_
  };

  RobotsAnswer answer(const Entry& entry) const;
  bool follow(const std::string& origin, Entry& entry, const HttpResponse& response);
  void conclude(const std::string& origin, Entry& entry, const HttpResponse& response, Time now);
  std::chrono::milliseconds age_of(const HttpResponse& response) const;
  void fail(Entry& entry, const HttpResponse& response, bool is_elsewhere, Time now);
  std::chrono::milliseconds wait_after(std::uint32_t failures);
  void touch(const std::string& origin, Entry& entry);
  void hold(Entry& entry);
  void measure(const std::string& origin, Entry& entry);
  void measure_last();
  void make_room();

  RobotsCacheOptions options_;
  std::minstd_rand random_;
  std::list<std::string> by_use_;  // most recent first
  using Entries = std::unordered_map<std::string, Entry>;
  Entries entries_;
  std::size_t memory_ = 0;
  // The entry of the last answer. Its rules grow when they are first used.
  Entries::value_type* last_ = nullptr;
  OneThread thread_;
};

}  // namespace trawl
