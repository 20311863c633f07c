// The key fetch.host: how requests to some hosts differ from others.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_key_lists.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/key_tables.h"

namespace trawl {

namespace {

// False if there is something else at `name` than a boolean, which it complains of.
bool read_flag(const toml::table& table, std::string_view name, std::optional<bool>& flag,
               const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return true;
  flag = node->value_exact<bool>();
  if (!flag) complain(*node, fmt::format("{}: expected true or false", name));
  return flag.has_value();
}

// The same for a text. No message shows it: it may be a secret.
bool read_secret(const toml::table& table, std::string_view name, std::string& text,
                 const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return true;
  const auto value = node->value_exact<std::string_view>();
  if (value) {
    text = *value;
  } else {
    complain(*node, fmt::format("{}: expected a string", name));
  }
  return value.has_value();
}

bool read_headers(const toml::table& table, std::vector<std::string>& headers,
                  const ConfigComplaint& complain) {
  const toml::node* node = table.get("headers");
  if (node == nullptr) return true;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    complain(*node, "headers: expected an array of headers such as [\"Accept-Language: en\"]");
    return false;
  }
  bool good = true;
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string_view>();
    const auto valid = text ? HostRequests::check_header(*text)
                            : error(ErrorCode::kInvalidArgument, "expected a string");
    if (valid) {
      headers.emplace_back(*text);
    } else {
      complain(element, "headers: " + valid.error().message);
      good = false;
    }
  }
  return good;
}

std::optional<HostRequestsText> read_host(const toml::table& table,
                                          const ConfigComplaint& complain) {
  HostRequestsText text;
  std::string proxy;
  bool good = config_key::only_names(
      table, {"host", "headers", "basic_auth", "bearer_token", "cookies", "referer", "proxy"},
      complain);
  good &= read_secret(table, "host", text.host, complain);
  good &= read_headers(table, text.headers, complain);
  good &= read_secret(table, "basic_auth", text.basic_auth, complain);
  good &= read_secret(table, "bearer_token", text.bearer_token, complain);
  good &= read_flag(table, "cookies", text.cookies, complain);
  good &= read_flag(table, "referer", text.referer, complain);
  good &= read_secret(table, "proxy", proxy, complain);
  if (table.contains("proxy")) text.proxy = std::move(proxy);
  if (!good) return std::nullopt;
  if (const auto valid = HostRequests::check(text); !valid) {
    complain(table, valid.error().message);
    return std::nullopt;
  }
  return text;
}

std::string write_host(const HostRequestsText& text) {
  std::string out = "{ host = " + toml_string(text.host);
  if (!text.headers.empty()) {
    std::vector<std::string> headers;
    std::ranges::transform(text.headers, std::back_inserter(headers), toml_string);
    out += fmt::format(", headers = [{}]", fmt::join(headers, ", "));
  }
  if (!text.basic_auth.empty()) out += ", basic_auth = " + toml_string(text.basic_auth);
  if (!text.bearer_token.empty()) out += ", bearer_token = " + toml_string(text.bearer_token);
  if (text.cookies) out += fmt::format(", cookies = {}", *text.cookies);
  if (text.referer) out += fmt::format(", referer = {}", *text.referer);
  if (text.proxy) out += ", proxy = " + toml_string(*text.proxy);
  return out + " }";
}

}  // namespace

void add_fetch_host_keys(std::vector<ConfigKey>& keys) {
  ConfigKey key = config_key::tables(
      "fetch.host",
      "tables [[fetch.host]] with a host and any of headers, basic_auth (\"user:password\"), "
      "bearer_token, cookies, referer, proxy",
      "other requests for a host, or for \".example.com\" and its subdomains; secrets go to that "
      "host alone, on all its ports, and in clear where the URL is http",
      TRAWL_FIELD(fetch.hosts), read_host, write_host);
  key.read = [read = key.read](const toml::node& node, CrawlConfig& config,
                               const ConfigComplaint& complain) {
    read(node, config, complain);
    // Each by itself is right here: what is left are two for one host.
    const auto valid = HostRequests::check_hosts(config.fetch.hosts);
    if (!valid) complain(node, valid.error().message);
  };
  keys.push_back(std::move(key));
}

}  // namespace trawl
