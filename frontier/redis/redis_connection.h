// RedisConnection: a pipeline to one node.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_options.h"
#include "frontier/redis/redis_reply.h"
#include "frontier/redis/redis_socket.h"
#include "frontier/redis/reply_reader.h"

namespace trawl {

// Not thread-safe. Commands are sent in the order queued, and replies come in that order.
class RedisConnection {
 public:
  // Connects and logs in. Errors: kUnavailable, kPermission (with what to do), kInvalidArgument.
  static Result<RedisConnection> open(const RedisAddress& address, const RedisOptions& options,
                                      const RedisTls* tls);

  const RedisAddress& address() const noexcept { return address_; }
  // A command, encoded.
  void queue(std::string_view bytes);
  std::size_t awaited() const noexcept { return awaited_; }

  // For poll().
  int descriptor() const noexcept { return socket_.descriptor(); }
  short events() const noexcept;
  // Sends and receives what it can without waiting, and appends replies. Errors: kUnavailable or
  // kCorrupt: the connection is broken, and commands without a reply may have been executed.
  Result<void> advance(std::vector<RedisReply>& replies);
  // Sends one command and waits for its reply, at most `patience`.
  Result<RedisReply> ask(std::string_view bytes, std::chrono::milliseconds patience);

 private:
  RedisConnection(RedisAddress address, RedisSocket socket)
      : address_(std::move(address)), socket_(std::move(socket)) {}
  Result<void> log_in(const RedisOptions& options);

  RedisAddress address_;
  RedisSocket socket_;
  ReplyReader reader_;
  std::string received_;
  std::size_t awaited_ = 0;
};

// A command that has no key, encoded.
std::string encode_command(std::initializer_list<std::string_view> words);

}  // namespace trawl
