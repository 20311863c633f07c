// RobotsCache: what the robots.txt of each origin allows, as one fetcher thread has learnt it, and
// when it is asked for again.
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

#include "crawler/http/http_client.h"

namespace trawl {

// What a response to a request for robots.txt means (RFC 9309 section 2.3.1): rules; or, for any
// 4xx but 429, no rules at all. Nothing if the site cannot be asked now (429, 5xx, no response):
// then nothing may be fetched, and `reason` says why.
struct RobotsVerdict {
  std::optional<Robots> robots;
  std::string reason;
};
RobotsVerdict read_robots_response(const HttpResponse& response);

// The age up to which a Cache-Control header lets a response be used (RFC 9111 section 5.2.2); none
// if it says nothing about that. "no-store" and "no-cache" are an age of 0.
std::optional<std::chrono::seconds> max_age(std::string_view cache_control);

struct RobotsCacheOptions {
  // Origins kept, at least 1, and about the bytes they take; see RobotsCache.
  std::size_t capacity = 20'000;
  std::size_t max_memory = std::size_t{64} << 20;
  // A robots.txt that cannot be fetched is asked for again so often, waiting `backoff` at first and
  // twice as long each time.
  std::uint32_t retries = 4;
  std::chrono::milliseconds backoff{1000};
  // The longest Retry-After that is heeded.
  std::chrono::milliseconds longest_retry_after = std::chrono::hours(1);
  // Rules are used for as long as Cache-Control says, up to a day (RFC 9309 section 2.4); older
  // ones while they cannot be fetched anew.
  std::chrono::milliseconds longest_age = std::chrono::hours(24);
  // Those that may not be kept at all are used for so long: not every page asks for its own.
  std::chrono::milliseconds uncached_age = std::chrono::minutes(5);
  std::uint32_t seed = std::random_device{}();  // of the random part of each wait
};

// What may be done now with the URLs of an origin.
struct RobotsAnswer {
  enum class Action : std::uint8_t {
    kObey,   // `rules`, which may be of old if they cannot be fetched anew
    kFetch,  // ask for `ask_for`, then store() what came
    kWait,   // until `ask_at`
    kFail,   // robots.txt could not be fetched too often; it rests until `ask_at`
  };
  using Time = std::chrono::steady_clock::time_point;

  Action action = Action::kFetch;
  const Robots* rules = nullptr;
  Time ask_at{};                           // when robots.txt is to be asked for again
  std::string_view reason = {};            // of kWait and kFail
  std::optional<FetchError> failure = {};  // likewise; nothing: there was an answer
  bool no_such_host = false;               // likewise: HttpResponse::no_such_host
  std::string ask_for = {};  // the URL of robots.txt, or the one it redirected to last
};

// Keeps the most recently used origins, as many as its bounds allow and the last one in any case.
// Beyond these it keeps those that URLs wait for: from kFetch on until rules are stored and asked
// for, or fetching them failed for good. A URL that waits for its rules finds them when its turn
// comes, however many other origins are fetched meanwhile and however long its turn takes to come:
// or it would never be fetched. What is kept so counts against max_memory, so that others make room
// for it; that alone may exceed it, by the rules that came in within a delay of their hosts, and by
// a kilobyte or so (3 with a long redirect) for each origin whose robots.txt is being redirected or
// asked for again: no more of them than hosts with URLs in the frontier's memory. Used by one
// thread.
class RobotsCache {
 public:
  using Action = RobotsAnswer::Action;
  using Time = RobotsAnswer::Time;

  explicit RobotsCache(const RobotsCacheOptions& options);

  // For an origin ("http://example.com:8080"). What it points to is valid until the next call.
  RobotsAnswer find(const std::string& origin, Time now);
  // What came of the request that find() asked for. Answers kFetch for a redirect: find() will ask
  // for its target when the origin has its turn again, which the caller sees to.
  RobotsAnswer store(const std::string& origin, const HttpResponse& response, Time now);
  // The longest Crawl-delay in the rules kept of a host queue's origins (politeness_group()), which
  // does not count as a use of them; 0 if there is none.
  std::chrono::milliseconds crawl_delay(std::string_view host, std::string_view agent);
  // Whether another origin of a host queue than `origin` has rules; that is no use of them either.
  bool other_has_rules(std::string_view host, std::string_view origin) const;
  // Whether the robots.txt of an origin was asked for too often in vain: see Action::kFail.
  bool has_failed(const std::string& origin) const;
  // find() asks for robots.txt again, whatever it had: whether the site answers is to be seen.
  void ask_again(const std::string& origin);
  std::size_t size() const noexcept { return entries_.size(); }
  // About how many bytes it holds, as of the last call: before what that answered was used.
  std::size_t memory() const noexcept { return memory_; }

 private:
  struct Entry {
    std::optional<Robots> rules;
    std::uint32_t failures = 0;         // to fetch them, in a row
    std::string reason;                 // of the last failure
    std::optional<FetchError> failure;  // of the last one
    bool no_such_host = false;          // likewise
    std::string hop;                    // that robots.txt redirected to; empty: it did not
    std::uint32_t hops = 0;             // in a row, with this
    Time ask_at{};
    bool unused = false;                                  // rules not asked for since store()
    std::optional<std::list<std::string>::iterator> use;  // absent: URLs wait for it
    std::size_t memory = 0;                               // counted in memory_
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

  const RobotsCacheOptions options_;
  std::minstd_rand random_;
  std::list<std::string> by_use_;  // most recent first
  using Entries = std::unordered_map<std::string, Entry>;
  Entries entries_;
  std::size_t memory_ = 0;
  // Answered last: its rules grow when they are used for the first time.
  Entries::value_type* last_ = nullptr;
};

}  // namespace trawl
