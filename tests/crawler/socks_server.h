// SocksServer: a SOCKS 4, 4a and 5 proxy on loopback that answers each request itself.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace trawl::test {

class SocksServer {
 public:
  // With `password`, SOCKS 5 asks for user "user" and it.
  explicit SocksServer(std::string password = "") : password_(std::move(password)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, name, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, name, &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve_all(); });
  }
  SocksServer(const SocksServer&) = delete;
  SocksServer& operator=(const SocksServer&) = delete;
  ~SocksServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url(const std::string& scheme, const std::string& credentials = "") const {
    return scheme + "://" + credentials + "127.0.0.1:" + std::to_string(port_);
  }
  // "4 1.2.3.4:80", "5 name.example:80": what was asked for, and how.
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void serve_all() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      if (serve(socket)) {
        std::string head;
        while (head.find("\r\n\r\n") == std::string::npos && read(socket, 1, head)) {
        }
        write(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsocks");
      }
      ::close(socket);
    }
  }

  bool serve(int socket) {
    std::string first;
    if (!read(socket, 2, first)) return false;
    return first[0] == 4 ? serve4(socket) : serve5(socket, static_cast<unsigned char>(first[1]));
  }

  bool serve4(int socket) {
    std::string rest;
    if (!read(socket, 6, rest)) return false;
    std::string host = dotted(rest.substr(2, 4));
    std::string user;
    if (!read_text(socket, user)) return false;
    if (host.starts_with("0.0.0.")) {
      host.clear();
      if (!read_text(socket, host)) return false;
    }
    note("4 " + host + ":" + port(rest));
    return write(socket, std::string("\0\x5a\0\0\0\0\0\0", 8));
  }

  bool serve5(int socket, std::size_t methods) {
    std::string bytes;
    if (!read(socket, methods, bytes)) return false;
    if (!password_.empty()) {
      if (!write(socket, std::string("\5\2", 2))) return false;
      const std::string expected =
          std::string("\1\4user") + static_cast<char>(password_.size()) + password_;
      bytes.clear();
      if (!read(socket, expected.size(), bytes)) return false;
      write(socket, bytes == expected ? std::string("\1\0", 2) : std::string("\1\1", 2));
      if (bytes != expected) return false;
    } else if (!write(socket, std::string("\5\0", 2))) {
      return false;
    }
    std::string head;
    if (!read(socket, 4, head)) return false;
    std::string host;
    if (head[3] == 1) {
      if (!read(socket, 4, host)) return false;
      host = dotted(host);
    } else {
      std::string length;
      if (!read(socket, 1, length) || !read(socket, static_cast<unsigned char>(length[0]), host)) {
        return false;
      }
    }
    std::string to;
    if (!read(socket, 2, to)) return false;
    note("5 " + host + ":" + port(to));
    return write(socket, std::string("\5\0\0\1\0\0\0\0\0\0", 10));
  }

  static std::string dotted(const std::string& bytes) {
    char text[INET_ADDRSTRLEN];
    return ::inet_ntop(AF_INET, bytes.data(), text, sizeof text);
  }
  static std::string port(const std::string& bytes) {
    return std::to_string(static_cast<unsigned char>(bytes[0]) * 256 +
                          static_cast<unsigned char>(bytes[1]));
  }
  static bool read(int socket, std::size_t size, std::string& to) {
    for (; size > 0; --size) {
      char byte;
      if (::recv(socket, &byte, 1, 0) != 1) return false;
      to += byte;
    }
    return true;
  }
  static bool read_text(int socket, std::string& to) {
    for (;;) {
      std::string byte;
      if (!read(socket, 1, byte)) return false;
      if (byte[0] == '\0') return true;
      to += byte;
    }
  }
  static bool write(int socket, const std::string& bytes) {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void note(std::string what) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(what));
  }

  const std::string password_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::thread thread_;
};

}  // namespace trawl::test
