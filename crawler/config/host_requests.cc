#include "crawler/config/host_requests.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "trawl/canonical_profile.h"

#include "crawler/config/dns_server_address.h"
#include "crawler/config/proxy.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

using namespace std::string_view_literals;

// Headers that the crawler sets itself, and headers that would change the framing of requests.
constexpr std::array kOwnHeaders = {"accept-encoding"sv,
                                    "connection"sv,
                                    "content-length"sv,
                                    "expect"sv,
                                    "host"sv,
                                    "http2-settings"sv,
                                    "if-match"sv,
                                    "if-modified-since"sv,
                                    "if-none-match"sv,
                                    "if-range"sv,
                                    "if-unmodified-since"sv,
                                    "keep-alive"sv,
                                    "proxy-authorization"sv,
                                    "proxy-connection"sv,
                                    "range"sv,
                                    "te"sv,
                                    "trailer"sv,
                                    "transfer-encoding"sv,
                                    "upgrade"sv};

constexpr std::array kProxySchemes = {"http"sv,    "https"sv,  "socks4"sv,
                                      "socks4a"sv, "socks5"sv, "socks5h"sv};

tl::unexpected<Error> invalid(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& byte : out)
    byte = ascii_lower(byte);
  return out;
}

// The name in lower case; empty if there is no colon.
std::string header_name(std::string_view header) {
  return lower(header.substr(0, std::min(header.find(':'), header.size())));
}

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char byte) {
    return is_ascii_alphanumeric(byte) || "!#$%&'*+-.^_`|~"sv.find(byte) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == '\x7F'; });
}

