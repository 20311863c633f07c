// Resolver: the addresses of host names, many lookups on one thread, over c-ares.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/config.h"

namespace trawl {

struct ResolverOptions {
  // "address" or "address:port", IPv6 addresses with a port in brackets; empty: those of
  // resolv_conf.
  std::vector<std::string> servers;
  std::chrono::milliseconds timeout{5'000};        // for all the tries of a lookup
  std::chrono::milliseconds negative_age{30'000};  // for how long a failure is remembered at most
  // So long the name servers have to deny a host for that to be remembered for negative_age.
  std::chrono::milliseconds denial_sure_after{10'000};
  std::size_t max_entries = 10'000;  // of the cache
  std::size_t max_lookups = 100;     // asked at once; further ones wait for their turn
  IpVersion ip_version = IpVersion::kAny;
  std::filesystem::path hosts_file = "/etc/hosts";  // empty: none
  std::filesystem::path resolv_conf = "/etc/resolv.conf";
  std::uint16_t resolv_conf_port = 53;  // of its servers
};

struct Resolution {
  std::vector<std::string> addresses;  // as text, IPv6 without brackets, in the order to try
  std::string error;                   // why there are none; empty if there are
  // No name server answered as it should: it failed, was silent, refused, could not be reached, or
  // made no sense. Later it may be better.
  bool temporary = false;
  // The name servers said that the name does not exist, or has no address, and since when they have
  // said so, whenever they were asked; or no host can have such a name, and they were not asked.
  bool no_such_host = false;
  std::chrono::steady_clock::time_point denied_since{};
  std::chrono::steady_clock::time_point expires;
};

// Answers are cached for as long as their TTL says, but at least 1 second and at most 1 hour. That
// a name does not exist is cached for a second, so that who asks again in a few seconds asks the
// name servers again; once they have said so for denial_sure_after it is cached for negative_age,
// so that the many URLs of such a host cost next to nothing. That the servers failed, which may be
// over soon, is cached for a tenth of a second: only those who ask at the same time share it. IP
// literals, "localhost", names below it and those of the hosts file are answered without asking
// anyone. Names are complete as they are: the search domains of the system's configuration are for
// people who type.
//
// A changed hosts file, and a changed resolv.conf unless the servers are given, is noticed within a
// second or so of the next lookup: lookups under way then begin anew with the servers it names.
//
// Of one thread, which watches the descriptors it is told to. Callbacks may call resolve(),
// but not destroy the Resolver. Once it is destroyed, neither Watch nor any Done is called.
class Resolver {
 public:
  using Done = std::function<void(const Resolution&)>;
  // What to watch a descriptor for from now on; neither: it is about to be closed.
  using Watch = std::function<void(int fd, bool read, bool write)>;

  // Addresses kept of an answer, whatever a server sends.
  static constexpr std::size_t kMaxAddresses = 16;

  // Errors: kInvalidArgument for a server that is no address; kIo if c-ares does not start.
  static Result<std::unique_ptr<Resolver>> create(const ResolverOptions& options, Watch watch);
  virtual ~Resolver() = default;

  // Calls `done` before it returns if the answer is known, else later, from on_socket() or
  // on_time(). Lookups of one host at the same time are one. `host` is a URL's host name; an IPv6
  // literal may have its brackets or not.
  virtual void resolve(const std::string& host, Done done) = 0;
  virtual void on_socket(int fd, bool readable, bool writable) = 0;
  // When on_time() has something to do, if nothing comes before; may be in the past.
  virtual std::optional<std::chrono::steady_clock::time_point> next_time() const = 0;
  virtual void on_time() = 0;
  virtual std::size_t pending() const = 0;  // hosts whose answers are awaited
  virtual std::size_t cached() const = 0;   // hosts in the cache
};

}  // namespace trawl
