// The state of an origin. Without an entry, find() answers kFetch. store() takes the response: a
// redirect is remembered in `hop` and followed by the next kFetch, up to five times; then
// conclude() keeps the rules, or counts a failure. After a failure the answer is kWait until
// `ask_at`, with doubling waits; after the last retry it is kFail, with longer rests. Old rules
// stay in use while newer ones cannot be fetched.
//
// An entry that URLs wait for is not in `by_use_` and cannot be evicted: from kFetch on until its
// rules are used once, or until fetching failed for good. Otherwise many origins could evict each
// other's rules before any URL uses them, and nothing would ever be fetched.
#include "crawler/run/robots_cache.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// How long a failure is remembered after the last retry; doubled for each further failure.
constexpr std::chrono::minutes kFirstRest{5};
constexpr std::chrono::hours kLongestRest{1};
constexpr std::uint32_t kMostHops = 5;        // RFC 9309 section 2.3.1.2
constexpr std::size_t kLongestTarget = 2048;  // bytes of a URL

// Returns `first` doubled `times` times, at most `most`.
milliseconds doubled(milliseconds first, std::uint32_t times, milliseconds most) {
  while (times-- > 0 && first < most)
    first *= 2;
  return std::min(first, most);
}

std::string robots_url(const std::string& origin) {
  return origin + "/robots.txt";
}

// The origins that share a host queue (see politeness_group()), and a few more.
std::vector<std::string> origins_of(std::string_view group) {
  const std::size_t brackets = group.find(']');
  const std::size_t colon = group.find(':', brackets == std::string_view::npos ? 0 : brackets);
  const std::string port(group.substr(std::min(colon, group.size())));
  std::vector<std::string> origins;
  for (const char* dot : {"", "."}) {
    const std::string name = std::string(group.substr(0, colon)) + dot;
    origins.push_back("http://" + name + port);
    origins.push_back("https://" + name + port);
    if (!port.empty()) continue;
    origins.push_back("http://" + name + ":443");
    origins.push_back("https://" + name + ":80");
  }
  return origins;
}

// Parses a number of seconds, perhaps in quotes; a larger number than the limit becomes the limit.
std::optional<std::chrono::seconds> parse_seconds(std::string_view text) {
  constexpr std::uint32_t kMost = 1u << 31;  // RFC 9111 section 1.2.2
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"'))
    text = text.substr(1, text.size() - 2);
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || end != text.data() + text.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  return std::chrono::seconds(error == std::errc() ? std::min(seconds, kMost) : kMost);
}

// The target of a redirect from `asked`, if it can be followed.
std::optional<std::string> redirect_target(const std::string& asked, const HttpResponse& response) {
  if (!response.error.empty() || !response.is_redirect()) return std::nullopt;
  const auto base = Url::parse(asked);
  if (!base) return std::nullopt;
  const auto target = Url::parse(response.location, &*base);
  if (!target || target->href().size() > kLongestTarget) return std::nullopt;
  return std::string(target->href_without_fragment());
}

// Whether a redirect's target is on another host than the robots.txt.
bool leads_elsewhere(const std::string& origin, const std::string& target) {
  if (target.empty()) return false;
  const auto from = Url::parse(origin);
  const auto to = Url::parse(target);
  return !from || !to || group_host(*from) != group_host(*to);
}

}  // namespace

RobotsVerdict read_robots_response(const HttpResponse& response) {
  if (!response.error.empty()) {
    return {.robots = std::nullopt, .reason = "robots.txt: " + response.error};
  }
  const int status = response.status;
  if (status >= 200 && status < 300) return {.robots = Robots::parse(response.body), .reason = ""};
  // A redirect that is not followed counts as "unavailable", like a 4xx.
  if (status >= 300 && status < 500 && status != 429) {
    return {.robots = Robots::allow_all(), .reason = ""};
  }
  return {.robots = std::nullopt,
          .reason = fmt::format("robots.txt: status {}, so nothing may be fetched", status)};
}

