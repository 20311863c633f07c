#include "crawler/http/easy_handle.h"

#include <utility>

#include <fmt/format.h>

#include "crawler/http/content_decoder.h"

namespace trawl {

namespace {

// Addresses reserved for documentation (RFC 5737, RFC 3849), at which there is no host. One of each
// family, so that libcurl tries both families (RFC 8305).
constexpr char kPlaceholderAddresses[] = "[2001:db8::1],192.0.2.1";

curl_slist* appended(CurlSlist& list, const std::string& text) {
  curl_slist* const longer = curl_slist_append(list.get(), text.c_str());
  if (longer != nullptr) {
    static_cast<void>(list.release());  // part of the longer one now
    list.reset(longer);
  }
  return list.get();
}

}  // namespace

EasyHandle::EasyHandle(const HttpOptions& options, const Proxy* proxy)
    : options_(options), proxy_(proxy), easy_(curl_easy_init()) {
  set_up();
}

bool EasyHandle::renew(bool shares_sessions) {
  long os_error = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &os_error);
  const bool had_sessions = std::exchange(has_sessions_, !shares_sessions);
  if (os_error == 0 && !(shares_sessions && had_sessions)) return false;
  easy_.reset(curl_easy_init());
  has_headers_ = has_form_ = waits_ = has_cookies_ = has_placeholders_ = false;
  set_up();
  return true;
}

void EasyHandle::set_up() {
  static const bool headers_ahead =
      needs_headers_ahead(curl_version_info(CURLVERSION_NOW)->version_num);
  if (headers_ahead) set(CURLOPT_HEADER, 1L);
  set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  // libcurl allocates one byte more: malloc has a class of that size, kept for each thread.
  set(CURLOPT_BUFFERSIZE, 32 * 1024L - 1);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_HTTP_VERSION,
      static_cast<long>(options_.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Requested, but decoded by ContentDecoder: archives store the bytes as received.
  set(CURLOPT_ACCEPT_ENCODING, ContentDecoder::kAccepted);
  set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);          // our URL parser has resolved dot segments
  set(CURLOPT_DNS_CACHE_TIMEOUT, -1L);  // the entries are placeholders
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Proxies are not taken from the environment.
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOPROXY, "");
  set_up_tls();
  if (proxy_ != nullptr) set_up_proxy();
}

void EasyHandle::set_up_tls() {
  // Without CAPATH, libcurl caches the certificates of the file instead of reading them for each
  // connection.
  set(CURLOPT_CAPATH, nullptr);
  if (!options_.ca_file.empty()) set(CURLOPT_CAINFO, options_.ca_file.c_str());
  if (!options_.verify_tls) {
    set(CURLOPT_SSL_VERIFYPEER, 0L);
    set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
}

void EasyHandle::set_up_proxy() {
  set(CURLOPT_PROXY_CAPATH, nullptr);
  if (!options_.ca_file.empty()) set(CURLOPT_PROXY_CAINFO, options_.ca_file.c_str());
  if (!options_.verify_tls) {
    set(CURLOPT_PROXY_SSL_VERIFYPEER, 0L);
    set(CURLOPT_PROXY_SSL_VERIFYHOST, 0L);
  }
  if (proxy_->wants_address) {
    // The given addresses become entries of libcurl's cache, which must not grow.
    set(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  } else {
    set(CURLOPT_PROXY, proxy_->at(proxy_->endpoint.host).c_str());
  }
}

void EasyHandle::set_headers(const std::vector<std::string>& headers) {
  if (headers == headers_) {
    if (!has_headers_ && header_list_ != nullptr) set(CURLOPT_HTTPHEADER, header_list_.get());
    has_headers_ = true;
    return;
  }
  CurlSlist list;
  for (const std::string& header : headers)
    appended(list, header);
  set(CURLOPT_HTTPHEADER, list.get());
  has_headers_ = true;
  headers_ = headers;
  header_list_ = std::move(list);
}

void EasyHandle::set_form(const std::string& form) {
  if (form.empty() && !has_form_) return;
  has_form_ = !form.empty();
  if (has_form_) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(form.size()));
    set(CURLOPT_COPYPOSTFIELDS, form.c_str());
  } else {
    set(CURLOPT_COPYPOSTFIELDS, nullptr);
    set(CURLOPT_HTTPGET, 1L);
  }
}

void EasyHandle::set_share(CURLSH* share, bool cookies) {
  set(CURLOPT_SHARE, share);
  // The share has the cookies; this option enables their use.
  if (cookies != has_cookies_) set(CURLOPT_COOKIEFILE, cookies ? "" : nullptr);
  has_cookies_ = cookies;
}

void EasyHandle::set_wait_for_connection(bool wait) {
  if (wait == waits_) return;
  waits_ = wait;
  set(CURLOPT_PIPEWAIT, wait ? 1L : 0L);
}

void EasyHandle::set_placeholders(std::uint16_t port, Placeholders& known) {
  CurlSlist& list = known[port];
  if (has_placeholders_ && list != nullptr) return;
  if (list == nullptr) appended(list, fmt::format("*:{}:{}", port, kPlaceholderAddresses));
  has_placeholders_ = true;
  set(CURLOPT_RESOLVE, list.get());
}

void EasyHandle::set_addresses(const Proxy& proxy, const std::string& proxy_address,
                               const std::string& address) {
  set(CURLOPT_PROXY, proxy.at(proxy_address).c_str());
  const bool v6 = address.find(':') != std::string::npos;
  CurlSlist list;
  appended(list, v6 ? fmt::format("::[{}]:", address) : fmt::format("::{}:", address));
  set(CURLOPT_CONNECT_TO, list.get());
  connect_to_ = std::move(list);
}

}  // namespace trawl
