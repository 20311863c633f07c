// RedisClient: commands to the nodes of a cluster, or to one server, and their answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_command.h"
#include "frontier/redis/redis_connection.h"
#include "frontier/redis/redis_exchange.h"
#include "frontier/redis/redis_options.h"
#include "frontier/redis/redis_reply.h"
#include "frontier/redis/redis_socket.h"
#include "frontier/redis/slot_map.h"

namespace trawl {

// What became of a command.
struct RedisAnswer {
  // Empty: it is not known whether the command was executed. If it was not `once()`, it was sent
  // again and again until the patience ended; an error that ends the wait for a node that recovers
  // (CLUSTERDOWN, LOADING, READONLY and the like) is such a case too.
  std::optional<RedisReply> reply;
  // Whether no failover takes it back: a replica has it, or the node never had one. True without
  // RedisClient::Run::wait too.
  bool replicated = false;
  // Why there is no reply, or no replica has it: for people.
  std::string trouble;
};

// One connection to each node, with AUTH and TLS if asked for. Connecting to a node, or a node that
// does not answer, delays the first attempt of no command to another one; but commands are sent
// again, and a call returns, when all nodes have answered or are overdue.
// What must not wait behind large pipelines needs a client of its own. Not thread-safe.
class RedisClient {
 public:
  // How a call runs.
  struct Run {
    bool wait = false;  // for a replica: WAIT 1 at the end of each node's pipeline
    // How long the call may take, and a little more.
    std::chrono::milliseconds patience{2000};
  };
  // A node's answer to a command that has no key.
  struct NodeReply {
    RedisAddress node;
    Result<RedisReply> reply;
  };

  // Finds the nodes. Errors: of the last address tried, if no address works; kInvalidArgument for a
  // server without cluster mode that is a replica.
  static Result<std::unique_ptr<RedisClient>> connect(RedisOptions options);

  // Sends the commands, those of one node in one pipeline, in their order; all nodes at once.
  // Commands that a node did not execute, because it does not have the slot or is not ready, are
  // sent again, where the slot is then; those without an answer too, except `once()` ones. So a
  // command can overtake an earlier one of its slot. Returns an answer for each.
  std::vector<RedisAnswer> run(std::span<const RedisCommand> commands, const Run& run);
  RedisAnswer run_one(const RedisCommand& command, const Run& run);
  // Sends a command without key to each of these nodes, all at once; an answer for each.
  std::vector<NodeReply> ask_nodes(std::span<const RedisAddress> nodes,
                                   std::initializer_list<std::string_view> words);
  // Reads again which node has which slots. run() does so too when it is needed.
  Result<void> refresh();

  const SlotMap& slots() const noexcept { return slots_; }
  // How often the connection to a node has broken: it may have been started again since.
  std::uint64_t breaks(const RedisAddress& node) const {
    const auto found = breaks_.find(node);
    return found == breaks_.end() ? 0 : found->second;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiting;  // a command without an answer yet
  struct Attempt;  // to send those that wait

  explicit RedisClient(RedisOptions options) : options_(std::move(options)) {}
  Result<RedisConnection*> connection(const RedisAddress& node);
  Result<void> refresh(Time until);
  Result<void> read_map(RedisExchange& exchange);
  void ask_for_replicas(std::chrono::milliseconds patience);
  std::vector<NodeReply> ask(std::span<const RedisAddress> nodes, std::string_view command,
                             Time until);
  void finish(std::span<RedisExchange> exchanges, Time until);
  void send(Attempt& attempt, std::vector<Waiting>& waiting);
  void collect(Attempt& attempt, std::vector<Waiting>& waiting);
  void settle(const RedisCommand& command, RedisReply reply, const RedisAddress& node,
              Waiting& waiting, RedisAnswer& answer);

  RedisOptions options_;
  std::optional<RedisTls> tls_;
  SlotMap slots_{options_.replica_patience};
  std::map<RedisAddress, RedisConnection> connections_;
  std::map<RedisAddress, std::uint64_t> breaks_;
  std::size_t asked_ = 0;  // which node was asked for the map last
  Time refreshed_{};       // when; also without success
  bool stale_ = true;      // something points to another map
  std::set<RedisAddress> asked_for_replicas_;
};

}  // namespace trawl