std::optional<std::chrono::seconds> max_age(std::string_view cache_control) {
  std::optional<std::chrono::seconds> age;
  while (!cache_control.empty()) {
    const std::string_view directive = cache_control.substr(0, cache_control.find(','));
    cache_control.remove_prefix(std::min(directive.size() + 1, cache_control.size()));
    const std::size_t equals = std::min(directive.find('='), directive.size());
    const std::string_view name = trim(directive.substr(0, equals));
    std::optional<std::chrono::seconds> said;
    if (equal_in_any_case(name, "no-store") || equal_in_any_case(name, "no-cache")) {
      said = std::chrono::seconds(0);
    } else if (equal_in_any_case(name, "max-age") && equals < directive.size()) {
      said = parse_seconds(trim(directive.substr(equals + 1)));
    }
    if (said && (!age || *said < *age)) age = said;
  }
  return age;
}

RobotsCache::RobotsCache(const RobotsCacheOptions& options)
    : options_(options), random_(options.seed) {}

RobotsAnswer RobotsCache::answer(const Entry& entry) const {
  RobotsAnswer answer{.action = Action::kObey, .ask_at = entry.ask_at};
  if (entry.rules) {
    answer.rules = &*entry.rules;
  } else {
    answer.action = entry.failures > options_.retries ? Action::kFail : Action::kWait;
    answer.reason = entry.reason;
    answer.failure = entry.failure;
    answer.no_such_host = entry.no_such_host;
  }
  return answer;
}

RobotsAnswer RobotsCache::find(const std::string& origin, Time now) {
  thread_.check();
  measure_last();
  const auto it = entries_.find(origin);
  if (it == entries_.end()) return {.action = Action::kFetch, .ask_for = robots_url(origin)};
  Entry& entry = it->second;
  if (!entry.hop.empty()) return {.action = Action::kFetch, .ask_for = entry.hop};
  if (now >= entry.ask_at && !entry.unused) {
    hold(entry);
    return {.action = Action::kFetch, .ask_for = robots_url(origin)};
  }
  entry.unused = false;
  const RobotsAnswer found = answer(entry);
  if (found.action != Action::kWait) touch(origin, entry);
  last_ = &*it;
  make_room();
  return found;
}

RobotsAnswer RobotsCache::store(const std::string& origin, const HttpResponse& response, Time now) {
  thread_.check();
  measure_last();
  const auto it = entries_.try_emplace(origin).first;
  Entry& entry = it->second;
  hold(entry);
  RobotsAnswer stored;
  if (follow(origin, entry, response)) {
    stored = {.action = Action::kFetch, .ask_for = entry.hop};
  } else {
    conclude(origin, entry, response, now);
    stored = answer(entry);
  }
  if (stored.action == Action::kFail) touch(origin, entry);
  measure(origin, entry);
  last_ = &*it;
  make_room();
  return stored;
}

bool RobotsCache::follow(const std::string& origin, Entry& entry, const HttpResponse& response) {
  if (entry.hops >= kMostHops) return false;
  auto target = redirect_target(entry.hop.empty() ? robots_url(origin) : entry.hop, response);
  if (!target) return false;
  entry.hop = *std::move(target);
  ++entry.hops;
  entry.unused = false;
  return true;
}

// Takes the final response, after redirects.
void RobotsCache::conclude(const std::string& origin, Entry& entry, const HttpResponse& response,
                           Time now) {
  const bool is_elsewhere = leads_elsewhere(origin, entry.hop);
  entry.hop = {};
  entry.hops = 0;
  auto [robots, reason] = read_robots_response(response);
  // A redirect to a refused address counts as "unavailable", as after too many redirects.
  if (is_elsewhere && response.address_refused) robots = Robots::allow_all();
  if (robots) {
    entry.rules = std::move(robots);
    entry.failures = 0;
    entry.ask_at = now + age_of(response);
  } else {
    fail(entry, response, is_elsewhere, now);
  }
  entry.reason = std::move(reason);
  entry.failure = response.failure;
  entry.no_such_host = response.no_such_host && !is_elsewhere;
  entry.unused = entry.rules.has_value();
}

