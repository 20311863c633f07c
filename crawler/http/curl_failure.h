// What kind of failure libcurl means.
#pragma once

#include <string>
#include <string_view>

#include <curl/curl.h>

#include "crawler/http/fetch_error.h"

namespace trawl {

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string_view text;           // libcurl's own words
  int os_error = 0;                // errno of the last operation on a socket that failed
  bool proxied = false;            // the request was to go over a proxy
  bool proxy_tls = false;          // that is spoken to over TLS, and has made no tunnel yet
  std::string_view credentials{};  // for the proxy, as its URL has them
  bool sent = false;               // the request was sent
  bool head_complete = false;      // the response's headers are there
};

FetchError kind_of(const CurlFailure& failure);
// For people, without the credentials.
std::string text_of(const CurlFailure& failure);
// What became of a request on a kept-alive connection: that was closed, and libcurl, which counts
// such connections over all transfers of a handle, does not even begin to send it again.
bool gave_up_stale(const CurlFailure& failure);

}  // namespace trawl
