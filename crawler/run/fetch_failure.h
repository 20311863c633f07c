// failure_reason_of: which responses are worth a retry, and what they say about the host.
#pragma once

#include <optional>

#include "trawl/frontier.h"

#include "crawler/http/http_client.h"

namespace trawl {

// Returns nothing if the URL ends with this response, good or bad.
std::optional<FailureReason> failure_reason_of(const HttpResponse& response);

// The reason why robots.txt was not fetched; any reason makes its host back off.
FailureReason robots_failure_of(const HttpResponse& response);

// True if the fetch failed before the URL was requested, so that the URL is not to blame.
bool failed_before_request(std::optional<FetchError> error) noexcept;
// True if there was no response: the whole host may be down.
bool is_no_answer(FailureReason reason) noexcept;

// True if the crawler ended the fetch: the URL goes back to its queue.
bool is_local_failure(std::optional<FetchError> error) noexcept;

}  // namespace trawl
