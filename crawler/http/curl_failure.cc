#include "crawler/http/curl_failure.h"

#include <cerrno>

namespace trawl {

namespace {

bool says(const CurlFailure& failure, std::string_view words) {
  return failure.text.find(words) != std::string_view::npos;
}

// libcurl accepts header lines of at most 100 KiB and trailers of at most 64 KiB; it reports longer
// ones as out of memory.
bool is_long_trailer(const CurlFailure& failure) {
  return failure.head_complete && says(failure, "Out of memory in chunked-encoding");
}

// A transfer that looks for a connection closes those that are broken, and libcurl keeps the first
// text of a transfer: that of another server's HTTP/2 connection, if that one was broken.
bool has_text_of_another(const CurlFailure& failure) {
  return failure.http1 && says(failure, "nghttp2");
}

// Some codes have several meanings, which only libcurl's text distinguishes.
FetchError kind_of_receive(const CurlFailure& failure) {
  if (has_text_of_another(failure))
    return failure.head_complete && failure.os_error == 0 ? FetchError::kBadResponse
                                                          : FetchError::kConnectionLost;
  if (is_long_trailer(failure)) return FetchError::kHeadersTooLarge;
  if (says(failure, "chunked-encoding") || says(failure, "PROTOCOL_ERROR"))
    return FetchError::kBadResponse;
  if (says(failure, "response headers"))
    return FetchError::kHeadersTooLarge;  // the headers are too large
  return FetchError::kConnectionLost;
}

// True if the server, or something on the way to it, closed the connection. Otherwise client and
// server do not agree on TLS, which OpenSSL reports as "error:0A00...".
bool handshake_was_cut_off(const CurlFailure& failure) {
  if (says(failure, "unexpected eof") || says(failure, "SSL_ERROR_SYSCALL")) return true;
  if (says(failure, "error:")) return false;
  return failure.os_error == ECONNRESET || failure.os_error == ECONNABORTED ||
         failure.os_error == EPIPE || failure.os_error == ETIMEDOUT ||
         says(failure, "Connection reset by peer") || says(failure, "Broken pipe");
}

// The certificate is well-formed, but no trusted authority has signed it.
bool is_unknown_issuer(const CurlFailure& failure) {
  return failure.code == CURLE_PEER_FAILED_VERIFICATION &&
         (says(failure, "self-signed certificate") || says(failure, "self signed certificate") ||
          says(failure, "issuer certificate") || says(failure, "verify the first certificate"));
}

}  // namespace

FetchError kind_of(const CurlFailure& failure) {
  const bool reaching_proxy = failure.proxied && !failure.sent;
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return FetchError::kResolve;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return FetchError::kProxy;
    case CURLE_COULDNT_CONNECT:
      return failure.proxied ? FetchError::kProxy : FetchError::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return failure.sent ? FetchError::kTimeout : FetchError::kConnectTimeout;
    case CURLE_SSL_CONNECT_ERROR:
      if (reaching_proxy && failure.proxy_tls) return FetchError::kProxy;
      return handshake_was_cut_off(failure) ? FetchError::kConnectionLost : FetchError::kTls;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_USE_SSL_FAILED:
      return reaching_proxy && failure.proxy_tls ? FetchError::kProxy : FetchError::kTls;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return reaching_proxy ? FetchError::kProxy : FetchError::kConnectionLost;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2_STREAM:
      return reaching_proxy ? FetchError::kProxy : kind_of_receive(failure);
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
      return reaching_proxy ? FetchError::kProxy : FetchError::kBadResponse;
    case CURLE_BAD_FUNCTION_ARGUMENT:
      // libcurl's code for a folded line without a header before it.
      if (reaching_proxy) return FetchError::kProxy;
      return failure.sent ? FetchError::kBadHeader : FetchError::kOther;
    case CURLE_UNSUPPORTED_PROTOCOL:
      // If nothing was sent, the URL's scheme; else the server speaks HTTP/0.9 or not HTTP.
      return failure.sent ? FetchError::kBadResponse : FetchError::kOther;
    case CURLE_OUT_OF_MEMORY:
      // libcurl's code for a header line that is too long.
      if (reaching_proxy) return FetchError::kProxy;
      return failure.sent && !failure.head_complete ? FetchError::kHeadersTooLarge
                                                    : FetchError::kMemory;
    default:
      return FetchError::kOther;
  }
}

// libcurl's text may quote a proxy URL with its credentials: then the general text of the code is
// used.
std::string text_of(const CurlFailure& failure) {
  if (kind_of(failure) == FetchError::kHeadersTooLarge) return "a header line is too long";
  if (failure.code == CURLE_BAD_FUNCTION_ARGUMENT && (failure.sent || failure.proxied))
    return "the first header line is folded: it begins with a space or a tab";
  const bool quotes = failure.code == CURLE_COULDNT_RESOLVE_PROXY ||
                      says(failure, "Unsupported proxy") ||
                      (!failure.credentials.empty() && says(failure, failure.credentials));
  const bool is_own = !failure.text.empty() && !quotes && !has_text_of_another(failure);
  std::string text(is_own ? failure.text : curl_easy_strerror(failure.code));
  if (is_unknown_issuer(failure)) text += "; to trust the issuer in a crawl, set fetch.ca_file";
  return text;
}

bool gave_up_stale(const CurlFailure& failure) {
  return failure.code == CURLE_SEND_ERROR && failure.text.starts_with("Connection died");
}

}  // namespace trawl
