// failure_reason_of: which answers are worth another try, and what they say of the host.
#pragma once

#include <optional>

#include "trawl/frontier.h"

#include "crawler/http/http_client.h"

namespace trawl {

// Nothing: the URL ends with this answer, be it good or bad.
std::optional<FailureReason> failure_reason_of(const HttpResponse& response);

// Why there is no robots.txt, which makes its host back off in any case.
FailureReason robots_failure_of(const HttpResponse& response);

// True if it failed before the server was asked for the URL: that says nothing of the URL.
bool failed_before_request(std::optional<FetchError> error) noexcept;
// True if no answer came, for whatever reason: perhaps the whole host is down.
bool is_silence(FailureReason reason) noexcept;

// True if the fetch was ended for reasons of our own: the URL goes back to its queue.
bool is_our_own_doing(std::optional<FetchError> error) noexcept;

}  // namespace trawl
