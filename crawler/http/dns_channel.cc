#include "crawler/http/dns_channel.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "crawler/config/dns_server_address.h"

namespace trawl {

namespace {

constexpr int kReceiveBuffer = 1 << 20;  // answers come in bursts, and each lost one costs a try
constexpr int kTries = 3;                // per server

struct ServersDelete {
  void operator()(ares_addr_port_node* servers) const noexcept { ares_free_data(servers); }
};

Error ares_error(int status, std::string_view what) {
  return Error{ErrorCode::kIo, fmt::format("{}: {}", what, ares_strerror(status))};
}

// Opens a channel whose tries of all `servers` servers together take the options' timeout.
Result<DnsChannel> open_channel(const ResolverOptions& resolver, std::size_t servers,
                                ares_sock_state_cb on_state, void* self) {
  // c-ares doubles its timeout in each round over the servers: 1 + 2 + 4 times.
  constexpr std::int64_t kRounds = (1 << kTries) - 1;
  const auto a_try = resolver.timeout.count() / (kRounds * static_cast<std::int64_t>(servers));
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
  options.udp_port = options.tcp_port = resolver.resolv_conf_port;
  std::string resolv_conf = resolver.resolv_conf;
  options.resolvconf_path = resolv_conf.data();
  constexpr int kSet = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
                       ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_RCVBUF |
                       ARES_OPT_SOCK_STATE_CB | ARES_OPT_UDP_PORT | ARES_OPT_TCP_PORT |
                       ARES_OPT_RESOLVCONF;
  ares_channel channel = nullptr;
  int status = ares_init_options(&channel, &options, kSet);
  if (status == ARES_EFILE) {  // an unreadable resolv.conf counts as missing
    char none[] = "/dev/null";
    options.resolvconf_path = none;
    status = ares_init_options(&channel, &options, kSet);
  }
  if (status != ARES_SUCCESS)
    return tl::unexpected(ares_error(status, "cannot set up DNS resolution"));
  return DnsChannel(channel);
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

using Servers = std::unique_ptr<ares_addr_port_node, ServersDelete>;

Servers servers_of(ares_channel channel) {
  ares_addr_port_node* servers = nullptr;
  ares_get_servers_ports(channel, &servers);
  return Servers(servers);
}

Result<std::size_t> count_system_servers(const ResolverOptions& options) {
  const auto channel = open_channel(options, 1, nullptr, nullptr);
  if (!channel) return tl::unexpected(channel.error());
  const Servers owner = servers_of(channel->get());
  const ares_addr_port_node* servers = owner.get();
  std::size_t count = 0;
  for (; servers != nullptr; servers = servers->next)
    ++count;
  return std::max<std::size_t>(count, 1);
}

}  // namespace

std::string address_of_server(ares_channel channel) {
  const Servers servers = servers_of(channel);
  if (servers == nullptr || servers->next != nullptr) return {};
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(servers->family, &servers->addr, text, sizeof text);
  return text;
}

Result<DnsChannel> open_dns_channel(const ResolverOptions& options, ares_sock_state_cb on_state,
                                    void* self) {
  auto servers = parse_servers(options.servers);
  if (!servers) return tl::unexpected(servers.error());
  std::size_t count = servers->size();
  if (count == 0) {
    const auto counted = count_system_servers(options);
    if (!counted) return tl::unexpected(counted.error());
    count = *counted;
  }
  auto channel = open_channel(options, count, on_state, self);
  if (!channel || servers->empty()) return channel;
  for (std::size_t i = 0; i + 1 < servers->size(); ++i)
    (*servers)[i].next = &(*servers)[i + 1];
  const int status = ares_set_servers_ports(channel->get(), servers->data());
  if (status == ARES_SUCCESS) return channel;
  return tl::unexpected(ares_error(status, "cannot set the name servers"));
}

}  // namespace trawl
