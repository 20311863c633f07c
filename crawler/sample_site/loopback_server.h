// LoopbackServer: an HTTP server on one address, with a thread for each connection.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trawl/result.h"

namespace trawl {

struct HttpReply {
  int status = 200;
  std::string content_type{};
  std::string location{};
  std::string body{};
  bool compress = false;  // with gzip, if the client accepts it
};

class LoopbackServer {
 public:
  // Called on many threads; `target`: path and query as received.
  using Handler = std::function<HttpReply(const std::string& target)>;

  // Starts listening; connections wait until serve(). `port` 0 picks a free one. Errors: kInUse,
  // kPermission, kIo.
  static Result<std::unique_ptr<LoopbackServer>> bind(const std::string& address,
                                                      std::uint16_t port, Handler handler);
  virtual ~LoopbackServer() = default;

  virtual std::uint16_t port() const = 0;
  // Errors: kNoSpace, kIo.
  virtual Result<void> serve() = 0;
  // Closes open connections and waits for their threads. May be called twice.
  virtual void stop() = 0;
};

}  // namespace trawl
