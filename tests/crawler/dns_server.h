// DnsServer: a name server on loopback, over UDP and TCP, that answers what it likes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"

namespace trawl::test {

namespace dns {

constexpr int kA = 1, kCname = 5, kAaaa = 28;
constexpr int kNoError = 0, kFormErr = 1, kServFail = 2, kNxDomain = 3, kNotImp = 4, kRefused = 5;

inline std::string u16(std::uint32_t value) {
  return {static_cast<char>(value >> 8 & 0xFF), static_cast<char>(value & 0xFF)};
}
inline std::string u32(std::uint32_t value) {
  return u16(value >> 16) + u16(value & 0xFFFF);
}

// "a.b" as its labels, each preceded by its length.
inline std::string labels(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const auto label = name.substr(0, name.find('.'));
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return out + '\0';
}

struct Record {
  int type;
  std::uint32_t ttl;
  std::string data;
  std::string name = {};  // empty: that of the question
};

inline Record a(const std::string& address, std::uint32_t ttl = 60, std::string name = {}) {
  char data[4];
  if (::inet_pton(AF_INET, address.c_str(), data) != 1) std::abort();
  return {kA, ttl, std::string(data, sizeof data), std::move(name)};
}
inline Record aaaa(const std::string& address, std::uint32_t ttl = 60, std::string name = {}) {
  char data[16];
  if (::inet_pton(AF_INET6, address.c_str(), data) != 1) std::abort();
  return {kAaaa, ttl, std::string(data, sizeof data), std::move(name)};
}
inline Record cname(const std::string& to, std::uint32_t ttl = 60, std::string name = {}) {
  return {kCname, ttl, labels(to), std::move(name)};
}

struct Answer {
  std::vector<Record> records = {};
  int code = kNoError;
  bool silent = false;
  // The bytes to send as they are to be sent, given those that are right.
  std::function<std::vector<std::string>(const std::string&)> change = nullptr;
};

}  // namespace dns

class DnsServer {
 public:
  // Called on the server's thread.
  using Handler = std::function<dns::Answer(const std::string& name, int type)>;
  struct Query {
    std::string name;
    int type;
    friend bool operator==(const Query&, const Query&) = default;
  };

