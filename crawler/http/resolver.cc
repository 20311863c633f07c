// Each lookup asks for each address family separately, since c-ares, asked for both, reports that a
// family has no addresses even if the servers failed to answer for it. The lookup ends when all its
// questions have ended; if one family failed temporarily, the other's addresses are used, but
// cached only briefly.
//
// A denial (no such host) is cached for a second at first, so that a client that retries after
// seconds queries the servers again; only after the servers have denied the name for
// denial_sure_after is the denial cached for negative_age. Temporary failures are cached for a
// tenth of a second, which only merges concurrent lookups.
//
// If resolv.conf changes, the channel is replaced. That ends all open questions with
// ARES_EDESTRUCTION, which puts their lookups back into the queue for the new servers.
#include "crawler/http/resolver.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ares.h>
#include <fmt/format.h>
#include <sys/time.h>

#include "base/one_thread.h"
#include "crawler/http/address_list.h"
#include "crawler/http/dns_cache.h"
#include "crawler/http/dns_channel.h"
#include "crawler/http/file_watch.h"
#include "crawler/http/hosts_file.h"
#include "url/registrable_domain.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kShortestAge{1};
constexpr std::chrono::seconds kLongestAge = std::chrono::hours(1);
constexpr std::chrono::milliseconds kTemporaryAge{100};
// How long the addresses of one family are cached if the servers failed for the other.
constexpr std::chrono::seconds kPartialAge{5};
// How long a denial is cached at first.
constexpr std::chrono::seconds kFirstDenialAge{1};
// A denial within this time after the last one expired continues its history.
constexpr std::chrono::minutes kDenialGoesOn{1};
constexpr std::chrono::seconds kRouteAge{60};  // how long the result of has_global_ipv6() is used

struct AnswerDelete {
  void operator()(ares_addrinfo* answer) const noexcept { ares_freeaddrinfo(answer); }
};
using Answer = std::unique_ptr<ares_addrinfo, AnswerDelete>;

std::string_view describe(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
      return "no such host";
    case ARES_ENODATA:
      return "the host has no address";
    case ARES_EBADNAME:
      return "the name is not a valid host name";
    case ARES_ETIMEOUT:
      return "the name servers do not respond";
    case ARES_ECONNREFUSED:
      return "the name servers cannot be reached";
    case ARES_ESERVFAIL:
    case ARES_ENOTIMP:
    case ARES_EREFUSED:
      return "the name servers failed";
    case ARES_EBADRESP:
    case ARES_EFORMERR:
      return "the name servers' answer is invalid";
    default:
      return ares_strerror(status);
  }
}

// True for the statuses of names without an address, and of invalid names, such as one with a label
// of more than 63 bytes, for which the servers are not queried.
bool is_denial(int status) {
  return status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_EBADNAME;
}

bool is_temporary(int status) {
  return status != ARES_SUCCESS && !is_denial(status);
}

// The smallest TTL of all records.
std::chrono::seconds age_of(const ares_addrinfo& answer) {
  std::int64_t seconds = kLongestAge.count();
  for (const auto* cname = answer.cnames; cname != nullptr; cname = cname->next)
    seconds = std::min<std::int64_t>(seconds, cname->ttl);
  for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next)
    seconds = std::min<std::int64_t>(seconds, node->ai_ttl);
  return std::chrono::seconds(std::max<std::int64_t>(seconds, kShortestAge.count()));
}

class AresResolver final : public Resolver {
 public:
  AresResolver(const ResolverOptions& options, Watch watch)
      : options_(options),
        watch_(std::move(watch)),
        cache_(options.max_entries),
        families_(families_of(options.ip_version)),
        hosts_file_(options.hosts_file),
        resolv_conf_(options.resolv_conf) {}

  ~AresResolver() override {
    closing_ = true;
    channel_.reset();  // calls back for all open questions
  }

  Result<void> open() {
    resolv_conf_.changed(Clock::now());  // before it is read, so that later changes are detected
    auto channel = open_dns_channel(options_, &AresResolver::on_state, this);
    if (!channel) return tl::unexpected(channel.error());
    channel_ = *std::move(channel);
    return {};
  }

