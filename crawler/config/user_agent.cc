#include "crawler/config/user_agent.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/ascii.h"
#include "crawler/parse/headers/product_token.h"

namespace trawl {

namespace {

constexpr std::string_view kAdvice =
    "add a page about the crawler or a mail address, such as \"mybot/1.0 (+https://my.site/bot; "
    "me@my.site)\", so that site owners can reach you";

bool is_host_char(char c) {
  return is_ascii_alphanumeric(c) || c == '-' || c == '.' || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The host name at the start of `text`, in lower case.
std::string host_at(std::string_view text) {
  if (text.starts_with('[')) return std::string(text.substr(0, text.find(']')));  // IPv6
  const auto end = std::ranges::find_if_not(text, is_host_char);
  std::string host = to_lower(text.substr(0, static_cast<std::size_t>(end - text.begin())));
  while (host.ends_with('.'))
    host.pop_back();
  return host;
}

// The host names with a dot after each "://" and each '@'.
std::vector<std::string> contact_hosts(std::string_view user_agent) {
  std::vector<std::string> hosts;
  for (const std::string_view mark : {"://", "@", "www."}) {
    for (auto at = user_agent.find(mark); at != std::string_view::npos;
         at = user_agent.find(mark, at + 1)) {
      if (mark != "www." && (at == 0 || !is_host_char(user_agent[at - 1]))) continue;
      std::string host = host_at(user_agent.substr(mark == "www." ? at : at + mark.size()));
      const auto dot = host.find('.');
      const bool named = dot != std::string::npos && dot > 0;
      if (named || (mark == "://" && !host.empty())) hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

// Names reserved for examples (RFC 2606).
bool is_of_examples(std::string_view host) {
  return std::ranges::any_of(
      std::array{"example.org", "example.com", "example.net"}, [&](std::string_view example) {
        return host == example ||
               (host.ends_with(example) && host[host.size() - example.size() - 1] == '.');
      });
}

}  // namespace

std::string robots_token_of(const CrawlConfig::Crawl& crawl) {
  return crawl.robots_token.empty() ? std::string(robots_token(crawl.user_agent))
                                    : crawl.robots_token;
}

std::string user_agent_warning(std::string_view user_agent) {
  if (user_agent == CrawlConfig::Crawl().user_agent)
    return fmt::format("is the default, \"{}\", which does not identify you: {}", user_agent,
                       kAdvice);
  const std::vector<std::string> hosts = contact_hosts(user_agent);
  if (hosts.empty()) return fmt::format("has neither a URL nor a mail address: {}", kAdvice);
  if (std::ranges::all_of(hosts, is_of_examples)) {
    return fmt::format(
        "names {}, which is left over from an example: put your own name and "
        "address there, so that site owners can reach you",
        hosts.front());
  }
  return {};
}

}  // namespace trawl
