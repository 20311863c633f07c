#include "crawler/http/curl_failure.h"

#include <cerrno>

namespace trawl {

namespace {

bool says(const CurlFailure& failure, std::string_view words) {
  return failure.text.find(words) != std::string_view::npos;
}

// libcurl takes header lines of 100 KiB at most, and trailers of 64; what is longer it calls out of
// memory.
bool is_long_trailer(const CurlFailure& failure) {
  return failure.head_complete && says(failure, "Out of memory in chunked-encoding");
}

// Some codes stand for several things, which only libcurl's words tell apart.
FetchError kind_of_receive(const CurlFailure& failure) {
  if (is_long_trailer(failure)) return FetchError::kHeadersTooLarge;
  if (says(failure, "chunked-encoding") || says(failure, "PROTOCOL_ERROR"))
    return FetchError::kBadResponse;
  if (says(failure, "response headers")) return FetchError::kHeadersTooLarge;  // too large ones
  return FetchError::kConnectionLost;
}

// The server, or what is on the way to it, ended the connection; else the two do not agree on TLS,
// which OpenSSL's errors ("error:0A00...") tell of.
bool handshake_was_cut_off(const CurlFailure& failure) {
  if (says(failure, "unexpected eof") || says(failure, "SSL_ERROR_SYSCALL")) return true;
  if (says(failure, "error:")) return false;
  return failure.os_error == ECONNRESET || failure.os_error == ECONNABORTED ||
         failure.os_error == EPIPE || failure.os_error == ETIMEDOUT ||
         says(failure, "Connection reset by peer") || says(failure, "Broken pipe");
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
      // So libcurl calls a folded line with no header before it.
      if (reaching_proxy) return FetchError::kProxy;
      return failure.sent ? FetchError::kBadHeader : FetchError::kOther;
    case CURLE_UNSUPPORTED_PROTOCOL:
      // Of a URL, if nothing was sent; else what answered speaks HTTP/0.9 or no HTTP at all.
      return failure.sent ? FetchError::kBadResponse : FetchError::kOther;
    case CURLE_OUT_OF_MEMORY:
      // So libcurl calls a header line that is too long for it.
      if (reaching_proxy) return FetchError::kProxy;
      return failure.sent && !failure.head_complete ? FetchError::kHeadersTooLarge
                                                    : FetchError::kMemory;
    default:
      return FetchError::kOther;
  }
}

// A proxy that libcurl does not take is quoted.
std::string text_of(const CurlFailure& failure) {
  if (kind_of(failure) == FetchError::kHeadersTooLarge)
    return "a header line is longer than libcurl takes";
  if (failure.code == CURLE_BAD_FUNCTION_ARGUMENT && (failure.sent || failure.proxied))
    return "the first header line is folded: it begins with a blank or a tab";
  const bool quotes = failure.code == CURLE_COULDNT_RESOLVE_PROXY ||
                      says(failure, "Unsupported proxy") ||
                      (!failure.credentials.empty() && says(failure, failure.credentials));
  return std::string(failure.text.empty() || quotes ? curl_easy_strerror(failure.code)
                                                    : failure.text);
}

bool gave_up_stale(const CurlFailure& failure) {
  return failure.code == CURLE_SEND_ERROR && failure.text.starts_with("Connection died");
}

}  // namespace trawl
