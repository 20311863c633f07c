// Resolver: resolves host names with c-ares, many lookups on one thread.
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

#include "crawler/config/crawl_config.h"
#include "crawler/http/dns_lookup.h"

namespace trawl {

struct ResolverOptions {
  // "address" or "address:port", with IPv6 addresses in brackets before a port; empty: the servers
  // of resolv_conf.
  std::vector<std::string> servers;
  std::chrono::milliseconds timeout{5'000};        // for all tries of a lookup
  std::chrono::milliseconds negative_age{30'000};  // maximal time that a failure is cached
  // How long name servers must deny a host before the denial is cached for negative_age.
  std::chrono::milliseconds denial_sure_after{10'000};
  std::size_t max_entries = 10'000;  // in the cache
  std::size_t max_lookups = 100;     // concurrent lookups; others wait
  IpVersion ip_version = IpVersion::kAny;
  std::filesystem::path hosts_file = "/etc/hosts";  // empty: none
  std::filesystem::path resolv_conf = "/etc/resolv.conf";
  std::uint16_t resolv_conf_port = 53;  // port of its servers
  bool keep_records = false;            // Resolution::lookup
};

struct Resolution {
  std::vector<std::string> addresses;  // as text, IPv6 without brackets, in the order to try
  std::string error;                   // why there are no addresses; else empty
  // The name servers failed, refused, did not respond, could not be reached, or gave an invalid
  // answer. A later lookup may succeed.
  bool temporary = false;
  // The name servers denied the name (it does not exist or has no address), and since when each
  // answer has been a denial. Also set for invalid host names, for which no server is queried.
  bool no_such_host = false;
  std::chrono::steady_clock::time_point denied_since{};
  std::chrono::steady_clock::time_point expires;
  // Only with keep_records: what the name servers answered. Null if there are no addresses, and if
  // they were known without asking.
  std::shared_ptr<const DnsLookup> lookup;
};

// Answers are cached for their TTL, but at least 1 second and at most 1 hour. A denial is cached
// for a second, and once it has been repeated for denial_sure_after, for negative_age, so that the
// many URLs of such a host cost little. A failure of the servers is cached for a tenth of a second,
// so that only concurrent lookups share it. IP literals, "localhost", names below it and names of
// the hosts file are answered without a query. Names are taken as absolute: search domains are not
// used. A change of the hosts file, and of resolv.conf unless the servers are given, is detected
// within about a second of the next lookup. Lookups in progress are then repeated with the new
// servers. For one thread, which watches the descriptors passed to Watch. Callbacks may call
// resolve(), but must not destroy the Resolver. After its destruction, neither Watch nor any Done
// is called.
class Resolver {
 public:
  using Done = std::function<void(const Resolution&)>;
  // What to watch a descriptor for from now on; neither: the descriptor is about to be closed.
  using Watch = std::function<void(int fd, bool read, bool write)>;

  // Limit of addresses kept from an answer.
  static constexpr std::size_t kMaxAddresses = 16;

  // Errors: kInvalidArgument for a server that is not an address; kIo if c-ares cannot be
  // initialised.
  static Result<std::unique_ptr<Resolver>> create(const ResolverOptions& options, Watch watch);
  virtual ~Resolver() = default;

  // Calls `done` before returning if the answer is known, else later, from on_socket() or
  // on_time(). Concurrent lookups of a host are merged. `host`: a URL's host name; an IPv6 literal
  // may be with or without brackets.
  virtual void resolve(const std::string& host, Done done) = 0;
  virtual void on_socket(int fd, bool readable, bool writable) = 0;
  // When on_time() must be called unless an event comes first; may be in the past.
  virtual std::optional<std::chrono::steady_clock::time_point> next_time() const = 0;
  virtual void on_time() = 0;
  virtual std::size_t pending() const = 0;  // hosts being resolved or waiting
  virtual std::size_t cached() const = 0;   // hosts in the cache
};

}  // namespace trawl
