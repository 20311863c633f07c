#include "crawler/run/fetch_failure.h"

namespace trawl {

namespace {

std::optional<FailureReason> reason_of_status(int status) {
  switch (status) {
    case 429:
      return FailureReason::kTooManyRequests;
    case 503:
      return FailureReason::kUnavailable;
    case 408:  // "the client MAY repeat that request" (RFC 9110 section 15.5.9)
    case 425:  // Too Early: valid only for early data, which we do not send
      return FailureReason::kServerError;
    case 502:
    case 504:
      return FailureReason::kServerError;
    default:
      // Not 500: mostly a page whose program fails each time. Codes from 520 on come from gateways
      // that lost the server behind them.
      return status >= 520 && status < 600 ? std::optional(FailureReason::kServerError)
                                           : std::nullopt;
  }
}

}  // namespace

std::optional<FailureReason> failure_reason_of(const HttpResponse& response) {
  if (!response.failure) return reason_of_status(response.status);
  switch (*response.failure) {
    case FetchError::kConnectTimeout:
    case FetchError::kFirstByteTimeout:
    case FetchError::kTimeout:
    case FetchError::kTooSlow:
      return FailureReason::kTimeout;
    case FetchError::kConnect:
    case FetchError::kProxy:
    case FetchError::kConnectionLost:
    case FetchError::kTls:  // a certificate may be renewed; the host is parked until then
      return FailureReason::kConnection;
    case FetchError::kResolve:
      return response.no_such_host ? FailureReason::kNoSuchHost : FailureReason::kConnection;
    case FetchError::kBadResponse:
    case FetchError::kBadHeader:
    case FetchError::kBadEncoding:
    case FetchError::kOther:
      return FailureReason::kServerError;
    case FetchError::kBodyTooLarge:
    case FetchError::kDownloadTooLarge:
    case FetchError::kHeadersTooLarge:
    case FetchError::kAddressRefused:
    case FetchError::kUnwantedType:
    case FetchError::kMemory:
    case FetchError::kAborted:
      break;
  }
  return std::nullopt;
}

FailureReason robots_failure_of(const HttpResponse& response) {
  const auto reason = failure_reason_of(response);
  if (!response.failure)
    return response.status == 429 ? FailureReason::kTooManyRequests : FailureReason::kUnavailable;
  if (reason == FailureReason::kNoSuchHost || reason == FailureReason::kTimeout) return *reason;
  return FailureReason::kConnection;
}

bool failed_before_request(std::optional<FetchError> error) noexcept {
  return error == FetchError::kResolve || error == FetchError::kConnect ||
         error == FetchError::kConnectTimeout || error == FetchError::kProxy ||
         error == FetchError::kTls;
}

bool is_no_answer(FailureReason reason) noexcept {
  return reason == FailureReason::kTimeout || reason == FailureReason::kConnection;
}

bool is_local_failure(std::optional<FetchError> error) noexcept {
  return error == FetchError::kMemory || error == FetchError::kAborted;
}

}  // namespace trawl
