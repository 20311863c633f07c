// CrawlSteering: what other threads ask of a running crawl. See the steering calls of Crawl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trawl/frontier.h"

#include "crawler/run/crawl_context.h"
#include "crawler/run/crawl_control.h"

namespace trawl {

// Thread-safe.
class CrawlSteering {
 public:
  // All must outlive the object. `frontier`: one that does not wait while it is out of reach.
  // `wake`: wakes all fetchers.
  CrawlSteering(CrawlContext& context, Frontier& frontier, std::function<void()> wake)
      : context_(context), frontier_(frontier), wake_(std::move(wake)) {}

  // See the members of Crawl with the same names.
  void pause(PauseReason reason);
  void unpause(PauseReason reason);
  Result<OfferReport> offer(std::span<const OfferedUrl> urls);
  Result<std::vector<HostRow>> hosts(HostOrder order, std::size_t limit) const;
  Result<HostRow> host(const std::string& name) const;

 private:
  CrawlContext& context_;
  Frontier& frontier_;
  const std::function<void()> wake_;
};

}  // namespace trawl