std::string base64(std::string_view text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

Result<void> check_authorization(const HostRequestsText& text) {
  const int ways =
      (text.basic_auth.empty() ? 0 : 1) + (text.bearer_token.empty() ? 0 : 1) +
      static_cast<int>(std::ranges::count(text.headers, "authorization"sv, header_name));
  if (ways > 1) {
    return invalid(
        "basic_auth, bearer_token and a header Authorization exclude each other: keep one");
  }
  if (!text.basic_auth.empty()) {
    if (text.basic_auth.find(':') == std::string::npos)
      return invalid("basic_auth: expected \"user:password\"");
    if (has_control(text.basic_auth)) return invalid("basic_auth: has a control character");
    if (text.basic_auth.size() > 4096) return invalid("basic_auth: has more than 4096 bytes");
  }
  const bool is_visible =
      std::ranges::all_of(text.bearer_token, [](char byte) { return byte > ' ' && byte < '\x7F'; });
  if (!is_visible) {
    return invalid(
        "bearer_token: has a space, a control character or a byte beyond ASCII; give "
        "the token alone, without \"Bearer\"");
  }
  if (text.bearer_token.size() > 16'384) return invalid("bearer_token: has more than 16 KiB");
  return {};
}

void replace_header(std::vector<std::string>& headers, std::string header) {
  std::erase_if(headers, [name = header_name(header)](const std::string& other) {
    return header_name(other) == name;
  });
  headers.push_back(std::move(header));
}

// The headers of an entry in addition to those for all hosts.
std::vector<std::string> headers_of(const HostRequestsText& text,
                                    std::vector<std::string> headers) {
  std::erase_if(headers, [&](const std::string& common) {
    return std::ranges::find(text.headers, header_name(common), header_name) != text.headers.end();
  });
  headers.insert(headers.end(), text.headers.begin(), text.headers.end());
  if (!text.basic_auth.empty())
    replace_header(headers, "Authorization: Basic " + base64(text.basic_auth));
  if (!text.bearer_token.empty())
    replace_header(headers, "Authorization: Bearer " + text.bearer_token);
  return headers;
}

// Rejects text that libcurl would refuse or misinterpret in "user:password@host:port".
Result<void> check_proxy_text(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view user = text.substr(0, at == std::string_view::npos ? 0 : at);
  std::string_view host = text.substr(at == std::string_view::npos ? 0 : at + 1);
  if (host.find('@') != std::string_view::npos)
    return invalid("a second '@' in a proxy: in a user or password, write it as %40");
  if (has_encoded_control(user))
    return invalid("a control character, written with '%', in a proxy's user or password");
  if (host.starts_with('[')) return {};  // an IPv6 address, which the URL parser checks
  host = host.substr(0, host.find(':'));
  const bool is_plain = std::ranges::all_of(host, [](char byte) {
    return is_ascii_alpha(byte) || is_ascii_digit(byte) || byte == '-' || byte == '.' ||
           byte == '_';
  });
  if (!is_plain) return invalid("a proxy's host is an address, or letters, digits, '-' and '.'");
  return {};
}

bool has_cookie(const std::vector<std::string>& headers) {
  return std::ranges::find(headers, "cookie"sv, header_name) != headers.end();
}

// The hosts of logins, which need cookies.
class LoginHosts {
 public:
  explicit LoginHosts(const std::vector<LoginText>& logins) {
    for (const LoginText& login : logins) {
      all_.add(login.host, 0);
      if (login.host.starts_with('.')) domains_.add(login.host, 0);
    }
  }
  // `host` in normal form.
  bool covers(std::string_view host) const {
    return host.starts_with('.') ? domains_.find(host.substr(1)).has_value()
                                 : all_.find(host).has_value();
  }

 private:
  HostPlaces all_;
  HostPlaces domains_;
};

}  // namespace

HostRequests::HostRequests(const CrawlConfig::Fetch& fetch) {
  const bool cookies = fetch.cookies || !fetch.cookies_file.empty();
  const LoginHosts logins(fetch.logins);
  std::vector<std::string> secrets;
  for (const std::string& name : fetch.secret_headers)
    secrets.push_back(lower(name));
  settings_.push_back({fetch.headers, cookies, fetch.referer, fetch.proxy, secrets});
  for (const HostRequestsText& text : fetch.hosts) {
    const auto host = HostPlaces::normal(text.host);
    if (!host) continue;
    if (!places_.add(*host, settings_.size())) continue;
    Settings settings;
    settings.headers = headers_of(text, fetch.headers);
    settings.cookies =
        text.cookies.value_or(cookies || logins.covers(*host)) && !has_cookie(settings.headers);
    settings.referer = text.referer.value_or(fetch.referer);
    settings.proxy = text.proxy.value_or(fetch.proxy);
    settings.secret_fields = secrets;
    // A server may answer a session's cookie with the next one.
    if (has_cookie(settings.headers))
      settings.secret_fields.insert(settings.secret_fields.end(), {"cookie", "set-cookie"});
    settings_.push_back(std::move(settings));
  }
  for (const LoginText& login : fetch.logins) {
    // An exact entry for "example.com" is not for ".example.com".
    Settings settings = for_host(login.host.starts_with('.') ? '*' + login.host : login.host);
    if (!places_.add(login.host, settings_.size())) continue;
    settings.cookies = !has_cookie(settings.headers);
    settings_.push_back(std::move(settings));
  }
}

const HostRequests::Settings& HostRequests::for_host(std::string_view hostname) const {
  return settings_[places_.find(hostname).value_or(0)];
}

Result<void> HostRequests::check(const HostRequestsText& text) {
  if (const auto host = HostPlaces::normal(text.host); !host) return tl::unexpected(host.error());
  for (const std::string& header : text.headers) {
    if (auto good = check_header(header); !good) return good;
  }
  if (text.cookies.value_or(false) && has_cookie(text.headers))
    return invalid("cookies = true and a header Cookie exclude each other: keep one");
  if (text.proxy) {
    if (auto good = check_proxy(*text.proxy); !good) return good;
  }
  return check_authorization(text);
}

Result<void> HostRequests::check_hosts(std::span<const HostRequestsText> texts) {
  HostPlaces seen;
  for (const HostRequestsText& text : texts) {
    if (auto good = check(text); !good) {
      return invalid(
          fmt::format("requests to {}: {}", text.host.substr(0, 80), good.error().message));
    }
    auto host = HostPlaces::normal(text.host);
    if (!seen.add(*host, 0)) return invalid(fmt::format("the host {} is named twice", *host));
  }
  return {};
}

Result<void> HostRequests::check_header(std::string_view header) {
  const std::size_t colon = header.find(':');
  // A bad name is not quoted, since it may be a secret value without a name.
  if (colon == std::string_view::npos || !is_token(header.substr(0, colon)))
    return invalid("expected a header \"Name: value\", with a name of letters, digits and '-'");
  const std::string_view name = header.substr(0, colon);
  const std::string_view value = header.substr(colon + 1);
  if (header.size() > 16'384) return invalid(fmt::format("the header {} is too long", name));
  if (has_control(value)) {
    return invalid(
        fmt::format("the header {} has a control character, such as a line's end", name));
  }
  // For libcurl, "Name:" means to leave the header out.
  if (value.find_first_not_of(' ') == std::string_view::npos)
    return invalid(fmt::format("the header {} has no value", name));
  const std::string key = lower(name);
  if (key == "user-agent") return invalid("User-Agent is set by crawl.user_agent");
  if (key == "referer") return invalid("Referer is set by fetch.referer");
  if (key == "proxy-authorization") {
    return invalid(
        "Proxy-Authorization would go to servers too: write the proxy as "
        "\"http://user:password@host:port\"");
  }
  if (std::ranges::find(kOwnHeaders, key) != kOwnHeaders.end())
    return invalid(fmt::format("the header {} is set by the crawler", name));
  return {};
}

Result<void> HostRequests::check_common_header(std::string_view header) {
  if (auto good = check_header(header); !good) return good;
  const std::string name = header_name(header);
  if (name == "authorization" || name == "cookie") {
    return invalid(
        fmt::format("the header {} would go to every host: give it for its host, in "
                    "[[fetch.host]]",
                    header.substr(0, header.find(':'))));
  }
  return {};
}

Result<void> HostRequests::check_header_name(std::string_view name) {
  if (is_token(name)) return {};
  return invalid("expected the name of a header, such as \"X-Api-Key\"");
}

Result<void> HostRequests::check_proxy(std::string_view proxy) {
  if (proxy.empty()) return {};
  const auto wrong = [](std::string_view why) {
    return invalid(
        fmt::format("{}: expected a proxy such as \"http://127.0.0.1:3128\" or "
                    "\"socks5://127.0.0.1:1080\" (http, https, socks4, socks4a, socks5 "
                    "or socks5h)",
                    why));
  };
  const std::size_t scheme_end = proxy.find("://");
  if (scheme_end == std::string_view::npos) return wrong("no scheme");
  if (std::ranges::find(kProxySchemes, proxy.substr(0, scheme_end)) == kProxySchemes.end())
    return wrong("an unknown scheme");
  const bool is_plain = std::ranges::all_of(
      proxy, [](char byte) { return byte > ' ' && byte < '\x7F' && byte != '\\'; });
  if (!is_plain) return wrong("a space, a control character, '\\' or a byte beyond ASCII");
  const std::string_view rest = proxy.substr(scheme_end + 3);
  if (rest.starts_with('/')) return wrong("no host");
  if (auto good = check_proxy_text(rest.substr(0, rest.find_first_of("/?#"))); !good) return good;
  const auto url = Url::parse(fmt::format("http://{}", rest));
  if (!url) return wrong("no host, or an invalid port");
  if (url->effective_port() == 0) return wrong("an invalid port");
  if (url->path() != "/" || url->has_query() || url->has_fragment())
    return wrong("text after the host and port");
  return {};
}

Result<void> HostRequests::check_dns_server(std::string_view server) {
  const auto parsed = parse_dns_server(server);
  if (!parsed) return tl::unexpected(parsed.error());
  return {};
}

}  // namespace trawl
