// ResolverLoop: a Resolver whose descriptors are watched, and what its tests ask for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "crawler/http/resolver.h"
#include "tests/crawler/dns_server.h"

namespace trawl::test {

class ResolverLoop {
 public:
  explicit ResolverLoop(ResolverOptions options) {
    auto created = Resolver::create(options, [this](int fd, bool read, bool write) {
      if (!read && !write) {
        watched_.erase(fd);
      } else {
        watched_[fd] = static_cast<short>((read ? POLLIN : 0) | (write ? POLLOUT : 0));
      }
    });
    if (!created) {
      ADD_FAILURE() << created.error().message;
      std::abort();
    }
    resolver_ = *std::move(created);
  }

  Resolver& resolver() { return *resolver_; }
  void destroy() { resolver_.reset(); }

  // Handles what happens until `condition` holds.
  template <class Condition>
  void run_until(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) {
        ADD_FAILURE() << "nothing comes to an end";
        std::abort();
      }
      step();
    }
  }
  void run() {
    run_until([this] { return resolver_->pending() == 0; });
  }

  Resolution get(const std::string& host) {
    std::optional<Resolution> got;
    resolver_->resolve(host, [&](const Resolution& resolution) { got = resolution; });
    run_until([&] { return got.has_value(); });
    return *got;
  }

 private:
  void step() {
    std::vector<pollfd> sockets;
    for (const auto& [fd, events] : watched_)
      sockets.push_back({fd, events, 0});
    std::chrono::milliseconds wait(10);  // for conditions without notification
    if (const auto next = resolver_->next_time()) {
      const auto now = std::chrono::steady_clock::now();
      wait = *next <= now
                 ? std::chrono::milliseconds(0)
                 : std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(*next - now));
    }
    ::poll(sockets.data(), sockets.size(), static_cast<int>(wait.count()));
    for (const pollfd& socket : sockets) {
      if (socket.revents == 0 || !watched_.contains(socket.fd)) continue;
      resolver_->on_socket(socket.fd, (socket.revents & ~POLLOUT) != 0,
                           (socket.revents & POLLOUT) != 0);
    }
    if (const auto next = resolver_->next_time(); next && *next <= std::chrono::steady_clock::now())
      resolver_->on_time();
  }

  std::map<int, short> watched_;
  std::unique_ptr<Resolver> resolver_;
};

inline ResolverOptions options_for(const DnsServer& server) {
  ResolverOptions options;
  options.servers = {server.address()};
  options.hosts_file.clear();
  return options;
}

// One IPv4 address for every host.
inline dns::Answer one_address(const std::string&, int type) {
  if (type != dns::kA) return {};
  return {.records = {dns::a("192.0.2.7")}};
}

inline dns::Answer silence(const std::string&, int) {
  return {.silent = true};
}

}  // namespace trawl::test
