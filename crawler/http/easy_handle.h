// EasyHandle: a libcurl easy handle that is set up once and then told what differs from request to
// request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "crawler/http/cookie_jars.h"
#include "crawler/http/http_client.h"
#include "crawler/http/proxy.h"

namespace trawl {

struct CurlSlistDelete {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using CurlSlist = std::unique_ptr<curl_slist, CurlSlistDelete>;

class EasyHandle {
 public:
  // For requests over `proxy` only, or over none if it is null: what libcurl remembers of a proxy
  // is not to leak to other requests.
  EasyHandle(const HttpOptions& options, const Proxy* proxy);

  CURL* get() const noexcept { return easy_.get(); }
  template <class Value>
  CURLcode set(CURLoption option, Value value) {
    return curl_easy_setopt(easy_.get(), option, value);
  }

  void set_headers(const std::vector<std::string>& headers);
  // Null: no cookies are sent or kept.
  void set_cookies(CookieJar* jar);
  // Wait for a connection that other requests are about to open, should it serve several at once.
  void set_wait_for_connection(bool wait);
  // libcurl looks up no names: to it, all hosts at this port are at addresses that stand for those
  // which the open-socket callback knows. `known`: by port, whether libcurl's multi handle has
  // them.
  void set_placeholders(std::uint16_t port, std::vector<bool>& known);
  // Over a proxy that wants an address: both addresses.
  void set_addresses(const Proxy& proxy, const std::string& proxy_address,
                     const std::string& address);

 private:
  struct CurlEasyDelete {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };

  void set_up_tls(const HttpOptions& options);
  void set_up_proxy(const HttpOptions& options, const Proxy& proxy);

  std::vector<std::string> headers_;
  CurlSlist header_list_;
  CurlSlist placeholders_;
  CurlSlist connect_to_;
  bool has_placeholders_ = false;
  bool waits_ = false;
  bool has_cookies_ = false;
  std::unique_ptr<CURL, CurlEasyDelete> easy_;  // last: it refers to the lists until its end
};

}  // namespace trawl
