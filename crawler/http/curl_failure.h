// Maps libcurl's failures to FetchError and to messages.
#pragma once

#include <string>
#include <string_view>

#include <curl/curl.h>

#include "crawler/http/fetch_error.h"

namespace trawl {

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string_view text;           // libcurl's error text
  int os_error = 0;                // errno of the last failed socket operation
  bool proxied = false;            // the request uses a proxy
  bool proxy_tls = false;          // the proxy uses TLS, and there is no tunnel yet
  std::string_view credentials{};  // for the proxy, as in its URL
  bool sent = false;               // the request was sent
  bool head_complete = false;      // the response's headers were received
  bool http1 = false;              // the response came over HTTP/1
};

FetchError kind_of(const CurlFailure& failure);
// The message for users, without credentials.
std::string text_of(const CurlFailure& failure);
// True if libcurl gave up because a kept-alive connection was closed: it counts such connections
// over all transfers of a handle, and after too many does not send the request again.
bool gave_up_stale(const CurlFailure& failure);

}  // namespace trawl