  explicit DnsServer(Handler handler) : DnsServer(std::move(handler), "127.0.0.1", 0) {}
  // At that address; at a port that is free there if it is 0.
  DnsServer(Handler handler, const std::string& host, std::uint16_t port)
      : handler_(std::move(handler)), host_(host), stop_(::eventfd(0, 0)) {
    sockaddr_in address;
    // A port that is free for UDP may be taken for TCP: then the next one.
    do {
      close_all({udp_, tcp_});
      udp_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      tcp_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      address = bind_udp(port);
    } while (::bind(tcp_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0);
    if (::listen(tcp_, 100) != 0) std::abort();
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;
  ~DnsServer() {
    const std::uint64_t one = 1;
    if (::write(stop_, &one, sizeof one) != sizeof one) std::abort();
    thread_.join();
    close_all({udp_, tcp_, stop_});
  }

  std::string address() const { return host_ + ":" + std::to_string(port_); }
  const std::string& host() const { return host_; }
  std::uint16_t port() const { return port_; }

  // What was asked so far, in order.
  std::vector<Query> queries() const {
    const std::lock_guard lock(mutex_);
    return queries_;
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const Query& query : queries())
      names.insert(query.name);
    return names;
  }
  int tcp_connections() const {
    const std::lock_guard lock(mutex_);
    return tcp_connections_;
  }

  // Returns when the server has seen all that was sent to it before, which is in queries() then.
  void wait_for_sent() {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in to = loopback(port_);
    to.sin_addr.s_addr = ::inet_addr(host_.c_str());
    std::unique_lock lock(mutex_);
    const int before = markers_;
    const char marker[] = "marker";  // shorter than a query's head
    if (::sendto(socket, marker, sizeof marker, 0, reinterpret_cast<const sockaddr*>(&to),
                 sizeof to) < 0) {
      std::abort();
    }
    marked_.wait(lock, [&] { return markers_ > before; });
    ::close(socket);
  }

 private:
  static constexpr std::size_t kHead = 12;
  static constexpr std::size_t kLongestUdp = 512;

  static void close_all(std::initializer_list<int> sockets) {
    for (const int socket : sockets) {
      if (socket >= 0) ::close(socket);
    }
  }

  sockaddr_in bind_udp(std::uint16_t port) const {
    sockaddr_in address = loopback(port);
    address.sin_addr.s_addr = ::inet_addr(host_.c_str());
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (::bind(udp_, name, size) != 0 || ::getsockname(udp_, name, &size) != 0) std::abort();
    return address;
  }

  void serve() {
    std::vector<pollfd> sockets = {{stop_, POLLIN, 0}, {udp_, POLLIN, 0}, {tcp_, POLLIN, 0}};
    while (::poll(sockets.data(), sockets.size(), -1) >= 0 && sockets[0].revents == 0) {
      if (sockets[1].revents != 0) serve_udp();
      for (std::size_t i = 3; i < sockets.size(); ++i) {
        if (sockets[i].revents == 0 || serve_tcp(sockets[i].fd)) continue;
        ::close(sockets[i].fd);
        sockets[i].fd = -1;
      }
      if (sockets[2].revents != 0) {
        const std::lock_guard lock(mutex_);
        ++tcp_connections_;
        sockets.push_back({::accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
      }
      std::erase_if(sockets, [](const pollfd& socket) { return socket.fd < 0; });
    }
    for (std::size_t i = 3; i < sockets.size(); ++i)
      ::close(sockets[i].fd);
  }

  void serve_udp() {
    char bytes[2048];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    auto* name = reinterpret_cast<sockaddr*>(&from);
    const ssize_t n = ::recvfrom(udp_, bytes, sizeof bytes, 0, name, &size);
    if (n < 0) return;
    const std::string query(bytes, static_cast<std::size_t>(n));
    if (query.size() < kHead) {
      const std::lock_guard lock(mutex_);
      ++markers_;
      marked_.notify_all();
      return;
    }
    for (std::string reply : replies(query)) {
      if (reply.size() > kLongestUdp) {
        reply.resize(question_end(query));
        reply[2] = static_cast<char>(reply[2] | 0x02);  // truncated
        reply.replace(6, 2, dns::u16(0));
      }
      ::sendto(udp_, reply.data(), reply.size(), 0, name, size);
    }
  }

  bool serve_tcp(int socket) {
    const std::string length = receive(socket, 2);
    if (length.size() < 2) return false;
    const auto size =
        static_cast<std::uint8_t>(length[0]) * 256u + static_cast<std::uint8_t>(length[1]);
    const std::string query = receive(socket, size);
    if (query.size() < std::max<std::size_t>(size, kHead)) return false;
    for (const std::string& reply : replies(query)) {
      std::string message = dns::u16(static_cast<std::uint32_t>(reply.size())) + reply;
      for (std::string_view left = message; !left.empty();) {
        const ssize_t n = ::send(socket, left.data(), left.size(), MSG_NOSIGNAL);
        if (n <= 0) return false;
        left.remove_prefix(static_cast<std::size_t>(n));
      }
    }
    return true;
  }

  static std::string receive(int socket, std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t n = ::recv(socket, bytes.data(), size, MSG_WAITALL);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }

  // Behind the question, of which there must be one.
  static std::size_t question_end(const std::string& query) { return query.find('\0', kHead) + 5; }

  std::vector<std::string> replies(const std::string& query) {
    std::string name;
    std::size_t at = kHead;
    while (at < query.size() && query[at] != '\0') {
      const auto length = static_cast<std::uint8_t>(query[at]);
      if (!name.empty()) name += '.';
      name.append(query, at + 1, length);
      at += 1u + length;
    }
    const int type = static_cast<std::uint8_t>(query.at(at + 2));
    {
      const std::lock_guard lock(mutex_);
      queries_.push_back({name, type});
    }
    const dns::Answer answer = handler_(name, type);
    if (answer.silent) return {};
    std::string reply = query.substr(0, 2) +
                        dns::u16(0x8180u | static_cast<unsigned>(answer.code)) + dns::u16(1) +
                        dns::u16(static_cast<unsigned>(answer.records.size())) + dns::u32(0) +
                        query.substr(kHead, question_end(query) - kHead);
    for (const dns::Record& record : answer.records) {
      reply += record.name.empty() ? dns::u16(0xC00C) : dns::labels(record.name);
      reply += dns::u16(static_cast<unsigned>(record.type)) + dns::u16(1) + dns::u32(record.ttl) +
               dns::u16(static_cast<unsigned>(record.data.size())) + record.data;
    }
    if (answer.change) return answer.change(reply);
    return {reply};
  }

  const Handler handler_;
  const std::string host_;
  const int stop_;
  int udp_ = -1;
  int tcp_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable marked_;
  std::vector<Query> queries_;
  int markers_ = 0;
  int tcp_connections_ = 0;
  std::thread thread_;
};

}  // namespace trawl::test
