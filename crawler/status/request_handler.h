// RequestHandler: what HttpListener asks about each request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "crawler/status/api_reply.h"
#include "crawler/status/api_request.h"

namespace trawl {

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  // The next three are called on the listener's thread and must not block.

  // A reply refuses the request before its body is read.
  virtual std::optional<ApiReply> refuse(const ApiRequest& request) const = 0;
  // How many bytes the body may have.
  virtual std::size_t max_body(const ApiRequest& request) const = 0;
  virtual ApiOutcome answer(ApiRequest request) = 0;

  // The text of the events (text/event-stream) since the last call. Called each second on a thread
  // of its own, only while there are subscribers.
  virtual std::string events() = 0;
};

}  // namespace trawl
