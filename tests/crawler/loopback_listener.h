// LoopbackListener: takes connections on 127.0.0.1, one at a time, on a thread of its own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"

namespace trawl::test {

// The last member of the server that it calls: its thread ends with it.
class LoopbackListener {
 public:
  // `serve(socket)`; the socket is closed when it returns.
  explicit LoopbackListener(std::function<void(int)> serve)
      : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    port_ = ntohs(bind_to_loopback(listener_).sin_port);
    if (::listen(listener_, 16) != 0) std::abort();
    thread_ = std::thread([this] { serve_all(); });
  }
  LoopbackListener(const LoopbackListener&) = delete;
  LoopbackListener& operator=(const LoopbackListener&) = delete;
  ~LoopbackListener() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string port() const { return std::to_string(port_); }

 private:
  void serve_all() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      serve_(socket);
      ::close(socket);
    }
  }

  const std::function<void(int)> serve_;
  const int listener_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace trawl::test
