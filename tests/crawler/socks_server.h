// SocksServer: a SOCKS 4, 4a and 5 proxy on loopback that answers each request itself.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "loopback_listener.h"

namespace trawl::test {

class SocksServer {
 public:
  // With `password`, SOCKS 5 asks for user "user" and it.
  explicit SocksServer(std::string password = "") : password_(std::move(password)) {}

  std::string url(const std::string& scheme, const std::string& credentials = "") const {
    return scheme + "://" + credentials + "127.0.0.1:" + listener_.port();
  }
  // "4 1.2.3.4:80", "5 name.example:80": the SOCKS version and the target requested.
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void serve(int socket) {
    if (!connect(socket)) return;
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos && read(socket, 1, head)) {
    }
    write(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsocks");
  }

  bool connect(int socket) {
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
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  LoopbackListener listener_{[this](int socket) { serve(socket); }};
};

}  // namespace trawl::test
