// HttpListener: an HTTP/1.1 server for the status page, the API and the control socket:
// libmicrohttpd with all connections of all its sockets on one thread, which sleeps until a request
// comes.
//
// Bounded for hostile clients: connections (the one that is idle for longest is closed for a new
// one), bytes of a request and of all bodies, seconds until a request is complete, seconds without
// progress, event streams, and deferred calls that wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "trawl/result.h"

#include "crawler/status/request_handler.h"

namespace trawl {

struct ListenerLimits {
  std::size_t connections = 1024;  // of each socket
  std::size_t event_streams = 128;
  std::size_t waiting_calls = 256;
  std::size_t bodies = 32 << 20;                // bytes of the bodies of all requests
  std::size_t request_head = 64 << 10;          // bytes of the request line and the headers
  std::chrono::seconds request_time{30};        // until a request is complete, and idle in between
  std::chrono::seconds time_without_bytes{20};  // during a request or a reply
  std::chrono::milliseconds event_interval{1000};
};

class HttpListener {
 public:
  struct Socket {
    int descriptor = -1;  // listening and not blocking; the listener uses a duplicate
    bool control_socket = false;
  };

  // Starts to answer. `handler` must outlive it. Errors: kIo, kNoSpace.
  static Result<std::unique_ptr<HttpListener>> start(const std::vector<Socket>& sockets,
                                                     RequestHandler& handler,
                                                     const ListenerLimits& limits = {});
  // Waits for the calls that run, sends what is ready, and closes all connections.
  virtual ~HttpListener() = default;
};

}  // namespace trawl
