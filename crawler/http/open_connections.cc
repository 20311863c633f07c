#include "crawler/http/open_connections.h"

#include <functional>

#include <netinet/in.h>
#include <sys/socket.h>

namespace trawl {

namespace {

int local_port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

OpenConnections::Key OpenConnections::key_of(std::string_view remote_ip, int remote_port,
                                             int local_port) {
  const Key ports = (static_cast<Key>(remote_port) << 16) | static_cast<Key>(local_port);
  return std::hash<std::string_view>{}(remote_ip) ^ (ports * 0x9e3779b97f4a7c15u);
}

void OpenConnections::add(Key key, int local_port, const std::vector<int>& sockets,
                          std::string server, std::string_view address) {
  for (const int socket : sockets) {
    if (local_port_of(socket) != local_port) continue;
    closing(socket);
    if (!server.empty()) {
      servers_[server].address = address;
      ++servers_[server].connections;
    }
    connections_[key] = {.socket = socket, .sequential = false, .server = std::move(server)};
    keys_[socket] = key;
    return;
  }
}

const std::string* OpenConnections::address_of(const std::string& server) const {
  const auto found = servers_.find(server);
  return found == servers_.end() ? nullptr : &found->second.address;
}

void OpenConnections::set_sequential(Key key) {
  const auto found = connections_.find(key);
  if (found != connections_.end()) found->second.sequential = true;
}

void OpenConnections::closing(int socket) {
  const auto key = keys_.find(socket);
  if (key == keys_.end()) return;
  const auto connection = connections_.find(key->second);
  if (connection != connections_.end()) {
    const auto server = servers_.find(connection->second.server);
    if (server != servers_.end() && --server->second.connections == 0) servers_.erase(server);
    connections_.erase(connection);
  }
  keys_.erase(key);
}

bool OpenConnections::has_unread(Key key) const {
  const auto found = connections_.find(key);
  if (found == connections_.end() || !found->second.sequential) return false;
  char byte;
  return ::recv(found->second.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace trawl
