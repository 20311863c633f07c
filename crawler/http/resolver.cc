#include "crawler/http/resolver.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ares.h>
#include <fmt/format.h>
#include <sys/time.h>

#include "crawler/http/address_list.h"
#include "crawler/http/dns_cache.h"
#include "crawler/http/dns_server_address.h"
#include "crawler/http/hosts_file.h"
#include "frontier/registrable_domain.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kShortestAge{1};
constexpr std::chrono::seconds kLongestAge = std::chrono::hours(1);
constexpr std::chrono::seconds kLongestTemporaryAge{5};
constexpr std::chrono::seconds kRouteAge{60};  // whether there is IPv6 is looked up so often
constexpr int kReceiveBuffer = 1 << 20;        // answers come in bursts, and lost ones cost a try
constexpr int kTries = 3;                      // of each server

struct ChannelDelete {
  void operator()(ares_channel channel) const noexcept { ares_destroy(channel); }
};
using Channel = std::unique_ptr<ares_channeldata, ChannelDelete>;

struct ServersDelete {
  void operator()(ares_addr_port_node* servers) const noexcept { ares_free_data(servers); }
};

struct AddressesDelete {
  void operator()(ares_addrinfo* addresses) const noexcept { ares_freeaddrinfo(addresses); }
};

Error ares_error(int status, std::string_view what) {
  return Error{ErrorCode::kIo, fmt::format("{}: {}", what, ares_strerror(status))};
}

