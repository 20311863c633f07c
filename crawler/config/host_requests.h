// HostRequests: how requests to a host differ from those to others: headers, authorization,
// cookies, Referer, proxy.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/config.h"

namespace trawl {

// Immutable; for any number of threads. Its headers and proxies may hold secrets: they go to their
// host only, and are never logged.
class HostRequests {
 public:
  struct Settings {
    std::vector<std::string> headers;  // "Name: value", with Authorization if there is one
    bool cookies = false;
    bool referer = false;
    std::string proxy;  // a URL; empty: none
    friend bool operator==(const Settings&, const Settings&) = default;
  };

  // Of a config that passed the checks below; an entry with a bad host is left out.
  explicit HostRequests(const CrawlConfig::Fetch& fetch);

  // Of several entries that match a host the exact one counts, else the longest. What it does not
  // say is as for all hosts; headers it names replace those of the same name for all hosts. Where
  // a Cookie header is given, there is no jar. Lives as long as this.
  const Settings& for_url(const Url& url) const {
    return settings_.size() == 1 ? settings_[0] : for_host(url.hostname());
  }

  // Why something cannot be used: kInvalidArgument, in words for the one who wrote it. Values are
  // not quoted, because they may be secrets.
  static Result<void> check(const HostRequestsText& text);
  // Each of them, and that no two are for the same host.
  static Result<void> check_hosts(std::span<const HostRequestsText> texts);
  // "Name: value" for a host; and for all hosts, which must not have what is for one alone.
  static Result<void> check_header(std::string_view header);
  static Result<void> check_common_header(std::string_view header);
  // Empty is none, and fine.
  static Result<void> check_proxy(std::string_view proxy);
  static Result<void> check_dns_server(std::string_view server);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  using Places = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  const Settings& for_host(std::string_view hostname) const;

  std::vector<Settings> settings_;  // the first for all hosts that are not below
  Places hosts_;
  Places domains_;  // and all below them; without the leading dot
};

}  // namespace trawl
