#include "crawler/fetch_failure.h"

namespace trawl {

namespace {

std::optional<FailureReason> reason_of_status(int status) {
  switch (status) {
    case 429:
      return FailureReason::kTooManyRequests;
    case 503:
      return FailureReason::kUnavailable;
    case 408:  // "the client MAY repeat that request" (RFC 9110 section 15.5.9)
    case 425:  // too early: not in early data, which we send none of
      return FailureReason::kServerError;
    case 502:
    case 504:
      return FailureReason::kServerError;
    default:
      // A plain 500 is most often a page whose program is broken, today as tomorrow; other numbers
      // of 520 and above are those of gateways that lost the server behind them.
      return status >= 520 && status < 600 ? std::optional(FailureReason::kServerError)
                                           : std::nullopt;
  }
}

}  // namespace

std::optional<FailureReason> failure_reason_of(const HttpResponse& response) {
  switch (response.failure) {
    case FetchError::kNone:
      return reason_of_status(response.status);
    case FetchError::kConnectTimeout:
    case FetchError::kFirstByteTimeout:
    case FetchError::kTimeout:
    case FetchError::kTooSlow:
      return FailureReason::kTimeout;
    case FetchError::kConnect:
    case FetchError::kProxy:
    case FetchError::kConnectionLost:
      return FailureReason::kConnection;
    case FetchError::kResolve:
      // A name that does not exist will not tomorrow.
      return response.resolve_again ? std::optional(FailureReason::kConnection) : std::nullopt;
    case FetchError::kBadResponse:
    case FetchError::kBadHeader:
    case FetchError::kBadEncoding:
    case FetchError::kOther:
      return FailureReason::kServerError;
    case FetchError::kTls:
    case FetchError::kBodyTooLarge:
    case FetchError::kDownloadTooLarge:
    case FetchError::kHeadersTooLarge:
    case FetchError::kAddressRefused:
    case FetchError::kUnwantedType:
    case FetchError::kMemory:
    case FetchError::kAborted:
    case FetchError::kCount:
      break;
  }
  return std::nullopt;
}

bool is_our_own_doing(FetchError error) noexcept {
  return error == FetchError::kMemory || error == FetchError::kAborted;
}

}  // namespace trawl
