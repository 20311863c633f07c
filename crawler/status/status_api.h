// StatusApi: the routes of the status server, which read and steer one crawl. See docs/api.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trawl/result.h"

#include "crawler/run/crawl.h"
#include "crawler/status/access_rules.h"
#include "crawler/status/disk_usage.h"
#include "crawler/status/rate_window.h"
#include "crawler/status/request_handler.h"

namespace trawl {

// What the API needs from its owner.
struct StatusCalls {
  // Ends the crawl as the first SIGINT does, or with `now` as the second. Thread-safe.
  std::function<void(bool now)> stop;
  // What `trawl explain --json` prints on a URL. Thread-safe.
  std::function<Result<std::string>(const std::string& url, std::optional<std::uint32_t> depth,
                                    std::optional<std::uint32_t> hops, std::optional<FoundAs> kind)>
      explain = {};
};

class StatusApi final : public RequestHandler {
 public:
  // `rules`: of requests over TCP; null without a TCP socket. All must outlive the object.
  StatusApi(Crawl& crawl, StatusCalls calls, const AccessRules* rules)
      : crawl_(crawl), calls_(std::move(calls)), rules_(rules) {}

  std::optional<ApiReply> refuse(const ApiRequest& request) const override;
  std::size_t max_body(const ApiRequest& request) const override;
  ApiOutcome answer(ApiRequest request) override;
  std::string events() override;

  // Notes how far the crawl is, for the rates. Call often. Thread-safe.
  void sample();
  // From now on nothing can be changed. Thread-safe.
  void crawl_has_ended() {
    // release: pairs with the acquire in ended().
    ended_.store(true, std::memory_order_release);
  }
  bool ended() const {
    // acquire: pairs with the release in crawl_has_ended().
    return ended_.load(std::memory_order_acquire);
  }

  // A route: see kRoutes.
  using Call = ApiReply (StatusApi::*)(const ApiRequest&);

 private:
  ApiReply page(const ApiRequest& request);
  ApiReply health(const ApiRequest& request);
  ApiReply metrics(const ApiRequest& request);
  ApiReply status(const ApiRequest& request);
  ApiReply frontier(const ApiRequest& request);
  ApiReply history(const ApiRequest& request);
  ApiReply hosts(const ApiRequest& request);
  ApiReply host(const ApiRequest& request);
  ApiReply url(const ApiRequest& request);
  ApiReply skipped(const ApiRequest& request);
  ApiReply errors(const ApiRequest& request);
  ApiReply config(const ApiRequest& request);
  ApiReply pause(const ApiRequest& request);
  ApiReply unpause(const ApiRequest& request);
  ApiReply checkpoint(const ApiRequest& request);
  ApiReply stop(const ApiRequest& request);
  ApiReply offer(const ApiRequest& request);
  ApiReply reload(const ApiRequest& request);
  ApiReply change_host(const ApiRequest& request);
  ApiReply done() const;

  friend struct StatusRoutes;

  Crawl& crawl_;
  const StatusCalls calls_;
  const AccessRules* const rules_;
  RateWindow window_;
  DiskUsage disk_;
  std::atomic<bool> ended_{false};
  std::uint64_t errors_shown_ = 0;  // used by events() alone
};

}  // namespace trawl
