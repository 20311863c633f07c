// The keys of [fetch], but for fetch.host.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/config_key_lists.h"
#include "crawler/config/config_key_types.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

using namespace std::chrono_literals;
using config_key::boolean;
using config_key::duration;
using config_key::integer;
using config_key::size;
using config_key::Word;

constexpr auto kLongestWait = 24h;
constexpr std::array kIpVersions = {Word<IpVersion>{"any", IpVersion::kAny},
                                    Word<IpVersion>{"ipv4", IpVersion::kV4},
                                    Word<IpVersion>{"ipv6", IpVersion::kV6}};

void add_requests(std::vector<ConfigKey>& keys) {
  keys.push_back(integer("fetch.threads", "threads", 1, 1024, TRAWL_FIELD(fetch.threads),
                         "threads that fetch and parse; one a core is right"));
  keys.push_back(integer("fetch.connections", "requests", 1, 65536, TRAWL_FIELD(fetch.connections),
                         "how many requests may be under way at once, over all threads"));
  keys.push_back(integer("fetch.max_redirects", "redirects", 0, 100,
                         TRAWL_FIELD(fetch.max_redirects),
                         "how many redirects in a row are followed"));
  keys.push_back(integer("fetch.retries", "fetches", 0, 100, TRAWL_FIELD(politeness.retries),
                         "how often a URL is tried again after a failure that may pass: no "
                         "answer, a lost connection, name servers that fail, 408, 425, 429, 502 to "
                         "504, 520 and above"));
  keys.push_back(duration("fetch.retry_delay", 0ms, kLongestWait,
                          TRAWL_FIELD(politeness.retry_delay),
                          "the wait before it is tried again; twice as long each time"));
}

void add_fetch_limits(std::vector<ConfigKey>& keys) {
  keys.push_back(duration("fetch.connect_timeout", 1ms, kLongestWait,
                          TRAWL_FIELD(fetch.connect_timeout),
                          "the longest that connecting may take, TLS included"));
  keys.push_back(duration("fetch.first_byte_timeout", 1ms, kLongestWait,
                          TRAWL_FIELD(fetch.first_byte_timeout),
                          "the longest a server may take to begin its answer"));
  keys.push_back(duration("fetch.timeout", 1ms, kLongestWait, TRAWL_FIELD(fetch.timeout),
                          "the longest a request may take, from connecting to the last byte"));
  keys.push_back(size("fetch.min_speed", 0, 1ull << 40, TRAWL_FIELD(fetch.min_speed),
                      "an answer that comes with fewer bytes a second is cut off; 0: never"));
  keys.push_back(duration("fetch.min_speed_time", 1ms, kLongestWait,
                          TRAWL_FIELD(fetch.min_speed_time),
                          "the time over which that is measured"));
  keys.push_back(size("fetch.max_body", 1, 4ull << 30, TRAWL_FIELD(fetch.max_body),
                      "a page with more bytes, after decompression, is truncated"));
  keys.push_back(size("fetch.max_download", 1, 4ull << 30, TRAWL_FIELD(fetch.max_download),
                      "the same before decompression; what fetch.max_body is, if only that is "
                      "set"));
  keys.push_back(size("fetch.max_header", 1024, 16u << 20, TRAWL_FIELD(fetch.max_header),
                      "an answer with more bytes of headers is a failed fetch"));
  keys.push_back(
      size("fetch.max_memory", 64u << 10, 1ull << 50, TRAWL_FIELD(fetch.max_memory),
           "what all bodies under way or waiting to be written may take together, with "
           "cookies and the limits of hosts; the crawl slows down rather than take more"));
  keys.push_back(config_key::list(
      "fetch.content_types", std::string(config_key::kMediaTypesType),
      "what is fetched: of other pages only the headers are read; empty: everything",
      TRAWL_FIELD(fetch.content_types), config_key::check_media_type, toml_string));
}