// A channel whose tries of `servers` servers take `timeout` together.
Result<Channel> open_channel(std::chrono::milliseconds timeout, std::size_t servers,
                             ares_sock_state_cb on_state, void* self) {
  // c-ares waits twice as long in each round of the servers: 1 + 2 + 4 times its timeout.
  constexpr std::int64_t kRounds = (1 << kTries) - 1;
  const auto a_try = timeout.count() / (kRounds * static_cast<std::int64_t>(servers));
  ares_options options{};
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
  options.timeout = static_cast<int>(std::clamp<std::int64_t>(a_try, 1, 600'000));
  options.tries = kTries;
  options.ndots = 0;
  options.ndomains = 0;
  char dns_only[] = "b";
  options.lookups = dns_only;
  options.socket_receive_buffer_size = kReceiveBuffer;
  options.sock_state_cb = on_state;
  options.sock_state_cb_data = self;
  ares_channel channel = nullptr;
  const int status = ares_init_options(&channel, &options,
                                       ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                           ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
                                           ARES_OPT_SOCK_RCVBUF | ARES_OPT_SOCK_STATE_CB);
  if (status != ARES_SUCCESS)
    return tl::unexpected(ares_error(status, "cannot set up the resolver of host names"));
  return Channel(channel);
}

Result<std::vector<ares_addr_port_node>> parse_servers(const std::vector<std::string>& texts) {
  std::vector<ares_addr_port_node> servers;
  for (const std::string& text : texts) {
    const auto parsed = parse_dns_server(text);
    if (!parsed) return tl::unexpected(parsed.error());
    ares_addr_port_node& server = servers.emplace_back();
    server.family = parsed->family;
    if (parsed->family == AF_INET) {
      server.addr.addr4 = parsed->v4;
    } else {
      std::memcpy(&server.addr.addr6, &parsed->v6, sizeof server.addr.addr6);
    }
    server.udp_port = server.tcp_port = parsed->port;
  }
  return servers;
}

Result<std::size_t> count_system_servers() {
  auto channel = open_channel(std::chrono::seconds(1), 1, nullptr, nullptr);
  if (!channel) return tl::unexpected(channel.error());
  ares_addr_port_node* servers = nullptr;
  ares_get_servers_ports(channel->get(), &servers);
  const std::unique_ptr<ares_addr_port_node, ServersDelete> owner(servers);
  std::size_t count = 0;
  for (; servers != nullptr; servers = servers->next)
    ++count;
  return std::max<std::size_t>(count, 1);
}

std::string_view describe(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
      return "no such host";
    case ARES_ENODATA:
      return "the host has no address";
    case ARES_EBADNAME:
      return "no name that a host can have";
    case ARES_ETIMEOUT:
      return "the name servers do not answer";
    case ARES_ECONNREFUSED:
      return "the name servers cannot be reached";
    case ARES_ESERVFAIL:
    case ARES_ENOTIMP:
    case ARES_EREFUSED:
      return "the name servers failed";
    case ARES_EBADRESP:
    case ARES_EFORMERR:
      return "the name servers' answer makes no sense";
    default:
      return ares_strerror(status);
  }
}

bool is_temporary(int status) {
  return status != ARES_ENOTFOUND && status != ARES_ENODATA && status != ARES_EBADNAME;
}

// For as long as its shortest-lived record.
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
        hosts_file_(options.hosts_file) {}

  ~AresResolver() override {
    closing_ = true;
    channel_.reset();  // calls back for all that is open
  }

  Result<void> open() {
    auto servers = parse_servers(options_.servers);
    if (!servers) return tl::unexpected(servers.error());
    std::size_t count = servers->size();
    if (count == 0) {
      const auto counted = count_system_servers();
      if (!counted) return tl::unexpected(counted.error());
      count = *counted;
    }
    auto channel = open_channel(options_.timeout, count, &AresResolver::on_state, this);
    if (!channel) return tl::unexpected(channel.error());
    channel_ = *std::move(channel);
    if (servers->empty()) return {};
    for (std::size_t i = 0; i + 1 < servers->size(); ++i)
      (*servers)[i].next = &(*servers)[i + 1];
    const int status = ares_set_servers_ports(channel_.get(), servers->data());
    if (status == ARES_SUCCESS) return {};
    return tl::unexpected(ares_error(status, "cannot set the name servers"));
  }

  void resolve(const std::string& host, Done done) override {
    const std::string name = plain_name(host);
    const auto now = Clock::now();
    if (const auto known = known_without_asking(name, now)) return done(*known);
    if (const auto cached = cache_.find(name, now)) return done(*cached);
    const auto [lookup, is_new] = lookups_.try_emplace(name);
    lookup->second.waiters.push_back(std::move(done));
    if (!is_new) return;
    lookup->second.resolver = this;
    lookup->second.host = &lookup->first;
    waiting_.push_back(&lookup->second);
    start_waiting();
  }

  void on_socket(int fd, bool readable, bool writable) override {
    process(readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
  }

  void on_time() override { process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }

  std::optional<Clock::time_point> next_time() const override {
    if (!finished_.empty()) return Clock::time_point::min();
    if (timer_is_stale_) {
      timeval left{};
      timer_.reset();
      if (ares_timeout(channel_.get(), nullptr, &left) != nullptr) {
        // c-ares rounds down, and looks whether the time has come.
        timer_ = Clock::now() + std::chrono::seconds(left.tv_sec) +
                 std::chrono::microseconds(left.tv_usec) + std::chrono::milliseconds(1);
      }
      timer_is_stale_ = false;
    }
    return timer_;
  }

  std::size_t pending() const override { return lookups_.size() + finished_.size(); }
  std::size_t cached() const override { return cache_.size(); }

 private:
  struct Lookup {
    AresResolver* resolver = nullptr;
    const std::string* host = nullptr;  // its key in lookups_
    std::vector<Done> waiters;
  };
  struct Finished {
    std::shared_ptr<const Resolution> resolution;
    std::vector<Done> waiters;
  };

  // As it is asked for and cached.
  static std::string plain_name(std::string_view host) {
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return std::string(without_trailing_dot(host));
  }

  // What literals, localhost and the hosts file say.
  std::optional<Resolution> known_without_asking(const std::string& name, Clock::time_point now) {
    AddressList list(options_.ip_version, kMaxAddresses);
    int status = ARES_ENODATA;
    if (name.empty() || name == ".") {
      status = ARES_EBADNAME;  // the root has no hosts' records, but c-ares would ask for them
    } else if (list.add(name)) {
      // A literal is its own address, unless its family is not wanted.
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
    if (list.empty()) resolution.error = error_text(name, status);
    resolution.expires = now + kLongestAge;
    return resolution;
  }

  static std::string error_text(std::string_view host, int status) {
    return fmt::format("cannot resolve {}: {}", host, describe(status));
  }

  void process(ares_socket_t readable, ares_socket_t writable) {
    ares_process_fd(channel_.get(), readable, writable);
    timer_is_stale_ = true;
    start_waiting();
    // What callbacks finish by starting others has its turn next time.
    for (const Finished& finished : std::exchange(finished_, {})) {
      for (const Done& done : finished.waiters)
        done(*finished.resolution);
    }
  }

  void start_waiting() {
    while (!waiting_.empty() && asked_ < std::max<std::size_t>(options_.max_lookups, 1)) {
      Lookup* lookup = waiting_.front();
      waiting_.pop_front();
      ++asked_;
      timer_is_stale_ = true;
      ares_addrinfo_hints hints{};
      hints.ai_flags = ARES_AI_NOSORT;  // sorting opens a socket for each address
      hints.ai_family = options_.ip_version == IpVersion::kV4   ? AF_INET
                        : options_.ip_version == IpVersion::kV6 ? AF_INET6
                                                                : AF_UNSPEC;
      hints.ai_socktype = SOCK_STREAM;
      ares_getaddrinfo(channel_.get(), lookup->host->c_str(), nullptr, &hints,
                       &AresResolver::on_answer, lookup);
    }
  }

  static void on_answer(void* argument, int status, int, ares_addrinfo* answer) {
    const std::unique_ptr<ares_addrinfo, AddressesDelete> owner(answer);
    auto* lookup = static_cast<Lookup*>(argument);
    AresResolver& self = *lookup->resolver;
    if (!self.closing_) self.finish(*lookup, status, answer);
  }

  void finish(const Lookup& lookup, int status, const ares_addrinfo* answer) {
    const auto now = Clock::now();
    const auto resolution = std::make_shared<Resolution>();
    AddressList list(options_.ip_version, kMaxAddresses);
    if (status == ARES_SUCCESS && answer != nullptr) {
      for (const auto* node = answer->nodes; node != nullptr; node = node->ai_next)
        list.add(node->ai_addr);
    }
    if (list.empty()) {
      if (status == ARES_SUCCESS) status = ARES_ENODATA;
      resolution->error = error_text(*lookup.host, status);
      resolution->temporary = is_temporary(status);
      const auto age = resolution->temporary ? std::min<std::chrono::milliseconds>(
                                                   options_.negative_age, kLongestTemporaryAge)
                                             : options_.negative_age;
      resolution->expires = now + age;
    } else {
      resolution->addresses = list.ordered(prefers_ipv6(now));
      resolution->expires = now + age_of(*answer);
    }
    cache_.insert(*lookup.host, resolution);
    auto node = lookups_.extract(*lookup.host);
    finished_.push_back({resolution, std::move(node.mapped().waiters)});
    --asked_;
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
  HostsFile hosts_file_;
  std::unordered_map<std::string, Lookup> lookups_;  // asked and waiting
  std::deque<Lookup*> waiting_;
  std::size_t asked_ = 0;
  std::vector<Finished> finished_;  // their callbacks are still to be called
  bool has_global_ipv6_ = false;
  Clock::time_point next_route_look_{};
  mutable bool timer_is_stale_ = false;
  mutable std::optional<Clock::time_point> timer_;  // c-ares'
  bool closing_ = false;
  Channel channel_;
};

}  // namespace

Result<std::unique_ptr<Resolver>> Resolver::create(const ResolverOptions& options, Watch watch) {
  // Counted by c-ares, and never given back: another part of the process may use it too.
  static const int started = ares_library_init(ARES_LIB_INIT_ALL);
  if (started != ARES_SUCCESS)
    return tl::unexpected(ares_error(started, "cannot set up the resolver of host names"));
  auto resolver = std::make_unique<AresResolver>(options, std::move(watch));
  if (auto opened = resolver->open(); !opened) return tl::unexpected(opened.error());
  return resolver;
}

}  // namespace trawl
