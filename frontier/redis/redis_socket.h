// RedisSocket: a TCP connection to a node, with TLS if asked for; never blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trawl/result.h"

#include "base/file_io.h"
#include "frontier/redis/redis_options.h"

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace trawl {

// What all TLS connections of a client share.
class RedisTls {
 public:
  // Errors: kInvalidArgument if `ca_file` has no certificates.
  static Result<RedisTls> create(const std::string& ca_file);
  SSL_CTX* get() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const noexcept;
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

class RedisSocket {
 public:
  // Connects within options.connect_timeout. Errors: kUnavailable, kInvalidArgument for a name that
  // does not exist; kPermission if the certificate is not trusted.
  static Result<RedisSocket> connect(const RedisAddress& address, const RedisOptions& options,
                                     const RedisTls* tls);

  int descriptor() const noexcept { return socket_.get(); }
  // Bytes to be sent, in addition to those that are there.
  void queue(std::string_view bytes);
  bool has_unsent() const noexcept { return sent_ < out_.size(); }
  // Sends what the socket takes. False if the connection is broken.
  bool send();
  // Appends what has come. False if the connection is broken or has ended.
  bool receive(std::string& out);

 private:
  struct Free {
    void operator()(SSL* ssl) const noexcept;
  };
  RedisSocket() = default;
  Result<void> shake_hands(const RedisAddress& address, const RedisTls& tls,
                           std::chrono::steady_clock::time_point until);
  void take_encrypted();

  FileDescriptor socket_;
  std::unique_ptr<SSL, Free> ssl_;  // over buffers in memory: it never touches the socket
  std::string out_;                 // as it goes over the network
  std::size_t sent_ = 0;
};

}  // namespace trawl
