// FetchError: the kinds of failed fetches, each counted on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

enum class FetchError : std::uint8_t {
  kResolve,           // the host's name has no address
  kConnect,           // nobody answers there
  kConnectTimeout,    // no connection in time, the TLS handshake included
  kTls,               // no agreement in the handshake, or a certificate that is not to be trusted
  kProxy,             // the proxy cannot be reached, or does not serve
  kFirstByteTimeout,  // connected, but no answer in time
  kTimeout,           // the whole took too long
  kTooSlow,           // fewer bytes a second than asked for
  kBodyTooLarge,      // after decompression, or for all memory for bodies
  kDownloadTooLarge,  // before
  kHeadersTooLarge,   // all headers of a response together
  kBadResponse,       // broken HTTP: bad chunks, NULs in headers, two lengths, another protocol
  kBadHeader,         // a folded header line with no header before it
  kBadEncoding,       // a Content-Encoding that is broken, cut off or of too many codings
  kConnectionLost,    // reset, or closed too early, be it in the TLS handshake
  kAddressRefused,    // a private address, and such ones are not allowed
  kUnwantedType,      // cut off after the headers, as `accept` asked for
  kMemory,            // no room for the body now: worth another try later
  kAborted,           // by the one who started it
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
