#include "crawler/http/dns_lookup.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <ares.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

namespace trawl {

namespace {

// Of each kind, of a family: a server may send thousands.
constexpr std::size_t kMostRecords = 32;

// With its last dot. Escaped as RFC 1035 has it, so that no name can begin a line of its own.
std::string absolute_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c > ' ' && c < 0x7f && c != ';' && c != '"' && c != '(' && c != ')') {
      text += c;
    } else {
      fmt::format_to(std::back_inserter(text), "\\{:03}", static_cast<unsigned char>(c));
    }
  }
  if (!text.ends_with('.')) text += '.';
  return text;
}

std::string address_of(const ares_addrinfo_node& node) {
  char text[INET6_ADDRSTRLEN] = "";
  if (node.ai_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(node.ai_addr);
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
  } else if (node.ai_family == AF_INET6) {
    const auto* address = reinterpret_cast<const sockaddr_in6*>(node.ai_addr);
    ::inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text);
  }
  return text;
}

class Records {
 public:
  explicit Records(DnsLookup& lookup) : lookup_(lookup) {}

  // The chain of aliases is in the answer for each family.
  std::string add_aliases(const ares_addrinfo& answer) {
    std::string name = absolute_name(lookup_.host);
    std::size_t count = 0;
    for (const auto* cname = answer.cnames; cname != nullptr; cname = cname->next) {
      if (cname->alias == nullptr || cname->name == nullptr || ++count > kMostRecords) continue;
      name = absolute_name(cname->name);
      const std::string alias = absolute_name(cname->alias);
      if (std::ranges::find(aliases_, alias) != aliases_.end()) continue;
      aliases_.push_back(alias);
      add(alias, cname->ttl, "CNAME", name);
    }
    return name;
  }

  void add_addresses(const std::string& name, const ares_addrinfo& answer) {
    std::size_t count = 0;
    for (const auto* node = answer.nodes; node != nullptr; node = node->ai_next) {
      std::string address = address_of(*node);
      if (address.empty() || ++count > kMostRecords) continue;
      add(name, node->ai_ttl, node->ai_family == AF_INET ? "A" : "AAAA", address);
      lookup_.addresses.push_back(std::move(address));
    }
  }

 private:
  void add(std::string_view name, std::int64_t ttl, std::string_view type, std::string_view data) {
    fmt::format_to(std::back_inserter(lookup_.records), "{}\t{}\tIN\t{}\t{}\n", name,
                   std::max<std::int64_t>(ttl, 0), type, data);
  }

  DnsLookup& lookup_;
  std::vector<std::string> aliases_;
};

}  // namespace

std::shared_ptr<const DnsLookup> make_dns_lookup(const std::string& host,
                                                 std::chrono::system_clock::time_point asked_at,
                                                 const std::string& server,
                                                 std::span<const ares_addrinfo* const> answers) {
  auto lookup = std::make_shared<DnsLookup>();
  lookup->host = host;
  lookup->asked_at = asked_at;
  lookup->server = server;
  Records records(*lookup);
  std::vector<std::string> names;
  for (const ares_addrinfo* answer : answers)
    names.push_back(answer == nullptr ? std::string() : records.add_aliases(*answer));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] != nullptr) records.add_addresses(names[i], *answers[i]);
  }
  std::ranges::sort(lookup->addresses);
  return lookup;
}

}  // namespace trawl
