// FetchError: the kinds of failed fetches, counted separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

enum class FetchError : std::uint8_t {
  kResolve,           // the host name has no address
  kConnect,           // no server accepts the connection
  kConnectTimeout,    // no connection in time, including the TLS handshake
  kTls,               // the handshake failed, or the certificate is not trusted
  kProxy,             // the proxy cannot be reached, or refused
  kFirstByteTimeout,  // connected, but no response in time
  kTimeout,           // the whole transfer took too long
  kTooSlow,           // slower than fetch.min_speed
  kBodyTooLarge,      // after decompression, or for all memory for bodies
  kDownloadTooLarge,  // before decompression
  kHeadersTooLarge,   // all headers of a response together
  kBadResponse,       // invalid HTTP: bad chunks, NULs in headers, two lengths, another protocol
  kBadHeader,         // a folded header line without a header before it
  kBadEncoding,       // a Content-Encoding that is invalid, cut, or has too many codings
  kConnectionLost,    // reset or closed too early, also in the TLS handshake
  kAddressRefused,    // a private address, which the config does not allow
  kUnwantedType,      // ended after the headers by HttpRequest::accept
  kMemory,            // no room for the body now; retry later
  kAborted,           // by the caller
  kOther,
};

inline constexpr std::size_t kFetchErrors = static_cast<std::size_t>(FetchError::kOther) + 1;

// As in "connect timeout": what is counted and written to pages.jsonl.
std::string_view to_string(FetchError error) noexcept;
// Empty without an error.
inline std::string_view to_string(std::optional<FetchError> error) noexcept {
  return error ? to_string(*error) : std::string_view();
}

}  // namespace trawl
