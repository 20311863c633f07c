// DnsLookup: what name servers answered about a host, for archives.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ares_addrinfo;  // of c-ares

namespace trawl {

struct DnsLookup {
  std::string host;
  std::chrono::system_clock::time_point asked_at;
  std::string server;  // its address; empty: one of several
  // In the form of master files (https://www.rfc-editor.org/rfc/rfc1035#section-5), a line each:
  // aliases, then addresses, with the times to live as the server gave them.
  std::string records;
  std::vector<std::string> addresses;  // sorted
};

// `answers`: one for each address family; null: none.
std::shared_ptr<const DnsLookup> make_dns_lookup(const std::string& host,
                                                 std::chrono::system_clock::time_point asked_at,
                                                 const std::string& server,
                                                 std::span<const ares_addrinfo* const> answers);

}  // namespace trawl
