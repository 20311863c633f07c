// LimitedRequests: what another crawler sent, within HostUrlLimit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/host_url_limit.h"
#include "trawl/lease.h"

namespace trawl {

// Links for which their host has no place are to be held, unless they are known. What was admitted
// before (`again`), is held or only noted as seen needs no place. What has no parent, such as a
// seed, gets one beyond the limit. `limit` and the requests must live longer.
class LimitedRequests {
 public:
  LimitedRequests(HostUrlLimit& limit, std::span<const UrlRequest> requests);
  // Settles the places if answered() was not called.
  ~LimitedRequests();
  LimitedRequests(const LimitedRequests&) = delete;
  LimitedRequests& operator=(const LimitedRequests&) = delete;

  std::span<const UrlRequest> requests() const { return requests_; }
  // The frontier's answers, one for each request. Returns how many exceeded the limit.
  std::uint64_t answered(std::span<const Admission> answers);

 private:
  struct Counted {
    std::size_t request = 0;
    std::optional<HostUrlLimit::Place> place;
    std::string host;  // of one without a place
  };
  void settle(Counted& counted, std::optional<Admission> answer);

  HostUrlLimit& limit_;
  std::vector<UrlRequest> requests_;
  std::vector<Counted> counted_;
  std::vector<std::size_t> beyond_;
};

}  // namespace trawl
