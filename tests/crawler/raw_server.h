// RawServer: a server on loopback that sends what bytes it likes, and knows when requests came.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace trawl::test {

// A client's connection as the server's handler sees it.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  // False once the client is gone or the server stops.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool reply(std::string_view head, std::string_view body) const {
    return send(std::string(head) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                std::string(body));
  }
  // Waits until the client is gone or the server stops.
  bool stall() const {
    char ignored[256];
    while (::recv(socket_, ignored, sizeof ignored, 0) > 0) {
    }
    return false;
  }
  // Ends with a TCP reset instead of an orderly end.
  bool reset() const {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return false;
  }

  // The next request's head; empty at the end.
  std::string request() {
    for (;;) {
      if (const auto end = input_.find("\r\n\r\n"); end != std::string::npos) {
        std::string head = input_.substr(0, end + 4);
        input_.erase(0, end + 4);
        return head;
      }
      if (input_.starts_with('\x16')) return std::exchange(input_, "");  // a TLS handshake
      if (!receive()) return "";
    }
  }
  // When the kernel took in the last bytes of what request() returned. On loopback that is within
  // the client's call that sent them: it does not depend on when the server's threads get to run.
  std::chrono::nanoseconds arrived() const { return arrived_; }

 private:
  bool receive() {
    char bytes[4096];
    alignas(cmsghdr) char control[256];
    iovec into{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_, &message, 0);
    if (n <= 0) return false;
    input_.append(bytes, static_cast<std::size_t>(n));
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec time;
      std::memcpy(&time, CMSG_DATA(part), sizeof time);
      arrived_ = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }
    return true;
  }

  int socket_;
  std::string input_;
  std::chrono::nanoseconds arrived_{0};
};

// A thread a connection.
class RawServer {
 public:
  // Answers a request for `target`; false ends the connection.
  using Handler = std::function<bool(Connection&, const std::string& target)>;

  explicit RawServer(Handler handler, std::string address = "127.0.0.1")
      : handler_(std::move(handler)), address_(std::move(address)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;  // inherited by the connections
    sockaddr_in address_in{};
    address_in.sin_family = AF_INET;
    socklen_t size = sizeof address_in;
    auto* name = reinterpret_cast<sockaddr*>(&address_in);
    if (::setsockopt(listener_, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes) != 0 ||
        ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
        ::inet_pton(AF_INET, address_.c_str(), &address_in.sin_addr) != 1 ||
        ::bind(listener_, name, size) != 0 || ::listen(listener_, 1024) != 0 ||
        ::getsockname(listener_, name, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address_in.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int socket : open_)
        ::shutdown(socket, SHUT_RDWR);
    }
    for (auto& thread : threads_)
      thread.join();
    ::close(listener_);
  }

  std::string url(const std::string& target) const { return url(target, address_); }
  std::string url(const std::string& target, const std::string& host) const {
    return "http://" + host + ":" + std::to_string(port_) + target;
  }
  int connections() const { return connections_.load(); }
  // The heads of the requests so far.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // When each came, since the epoch.
  std::vector<std::chrono::nanoseconds> arrivals() const {
    const std::lock_guard lock(mutex_);
    return arrivals_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      connections_.fetch_add(1);
      const std::lock_guard lock(mutex_);
      open_.insert(socket);
      threads_.emplace_back([this, socket] { serve(socket); });
    }
  }

  void serve(int socket) {
    Connection connection(socket);
    for (bool go_on = true; go_on;) {
      const std::string request = connection.request();
      if (request.empty()) break;
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
        arrivals_.push_back(connection.arrived());
      }
      const auto start = request.find(' ') + 1;
      go_on = handler_(connection, request.substr(start, request.find(' ', start) - start));
    }
    const std::lock_guard lock(mutex_);
    open_.erase(socket);
    ::close(socket);
  }

  const Handler handler_;
  const std::string address_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  std::set<int> open_;
  std::vector<std::string> requests_;
  std::vector<std::chrono::nanoseconds> arrivals_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace trawl::test
