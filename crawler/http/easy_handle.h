// EasyHandle: a libcurl easy handle that is set up once and then given what differs from request to
// request; with a libcurl that cannot use a handle twice, one for each transfer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <curl/curl.h>

#include "crawler/config/proxy.h"
#include "crawler/http/http_client.h"

namespace trawl {

struct CurlSlistDelete {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using CurlSlist = std::unique_ptr<curl_slist, CurlSlistDelete>;

// By port; longer lived than the handles that were given them.
using Placeholders = std::unordered_map<std::uint16_t, CurlSlist>;

class EasyHandle {
 public:
  // Whether a handle of that version of libcurl, as curl_version_info() has it, must serve one
  // transfer only. Before 8.1.1 a handle keeps a pointer to the last header of the transfer before,
  // which it has freed, and writes to it if the first header line of a response is folded
  // (curl pull request 11103). curl_easy_reset() keeps the pointer.
  static bool serves_once(unsigned version) noexcept { return version < 0x080101; }

  // For requests over `proxy` only, or over none if it is null: what libcurl remembers of a proxy
  // is not to leak to other requests. Both must stay.
  EasyHandle(const HttpOptions& options, const Proxy* proxy);

  // The handle is about to go to libcurl.
  void set_used() noexcept { used_ = true; }
  // If the handle must not be used again, replaces it by a new one, on which everything but the
  // constructor's options has to be set anew, and returns true.
  bool renew();

  CURL* get() const noexcept { return easy_.get(); }
  template <class Value>
  CURLcode set(CURLoption option, Value value) {
    return curl_easy_setopt(easy_.get(), option, value);
  }

  void set_headers(const std::vector<std::string>& headers);
  // Whose cookies and TLS sessions are used and kept; null: those of none.
  void set_share(CURLSH* share, bool cookies);
  // Wait for a connection that other requests are about to open, should it serve several at once.
  void set_wait_for_connection(bool wait);
  // libcurl looks up no names: to it, all hosts at this port are at addresses that stand for those
  // which the open-socket callback knows. `known` are those that libcurl's multi handle has.
  void set_placeholders(std::uint16_t port, Placeholders& known);
  // Over a proxy that wants an address: both addresses.
  void set_addresses(const Proxy& proxy, const std::string& proxy_address,
                     const std::string& address);

 private:
  struct CurlEasyDelete {
    void operator()(CURL* easy) const noexcept { curl_easy_cleanup(easy); }
  };

  void set_up();
  void set_up_tls();
  void set_up_proxy();

  const HttpOptions& options_;
  const Proxy* const proxy_;
  std::vector<std::string> headers_;
  CurlSlist header_list_;
  CurlSlist connect_to_;
  bool has_placeholders_ = false;
  bool used_ = false;
  bool has_headers_ = false;
  bool waits_ = false;
  bool has_cookies_ = false;
  std::unique_ptr<CURL, CurlEasyDelete> easy_;  // last: it refers to the lists until its end
};

}  // namespace trawl
