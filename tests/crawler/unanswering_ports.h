// Ports that no connection is made to: DeafPort refuses it, SilentPort does not answer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"

namespace trawl::test {

// A port on which nothing listens, and nothing can listen while this object exists.
class DeafPort {
 public:
  DeafPort()
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        port_(ntohs(bind_to_loopback(socket_).sin_port)) {}
  ~DeafPort() { ::close(socket_); }
  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int socket_;
  std::uint16_t port_;
};

// A listening socket whose queue is full answers no further connection.
class SilentPort {
 public:
  SilentPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = bind_to_loopback(socket_);
    if (::listen(socket_, 0) != 0) std::abort();
    port_ = ntohs(address.sin_port);
    for (int i = 0; i < 4; ++i) {
      const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      static_cast<void>(
          ::connect(filler, reinterpret_cast<const sockaddr*>(&address), sizeof address));
      fillers_.push_back(filler);
    }
  }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;
  ~SilentPort() {
    for (const int filler : fillers_)
      ::close(filler);
    ::close(socket_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  int socket_;
  std::uint16_t port_ = 0;
  std::vector<int> fillers_;
};

}  // namespace trawl::test
