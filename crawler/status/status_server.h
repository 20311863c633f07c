// StatusServer: the control socket of a crawl and, if [status] says so, its status page over TCP.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/run/crawl.h"
#include "crawler/status/access_rules.h"
#include "crawler/status/control_socket.h"
#include "crawler/status/http_listener.h"
#include "crawler/status/listening_socket.h"
#include "crawler/status/status_api.h"

namespace trawl {

class StatusServer {
 public:
  // Opens the TCP socket, before the crawl is opened; nothing is answered yet. Errors: kInUse,
  // kPermission, kIo.
  static Result<std::unique_ptr<StatusServer>> open(const CrawlConfig& config);

  // Answers requests about `crawl`, which must outlive the server or stop(). A control socket that
  // cannot be made is only warned of.
  Result<void> start(Crawl& crawl, StatusCalls calls);
  // Notes how far the crawl is. Call often.
  void sample();
  // From now on nothing can be changed.
  void crawl_has_ended();
  // Closes all connections and removes the control socket.
  void stop();

  // The address of the status page; empty if it is not served.
  std::string url() const { return page_ ? page_->url() : std::string(); }

 private:
  explicit StatusServer(const CrawlConfig::Status& config) : config_(config) {}

  const CrawlConfig::Status config_;
  std::optional<ListeningSocket> page_;
  std::optional<ControlSocket> control_;
  std::optional<AccessRules> rules_;
  std::unique_ptr<StatusApi> api_;
  std::unique_ptr<HttpListener> listener_;
};

}  // namespace trawl