  void resolve(const std::string& host, Done done) override {
    thread_.check();
    const std::string name = plain_name(host);
    const auto now = Clock::now();
    if (const auto known = known_without_asking(name, now)) return done(*known);
    auto cached = cache_.find(name, now);
    // New servers may find names that the old ones failed to find.
    if ((cached == nullptr || cached->addresses.empty()) && take_changed_servers(now))
      cached = nullptr;
    if (cached != nullptr) return done(*cached);
    const auto [lookup, is_new] = lookups_.try_emplace(name);
    lookup->second.waiters.push_back(std::move(done));
    if (!is_new) return;
    lookup->second.resolver = this;
    lookup->second.host = &lookup->first;
    waiting_.push_back(&lookup->second);
    start_waiting();
  }

  void on_socket(int fd, bool readable, bool writable) override {
    thread_.check();
    process(readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
  }

  void on_time() override {
    thread_.check();
    process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  }

  std::optional<Clock::time_point> next_time() const override {
    if (!finished_.empty()) return Clock::time_point::min();
    if (timer_is_stale_) {
      timeval left{};
      timer_.reset();
      if (ares_timeout(channel_.get(), nullptr, &left) != nullptr) {
        // c-ares rounds down, and then checks whether the time has passed.
        timer_ = Clock::now() + std::chrono::seconds(left.tv_sec) +
                 std::chrono::microseconds(left.tv_usec) + std::chrono::milliseconds(1);
      }
      timer_is_stale_ = false;
    }
    if (!heeds_resolv_conf() || asked_ == 0) return timer_;
    // Checked even if no lookup ends: unanswered lookups must learn about new servers.
    return std::min(timer_.value_or(Clock::time_point::max()), resolv_conf_.next_look());
  }

  std::size_t pending() const override { return lookups_.size() + finished_.size(); }
  std::size_t cached() const override { return cache_.size(); }

 private:
  struct Lookup;
  // The question for one address family.
  struct Question {
    Lookup* lookup = nullptr;
    int status = ARES_SUCCESS;
    Answer answer;
  };
  struct Lookup {
    AresResolver* resolver = nullptr;
    const std::string* host = nullptr;  // its key in lookups_
    std::vector<Done> waiters;
    std::array<Question, 2> questions;  // for each of families_
    std::size_t open = 0;               // open questions
    std::chrono::system_clock::time_point asked_at;
  };
  struct Finished {
    std::shared_ptr<const Resolution> resolution;
    std::vector<Done> waiters;
  };

  static std::vector<int> families_of(IpVersion version) {
    if (version == IpVersion::kV4) return {AF_INET};
    if (version == IpVersion::kV6) return {AF_INET6};
    return {AF_INET, AF_INET6};
  }

  // The form of a name in queries and in the cache.
  static std::string plain_name(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return std::string(without_trailing_dot(host));
  }

  // Answers for IP literals, localhost and names of the hosts file.
  std::optional<Resolution> known_without_asking(const std::string& name, Clock::time_point now) {
    AddressList list(options_.ip_version, kMaxAddresses);
    int status = ARES_ENODATA;
    if (name.empty() || name == ".") {
      status = ARES_EBADNAME;  // the root has no addresses, but c-ares would query for them
    } else if (list.add(name)) {
      // A literal resolves to itself if its family is wanted.
    } else if (name == "localhost" || name.ends_with(".localhost")) {
      list.add("127.0.0.1");
      list.add("::1");
    } else if (const auto* addresses = hosts_file_.find(name, now)) {
      for (const std::string& address : *addresses)
        list.add(address);
      if (list.empty()) return std::nullopt;
    } else {
      return std::nullopt;
    }
    Resolution resolution;
    resolution.addresses = list.ordered(false);
    if (list.empty()) {
      resolution.error = error_text(name, status);
      resolution.no_such_host = true;
      resolution.denied_since = now;
    }
    resolution.expires = now + kLongestAge;
    return resolution;
  }

  static std::string error_text(std::string_view host, int status) {
    return fmt::format("cannot resolve {}: {}", host, describe(status));
  }

  void process(ares_socket_t readable, ares_socket_t writable) {
    assert(!in_ares_);
    in_ares_ = true;
    ares_process_fd(channel_.get(), readable, writable);
    in_ares_ = false;
    timer_is_stale_ = true;
    take_changed_servers(Clock::now());
    start_waiting();
    // Lookups that callbacks start and that finish immediately are handled in the next round.
    for (const Finished& finished : std::exchange(finished_, {})) {
      for (const Done& done : finished.waiters)
        done(*finished.resolution);
    }
  }

  bool heeds_resolv_conf() const { return options_.servers.empty(); }

  // Must not be called from within c-ares. Returns true if new servers are used from now on, also
  // for lookups in progress.
  bool take_changed_servers(Clock::time_point now) {
    assert(!in_ares_);
    if (!heeds_resolv_conf() || !resolv_conf_.changed(now)) return false;
    auto channel = open_dns_channel(options_, &AresResolver::on_state, this);
    if (!channel) return false;  // no memory: keeps the old servers
    channel_.swap(*channel);
    channel->reset();  // puts its lookups back into waiting_
    timer_is_stale_ = true;
    cache_.forget_failures();
    start_waiting();
    return true;
  }

  void start_waiting() {
    while (!waiting_.empty() && asked_ < std::max<std::size_t>(options_.max_lookups, 1)) {
      Lookup* lookup = waiting_.front();
      waiting_.pop_front();
      ++asked_;
      timer_is_stale_ = true;
      ask(*lookup);
    }
  }

  void ask(Lookup& lookup) {
    const std::size_t families = families_.size();
    lookup.open = families;  // set first, since c-ares may call back immediately
    if (options_.keep_records) lookup.asked_at = std::chrono::system_clock::now();
    for (std::size_t i = 0; i < families; ++i) {
      lookup.questions[i] = {.lookup = &lookup, .answer = nullptr};
      ares_addrinfo_hints hints{};
      hints.ai_flags = ARES_AI_NOSORT;  // sorting opens a socket for each address
      hints.ai_family = families_[i];
      hints.ai_socktype = SOCK_STREAM;
      // The last question may end the lookup.
      ares_getaddrinfo(channel_.get(), lookup.host->c_str(), nullptr, &hints,
                       &AresResolver::on_answer, &lookup.questions[i]);
    }
  }

  static void on_answer(void* argument, int status, int, ares_addrinfo* answer) {
    auto& question = *static_cast<Question*>(argument);
    question.answer.reset(answer);
    question.status = status;
    Lookup& lookup = *question.lookup;
    AresResolver& self = *lookup.resolver;
    if (self.closing_ || --lookup.open > 0) return;
    --self.asked_;
    if (std::ranges::any_of(lookup.questions, is_cut_off)) {
      self.waiting_.push_front(&lookup);
    } else {
      self.finish(lookup);
    }
  }

  // True if the channel was closed.
  static bool is_cut_off(const Question& question) { return question.status == ARES_EDESTRUCTION; }

  void finish(Lookup& lookup) {
    const auto now = Clock::now();
    const auto resolution = std::make_shared<Resolution>();
    AddressList list(options_.ip_version, kMaxAddresses);
    std::chrono::milliseconds age = kLongestAge;
    for (const Question& question : lookup.questions) {
      if (question.answer == nullptr) continue;
      for (const auto* node = question.answer->nodes; node != nullptr; node = node->ai_next)
        list.add(node->ai_addr);
      age = std::min<std::chrono::milliseconds>(age, age_of(*question.answer));
    }
    if (list.empty()) {
      fail_lookup(lookup, *resolution, now);
    } else {
      resolution->addresses = list.ordered(prefers_ipv6(now));
      // IPv6 addresses alone may be unreachable.
      if (is_temporary(lookup.questions[0].status))
        age = std::min<std::chrono::milliseconds>(age, kPartialAge);
      resolution->expires = now + age;
      if (options_.keep_records) resolution->lookup = records_of(lookup);
    }
    cache_.insert(*lookup.host, resolution);
    auto node = lookups_.extract(*lookup.host);
    finished_.push_back({resolution, std::move(node.mapped().waiters)});
  }

  std::shared_ptr<const DnsLookup> records_of(const Lookup& lookup) const {
    const ares_addrinfo* answers[] = {lookup.questions[0].answer.get(),
                                      lookup.questions[1].answer.get()};
    return make_dns_lookup(*lookup.host, lookup.asked_at, address_of_server(channel_.get()),
                           answers);
  }

  void fail_lookup(const Lookup& lookup, Resolution& resolution, Clock::time_point now) const {
    int status = ARES_ENOTFOUND;
    for (std::size_t i = 0; i < families_.size(); ++i)
      status = graver(status, lookup.questions[i].status);
    resolution.error = error_text(*lookup.host, status);
    resolution.temporary = is_temporary(status);
    resolution.no_such_host = is_denial(status);
    std::chrono::milliseconds age = options_.negative_age;
    if (resolution.temporary) age = std::min(age, kTemporaryAge);
    if (resolution.no_such_host) {
      const Resolution* const before = cache_.last(*lookup.host);
      const bool goes_on =
          before != nullptr && before->no_such_host && now < before->expires + kDenialGoesOn;
      resolution.denied_since = goes_on ? before->denied_since : now;
      if (now < resolution.denied_since + options_.denial_sure_after)
        age = std::min<std::chrono::milliseconds>(age, kFirstDenialAge);
    }
    resolution.expires = now + age;
  }

  // The status of a lookup for which neither family has addresses: a temporary failure if there was
  // one, else the status that says that the name exists.
  static int graver(int one, int other) {
    if (other == ARES_SUCCESS) other = ARES_ENODATA;
    const auto gravity = [](int status) {
      return is_temporary(status) ? 2 : status == ARES_ENOTFOUND ? 0 : 1;
    };
    return gravity(one) >= gravity(other) ? one : other;
  }

  bool prefers_ipv6(Clock::time_point now) {
    if (now >= next_route_look_) {
      has_global_ipv6_ = has_global_ipv6();
      next_route_look_ = now + kRouteAge;
    }
    return has_global_ipv6_;
  }

  static void on_state(void* argument, ares_socket_t fd, int readable, int writable) {
    auto& self = *static_cast<AresResolver*>(argument);
    if (!self.closing_) self.watch_(fd, readable != 0, writable != 0);
  }

  const ResolverOptions options_;
  const Watch watch_;
  DnsCache cache_;
  const std::vector<int> families_;  // IPv4 first
  HostsFile hosts_file_;
  FileWatch resolv_conf_;
  std::unordered_map<std::string, Lookup> lookups_;  // in progress or waiting
  std::deque<Lookup*> waiting_;
  std::size_t asked_ = 0;
  std::vector<Finished> finished_;  // callbacks remain to be called
  bool has_global_ipv6_ = false;
  Clock::time_point next_route_look_{};
  mutable bool timer_is_stale_ = false;
  mutable std::optional<Clock::time_point> timer_;  // c-ares'
  OneThread thread_;
  bool in_ares_ = false;  // which calls back
  bool closing_ = false;
  DnsChannel channel_;
};

}  // namespace

Result<std::unique_ptr<Resolver>> Resolver::create(const ResolverOptions& options, Watch watch) {
  // c-ares counts initialisations; this one is never undone, since others in the process may use
  // c-ares.
  static const int started = ares_library_init(ARES_LIB_INIT_ALL);
  if (started != ARES_SUCCESS)
    return error(ErrorCode::kIo,
                 fmt::format("cannot set up DNS resolution: {}", ares_strerror(started)));
  auto resolver = std::make_unique<AresResolver>(options, std::move(watch));
  if (auto opened = resolver->open(); !opened) return tl::unexpected(opened.error());
  return resolver;
}

}  // namespace trawl
