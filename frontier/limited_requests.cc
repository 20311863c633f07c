#include "frontier/limited_requests.h"

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "frontier/common/queue_names.h"

namespace trawl {

namespace {

std::string queue_of(const UrlRequest& request) {
  if (!request.queue.empty()) return std::string(request.queue);
  const auto url = Url::parse(request.url);
  return url ? politeness_group(*url) : host_of_any(request.url);
}

}  // namespace

LimitedRequests::LimitedRequests(HostUrlLimit& limit, std::span<const UrlRequest> requests)
    : limit_(limit), requests_(requests.begin(), requests.end()) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    UrlRequest& request = requests_[i];
    if (request.again || request.hold || request.seen_only) continue;
    std::string host = queue_of(request);
    if (request.parent.empty()) {
      counted_.push_back({.request = i, .place = {}, .host = std::move(host)});
    } else if (const auto place = limit_.take(host, request.url)) {
      counted_.push_back({.request = i, .place = place, .host = {}});
    } else {
      request.hold = limit_.reason();
      beyond_.push_back(i);
    }
  }
}

LimitedRequests::~LimitedRequests() {
  for (Counted& counted : counted_)
    settle(counted, std::nullopt);
}

std::uint64_t LimitedRequests::answered(std::span<const Admission> answers) {
  for (Counted& counted : counted_)
    settle(counted, answers[counted.request]);
  counted_.clear();
  std::uint64_t held = 0;
  for (const std::size_t i : beyond_)
    held += answers[i] == Admission::kHeld ? 1 : 0;
  beyond_.clear();
  return held;
}

void LimitedRequests::settle(Counted& counted, std::optional<Admission> answer) {
  if (counted.place) return limit_.report(*counted.place, answer);
  if (answer) limit_.note(counted.host, requests_[counted.request].url, *answer);
}

}  // namespace trawl
