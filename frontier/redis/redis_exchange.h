// RedisExchange: the commands of one call to one node, and their replies.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontier/redis/redis_connection.h"
#include "frontier/redis/redis_options.h"
#include "frontier/redis/redis_reply.h"

namespace trawl {

class RedisExchange {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Until it is done, `connection` must live, and has no other exchange.
  explicit RedisExchange(RedisConnection& connection)
      : connection_(&connection), node_(connection.address()) {}

  // A command whose reply is that of the `place` given to visit().
  void add(std::string_view bytes, std::size_t place);
  // One whose reply does not matter.
  void add(std::string_view bytes) { add(bytes, kNone); }
  // WAIT 1, repeated until a replica has everything or `until` has come.
  void end_with_wait(Time until);

  const RedisAddress& node() const { return node_; }
  bool is_done() const { return broken_ || given_up_ || replies_.size() == expected_.size(); }
  // The connection is broken: to be closed.
  bool broken() const { return broken_; }
  bool replicated() const { return replicated_; }
  // Whether a command without a reply may have been executed.
  bool was_sent() const { return was_sent_; }
  // Why a reply is missing, or no replica has the writes.
  const std::string& trouble() const { return trouble_.message; }
  const Error& error() const { return trouble_; }
  // Stops waiting: replies that come later are dropped.
  void give_up();
  // Calls `visit` with the place of each command, and its reply or nothing.
  template <class Visit>
  void visit(const Visit& visit) {
    for (std::size_t i = 0; i < expected_.size(); ++i)
      if (expected_[i] != kNone) visit(expected_[i], i < replies_.size() ? &replies_[i] : nullptr);
  }

  // Sends and receives what is there for all of them, and waits for that for `patience` at most.
  static void advance(std::span<RedisExchange> exchanges, std::chrono::milliseconds patience);

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  void advance();
  void break_off(Error why);

  RedisConnection* connection_;
  RedisAddress node_;
  std::vector<std::size_t> expected_;  // for each reply, the place of its command
  std::vector<RedisReply> replies_;
  std::optional<Time> waits_until_;
  bool replicated_ = false;
  bool broken_ = false;
  bool given_up_ = false;
  bool was_sent_ = false;
  Error trouble_{ErrorCode::kUnavailable, {}};
};

}  // namespace trawl