void RobotsCache::ask_again(const std::string& origin) {
  thread_.check();
  const auto it = entries_.find(origin);
  if (it == entries_.end()) return;
  it->second.ask_at = {};
  it->second.unused = false;
}

milliseconds RobotsCache::crawl_delay(std::string_view host, std::string_view agent) {
  milliseconds longest{0};
  for (const std::string& origin : origins_of(host)) {
    const auto it = entries_.find(origin);
    if (it == entries_.end() || !it->second.rules) continue;
    measure_last();
    last_ = &*it;
    longest = std::max(longest, it->second.rules->crawl_delay(agent).value_or(longest));
  }
  return longest;
}

bool RobotsCache::other_has_rules(std::string_view host, std::string_view origin) const {
  return std::ranges::any_of(origins_of(host), [&](const std::string& other) {
    const auto it = other == origin ? entries_.end() : entries_.find(other);
    return it != entries_.end() && it->second.rules;
  });
}

bool RobotsCache::has_failed(const std::string& origin) const {
  const auto it = entries_.find(origin);
  return it != entries_.end() && !it->second.rules && it->second.failures > options_.retries;
}

milliseconds RobotsCache::age_of(const HttpResponse& response) const {
  const auto said = max_age(response.cache_control);
  if (!said) return options_.longest_age;
  const milliseconds left = *said - response.age;
  return std::min(left > milliseconds(0) ? left : options_.uncached_age, options_.longest_age);
}

void RobotsCache::fail(Entry& entry, const HttpResponse& response, bool is_elsewhere, Time now) {
  // If the host's own name does not exist, the frontier decides when to look it up again.
  if (response.no_such_host && !is_elsewhere) {
    entry.ask_at = entry.no_such_host ? now + kFirstRest : now;
    return;
  }
  // A refused address fails at once, unless old rules can be used meanwhile.
  if (response.address_refused && entry.failures < options_.retries && !entry.rules)
    entry.failures = options_.retries;
  if (entry.failures < UINT32_MAX) ++entry.failures;
  const auto retry_after =
      std::min<milliseconds>(response.retry_after, options_.longest_retry_after);
  entry.ask_at = now + std::max(wait_after(entry.failures), retry_after);
}

// A random part of up to one half is added, so that sites that failed together are not requested
// together.
milliseconds RobotsCache::wait_after(std::uint32_t failures) {
  const auto rest = std::max<milliseconds>(kLongestRest, options_.backoff);
  const milliseconds wait =
      failures <= options_.retries
          ? doubled(options_.backoff, failures - 1, rest)
          : doubled(kFirstRest, failures - options_.retries - 1, kLongestRest);
  std::uniform_int_distribution<milliseconds::rep> more(0, wait.count() / 2);
  return wait + milliseconds(more(random_));
}

void RobotsCache::touch(const std::string& origin, Entry& entry) {
  if (entry.use) return by_use_.splice(by_use_.begin(), by_use_, *entry.use);
  by_use_.push_front(origin);
  entry.use = by_use_.begin();
}

void RobotsCache::hold(Entry& entry) {
  if (entry.use) by_use_.erase(*entry.use);
  entry.use.reset();
}

void RobotsCache::measure(const std::string& origin, Entry& entry) {
  constexpr std::size_t kNodes = 128;  // nodes of map and list, with malloc's overhead
  memory_ -= entry.memory;
  entry.memory = sizeof(Entry) + kNodes + 2 * origin.capacity() + entry.reason.capacity() +
                 entry.hop.capacity();
  if (entry.rules) entry.memory += entry.rules->memory();
  memory_ += entry.memory;
}

void RobotsCache::measure_last() {
  if (last_ != nullptr) measure(last_->first, last_->second);
  last_ = nullptr;
}

// Never evicts the entry used last: the answer points into it.
void RobotsCache::make_room() {
  while (by_use_.size() > options_.capacity ||
         (memory_ > options_.max_memory && by_use_.size() > 1)) {
    const auto oldest = entries_.find(by_use_.back());
    by_use_.pop_back();
    memory_ -= oldest->second.memory;
    entries_.erase(oldest);
  }
}

}  // namespace trawl
