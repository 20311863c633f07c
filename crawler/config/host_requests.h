// HostRequests: settings for requests per host: headers, authorization, cookies, Referer, proxy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/config/host_places.h"

namespace trawl {

// Immutable, thread-safe. Headers and proxies may hold secrets: they are sent to their host only,
// and never logged.
class HostRequests {
 public:
  struct Settings {
    std::vector<std::string> headers;  // "Name: value", including Authorization
    bool cookies = false;
    bool referer = false;
    std::string proxy;  // a URL; empty: none
    // Names of fields, in lower case, that are not to be archived. Authorization never is.
    std::vector<std::string> secret_fields = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };

  // For a config that passed the checks below; an entry with an invalid host is ignored.
  explicit HostRequests(const CrawlConfig::Fetch& fetch);

  // The settings for a URL: of several matching entries the exact one is used, else the longest.
  // Settings that the entry lacks are those for all hosts; its headers replace headers of the same
  // name for all hosts. A login implies cookies for its host. With a Cookie header, there is no
  // cookie jar. Valid as long as this object.
  const Settings& for_url(const Url& url) const {
    return settings_.size() == 1 ? settings_[0] : for_host(url.hostname());
  }

  // Checks an entry: kInvalidArgument, with a message for the author of the config. Values are not
  // quoted, since they may be secrets.
  static Result<void> check(const HostRequestsText& text);
  // Checks each entry, and that no two are for the same host.
  static Result<void> check_hosts(std::span<const HostRequestsText> texts);
  // Checks "Name: value" for a host; the second function for all hosts, where headers that must go
  // to one host only are refused.
  static Result<void> check_header(std::string_view header);
  static Result<void> check_common_header(std::string_view header);
  // An empty text means no proxy, and is valid.
  static Result<void> check_proxy(std::string_view proxy);
  // The name of a header alone.
  static Result<void> check_header_name(std::string_view name);
  static Result<void> check_dns_server(std::string_view server);

 private:
  const Settings& for_host(std::string_view hostname) const;

  std::vector<Settings> settings_;  // the first is for all other hosts
  HostPlaces places_;
};

}  // namespace trawl
