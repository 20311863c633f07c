// RedisConnection: a pipeline to one node.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_options.h"
#include "frontier/redis/redis_reply.h"
#include "frontier/redis/redis_socket.h"
#include "frontier/redis/reply_reader.h"

namespace trawl {

// Not thread-safe. Commands are sent in the order queued, and replies come in that order. None is
// sent before the connection is logged in.
class RedisConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Begins to connect; see RedisSocket::start().
  static Result<RedisConnection> start(const RedisAddress& address, const RedisOptions& options,
                                       const RedisTls* tls);
  // Connects and logs in; waits. Errors: kUnavailable, kPermission (with what to do),
  // kInvalidArgument.
  static Result<RedisConnection> open(const RedisAddress& address, const RedisOptions& options,
                                      const RedisTls* tls);

  const RedisAddress& address() const noexcept { return address_; }
  // A command, encoded.
  void queue(std::string_view bytes);
  // The replies to what was queued so far are dropped when they come.
  void forget();
  // Logged in. Before that, no command was sent.
  bool is_ready() const noexcept { return state_ == State::kReady; }

  // For poll().
  int descriptor() const noexcept { return socket_.descriptor(); }
  short events() const noexcept { return socket_.events(); }
  // Connects, sends and receives what it can without waiting, and appends replies. Errors: the
  // connection is broken, and if it was ready, commands without a reply may have been executed:
  // kUnavailable, kCorrupt, kPermission.
  Result<void> advance(std::vector<RedisReply>& replies);
  // The error, if the node has been silent for too long while something was due.
  std::optional<Error> overdue(Time now) const;

 private:
  enum class State { kConnecting, kLoggingIn, kReady };
  RedisConnection(const RedisAddress& address, const RedisOptions& options, RedisSocket socket);
  Result<void> check_login(const RedisReply& reply) const;
  Result<void> take_replies(std::vector<RedisReply>& replies);

  RedisAddress address_;
  RedisSocket socket_;
  ReplyReader reader_;
  State state_ = State::kConnecting;
  std::string login_;  // the command
  std::chrono::milliseconds connect_timeout_, answer_timeout_;
  Time last_sign_;    // of the node, or when it began to have something to do
  std::string held_;  // commands before it is ready
  std::string received_;
  std::size_t awaited_ = 0;
  std::size_t forgotten_ = 0;  // replies to be dropped, before those awaited
};

// A command that has no key, encoded.
std::string encode_command(std::initializer_list<std::string_view> words);

}  // namespace trawl
