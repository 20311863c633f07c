// status_page() and report_page(): the page that shows a crawl, as one HTML text that loads nothing
// from elsewhere: live from the API, or with the numbers of a report in it.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// The live page. It calls /api/v1 with `token`, if there is one. `nonce`, of letters and digits,
// differs in each answer and goes with the answer's Content-Security-Policy.
std::string status_page(std::string_view token, std::string_view nonce);
// The header Content-Security-Policy for it: only script and style with that nonce run, nothing is
// loaded from elsewhere, and no other site may show the page in a frame.
std::string status_page_policy(std::string_view nonce);

// The same page as a file, without buttons. `json` is an object with the answers of the API by
// their names: "status" (required), "history", "hosts", "errors", and "saved_at" (RFC 3339).
std::string report_page(std::string_view json);

}  // namespace trawl