void add_network(std::vector<ConfigKey>& keys) {
  keys.push_back(
      boolean("fetch.http2", TRAWL_FIELD(fetch.http2), "speak HTTP/2 with servers that offer it"));
  keys.push_back(config_key::one_of("fetch.ip_version", kIpVersions, TRAWL_FIELD(fetch.ip_version),
                                    "which addresses of a host are used"));
  keys.push_back(config_key::list(
      "fetch.dns_servers", "an array of IP addresses, with or without a port",
      "who is asked for the addresses of hosts; empty: the servers of /etc/resolv.conf, also when "
      "it changes",
      TRAWL_FIELD(fetch.dns_servers),
      [](std::string_view text) -> Result<std::string> {
        const auto valid = HostRequests::check_dns_server(text);
        if (!valid) return tl::unexpected(valid.error());
        return std::string(text);
      },
      toml_string));
  keys.push_back(duration("fetch.dns_timeout", 1ms, 1h, TRAWL_FIELD(fetch.dns_timeout),
                          "the longest that finding a host's address may take"));
  keys.push_back(duration("fetch.dns_negative_age", 0ms, kLongestWait,
                          TRAWL_FIELD(fetch.dns_negative_age),
                          "how long a host that the name servers keep calling unknown is not "
                          "asked for again; at first that is a second"));
  keys.push_back(
      boolean("fetch.allow_private_addresses", TRAWL_FIELD(fetch.allow_private_addresses),
              "fetch from loopback, private, link-local and metadata addresses too; what "
              "a proxy resolves cannot be checked"));
  keys.push_back(boolean("fetch.verify_tls", TRAWL_FIELD(fetch.verify_tls),
                         "refuse servers whose certificate is not valid"));
  keys.push_back(config_key::path("fetch.ca_file", TRAWL_FIELD(fetch.ca_file),
                                  "certificates (PEM) to trust; unset: those of the system"));
}

// A proxy may hold a password, which no message shows.
ConfigKey proxy_key() {
  ConfigKey key;
  key.name = "fetch.proxy";
  key.type = "a URL such as \"http://proxy.example:3128\" or \"socks5h://127.0.0.1:1080\"";
  key.doc = "what requests go through; empty: nothing";
  key.read = [type = key.type](const toml::node& node, CrawlConfig& config,
                               const ConfigComplaint& complain) {
    const auto text = node.value_exact<std::string_view>();
    if (!text) return complain(node, config_key::mismatch(type, "", node));
    if (const auto valid = HostRequests::check_proxy(*text); !valid) {
      return complain(node, valid.error().message);
    }
    config.fetch.proxy = *text;
  };
  key.write = [](const CrawlConfig& config) {
    return config.fetch.proxy.empty() ? std::string() : toml_string(config.fetch.proxy);
  };
  return key;
}

}  // namespace

void add_fetch_keys(std::vector<ConfigKey>& keys) {
  add_requests(keys);
  add_fetch_limits(keys);
  add_network(keys);
  keys.push_back(proxy_key());
  keys.push_back(config_key::list(
      "fetch.headers", "an array of headers such as [\"Accept-Language: en\"]",
      "sent with every request, in place of the header of that name if there is one",
      TRAWL_FIELD(fetch.headers),
      [](std::string_view text) -> Result<std::string> {
        const auto valid = HostRequests::check_header(text);
        if (!valid) return tl::unexpected(valid.error());
        return std::string(text);
      },
      toml_string));
  keys.push_back(boolean("fetch.cookies", TRAWL_FIELD(fetch.cookies),
                         "keep the cookies that a host sets, in memory, and send them to it"));
  keys.push_back(boolean("fetch.referer", TRAWL_FIELD(fetch.referer),
                         "send the page that a link was found on as Referer; to another origin, "
                         "the page's origin alone"));
  add_fetch_host_keys(keys);
}

}  // namespace trawl
