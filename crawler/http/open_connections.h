// OpenConnections: finds the socket of a kept-alive connection, to check for data that the server
// sent in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trawl {

// libcurl 7.88 does not check, before it sends a request on a kept-alive connection, whether there
// is unread data. Such data would be taken for the response.
class OpenConnections {
 public:
  using Key = std::uint64_t;

  // A key made from what libcurl reports about a connection; unique with high probability.
  static Key key_of(std::string_view remote_ip, int remote_port, int local_port);

  // Of `sockets`, which were opened for a connection, the one with `local_port` is its socket.
  // `server` identifies requests that can use the connection; empty if not needed.
  void add(Key key, int local_port, const std::vector<int>& sockets, std::string server,
           std::string_view address);
  std::size_t size() const { return connections_.size(); }
  // The address of a server's connections, the newest if there are several; null if there are none.
  const std::string* address_of(const std::string& server) const;
  // It speaks HTTP/1, over which a server sends nothing but answers. Other ones are not looked at.
  void set_sequential(Key key);
  void closing(int socket);
  // Whether the server has sent unexpected data.
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
