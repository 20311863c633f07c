// OpenConnections: the sockets of a client's connections by their addresses, to look at what a
// server sent on one that is kept alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trawl {

// Before a request on a kept-alive connection libcurl 7.88 does not look whether there is anything
// to read, which cannot be the answer: what is left of the response before would pass for it.
class OpenConnections {
 public:
  using Key = std::uint64_t;

  // As libcurl tells it of a connection; the same for no other one, but for chance.
  static Key key_of(std::string_view remote_ip, int remote_port, int local_port);

  // `sockets` were opened for a connection; that with the local port is it. `server` is what
  // requests have to have in common to go over it; empty: that need not be known.
  void add(Key key, int local_port, const std::vector<int>& sockets, std::string server,
           std::string_view address);
  // The address that a server's connections go to, the newest if there are several; null: none.
  const std::string* address_of(const std::string& server) const;
  // It speaks HTTP/1, over which a server sends nothing but answers. Other ones are not looked at.
  void set_sequential(Key key);
  void closing(int socket);
  // Whether the server has sent what nobody asked for.
  bool has_unread(Key key) const;

 private:
  struct Connection {
    int socket = -1;
    bool sequential = false;
    std::string server;
  };
  struct Server {
    std::string address;  // of the newest connection
    int connections = 0;
  };
  std::unordered_map<Key, Connection> connections_;
  std::unordered_map<int, Key> keys_;
  std::unordered_map<std::string, Server> servers_;
};

}  // namespace trawl
