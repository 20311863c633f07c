// RedisSocket: a TCP connection to a node, with TLS if asked for; never blocks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/result.h"

#include "base/file_io.h"
#include "frontier/redis/redis_options.h"

struct addrinfo;
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
  // Begins to connect. Only the look-up of a name may wait, not that of an IP address. Errors:
  // kUnavailable, kInvalidArgument for a name that does not exist.
  static Result<RedisSocket> start(const RedisAddress& address, const RedisTls* tls);
  // Goes on connecting, as far as it can without waiting. True when connected, in TLS if asked for.
  // Errors: kUnavailable; kPermission if the certificate is not trusted.
  Result<bool> connect_further();

  // For poll().
  int descriptor() const noexcept { return socket_.get(); }
  short events() const noexcept;
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
  struct FreeAddresses {
    void operator()(addrinfo* found) const noexcept;
  };
  explicit RedisSocket(RedisAddress address) : address_(std::move(address)) {}
  int try_next_address();
  Error cannot_connect(int errno_value) const;
  void set_up_tls(const RedisTls& tls);
  Result<bool> shake_hands();
  void take_encrypted();

  RedisAddress address_;
  FileDescriptor socket_;
  // While connecting: what its name stands for, and the address that is tried after this one.
  std::unique_ptr<addrinfo, FreeAddresses> found_;
  const addrinfo* next_ = nullptr;
  bool connected_ = false;          // in TCP
  bool is_encrypted_ = false;       // TLS has been agreed on
  std::unique_ptr<SSL, Free> ssl_;  // over buffers in memory: it never touches the socket
  std::string out_;                 // as it goes over the network
  std::size_t sent_ = 0;
};

}  // namespace trawl
