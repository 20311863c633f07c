#include "crawler/http/flood_guard.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <openssl/ssl.h>

namespace trawl {

namespace {

bool libcurl_uses_openssl() {
  static const bool uses = [] {
    const char* const library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return library != nullptr && std::string_view(library).starts_with("OpenSSL/");
  }();
  return uses;
}

void on_message(int is_sent, int, int type, const void*, std::size_t, SSL* tls, void* guard) {
  if (is_sent != 0 || type != SSL3_RT_HEADER) return;
  if (!static_cast<FloodGuard*>(guard)->add_record(tls)) return;
  // Marks the connection as closed by the server.
  SSL_set_shutdown(tls, SSL_get_shutdown(tls) | SSL_RECEIVED_SHUTDOWN);
}

}  // namespace

void FloodGuard::guard(CURL* easy) {
  if (!libcurl_uses_openssl()) return;
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &FloodGuard::on_context);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
}

const void* FloodGuard::tls_of(CURL* easy) {
  const curl_tlssessioninfo* info = nullptr;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == nullptr)
    return nullptr;
  return info->internals;
}

bool FloodGuard::add_record(const void* tls) {
  auto count = std::find_if(counts_.rbegin(), counts_.rend(),
                            [tls](const Count& other) { return other.tls == tls; });
  if (count == counts_.rend()) {
    counts_.push_back({.tls = tls, .records = 0});
    count = counts_.rbegin();
  }
  if (++count->records <= kMostRecords + kMostRecordsPerPiece * pieces_) return false;
  flooded_(tls);
  return true;
}

// Replaces the message callback of libcurl, which only traces; its traces are needed for request
// headers only.
CURLcode FloodGuard::on_context(CURL*, void* context, void* self) {
  auto* const tls = static_cast<SSL_CTX*>(context);
  SSL_CTX_set_msg_callback(tls, &on_message);
  SSL_CTX_set_msg_callback_arg(tls, self);
  return CURLE_OK;
}

}  // namespace trawl
