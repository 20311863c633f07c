// EasyHandle: a libcurl easy handle that is set up once and reused, setting only the options of
// each request.
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

// By port; must outlive the handles that use them.
using Placeholders = std::unordered_map<std::uint16_t, CurlSlist>;

class EasyHandle {
 public:
  // Whether libcurl of this version (from curl_version_info()) must not see a folded first header
  // line. Before 8.1.1, a handle keeps a dangling pointer to the last header of the transfer
  // before, and joins such a line to it (curl pull request 11103); curl_easy_reset() does not clear
  // the pointer. These versions pass header lines to the callback for bodies too, before they join
  // them, if CURLOPT_HEADER is set, which is then done here.
  static bool needs_headers_ahead(unsigned version) noexcept { return version < 0x080101; }

  // For requests over `proxy` only, or without a proxy if it is null, so that nothing about a proxy
  // leaks to other requests. `options` and `proxy` must outlive the handle.
  EasyHandle(const HttpOptions& options, const Proxy* proxy);

  // Call before each transfer. `shares_sessions`: its share keeps TLS sessions. If the handle must
  // not serve it, replaces it and returns true: all options except the constructor's must be set
  // again. So it is after the error of a socket, which libcurl would report of later transfers too,
  // and if the handle has a table of TLS sessions of its own, which it would lose without freeing
  // it when a share brings another.
  bool renew(bool shares_sessions);

  CURL* get() const noexcept { return easy_.get(); }
  template <class Value>
  CURLcode set(CURLoption option, Value value) {
    return curl_easy_setopt(easy_.get(), option, value);
  }

  void set_headers(const std::vector<std::string>& headers);
  // Makes the request a POST with that body, which is copied; empty: a GET.
  void set_form(const std::string& form);
  // Sets the share of cookies and TLS sessions; null: none.
  void set_share(CURLSH* share, bool cookies);
  // Whether to wait for a connection that is being opened, in case it can be multiplexed.
  void set_wait_for_connection(bool wait);
  // libcurl does not resolve names: for all hosts at this port it gets placeholder addresses, which
  // the open-socket callback replaces by the real ones. `known`: the placeholders that libcurl's
  // multi handle has.
  void set_placeholders(std::uint16_t port, Placeholders& known);
  // For a proxy that needs the target's address: sets the addresses of both.
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
  bool has_headers_ = false;
  bool has_form_ = false;
  bool waits_ = false;
  bool has_cookies_ = false;
  bool has_sessions_ = false;  // a table of its own, perhaps empty
  std::unique_ptr<CURL, CurlEasyDelete>
      easy_;  // last, since it refers to the lists until it is destroyed
};

}  // namespace trawl
