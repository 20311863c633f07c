// A cluster answers a command in four ways: with its reply; that it was not executed here (MOVED,
// ASK, or the node is not ready), with an error of its own (WRONGTYPE, OOM), or not at all. Only
// after the second it is certain that sending it again is sending it once.
#include "frontier/redis/redis_client.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace trawl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{20};   // between attempts
constexpr std::chrono::milliseconds kHedge{50};   // after which another node is asked for the map
constexpr std::chrono::milliseconds kGrace{250};  // for replies that are on their way

struct NotReady {
  std::string_view code;
  std::string_view what_to_do;  // empty: it passes
};

// The node did not execute the command, and it, or another one, will.
const NotReady* not_ready(const RedisReply& reply) {
  static constexpr std::array<NotReady, 9> kAll = {{
      {"TRYAGAIN", ""},
      {"CLUSTERDOWN", "masters are away, or slots have no master; see redis-cli --cluster check"},
      {"LOADING", ""},
      {"READONLY", ""},
      {"MASTERDOWN", ""},
      {"BUSY", "another client's script runs; see SCRIPT KILL"},
      {"NOREPLICAS", "see min-replicas-to-write, and start its replicas"},
      {"MISCONF", "it cannot save its data; see its log, and the space on its disk"},
      {"UNKILLABLE", "another client's script runs"},
  }};
  const auto found =
      std::ranges::find_if(kAll, [&](const NotReady& one) { return reply.is_error(one.code); });
  return found == kAll.end() ? nullptr : &*found;
}

// Without the place in the script, which says nothing to its user; and without a full stop.
std::string_view to_be_continued(std::string_view text) {
  text = text.substr(0, text.find(" script: "));
  return text.substr(0, text.find_last_not_of('.') + 1);
}

}  // namespace

struct RedisClient::Waiting {
  std::size_t command = 0;
  std::optional<RedisAddress> ask;  // the node that ASK named, for one attempt
  bool with_text = false;           // its script is not known to the node
  bool pauses = false;              // before the next attempt
};

struct RedisClient::Attempt {
  std::span<const RedisCommand> commands;
  std::vector<RedisAnswer>& answers;
  const Run& how;
  Time until;
  std::vector<RedisExchange> exchanges = {};
};

Result<std::unique_ptr<RedisClient>> RedisClient::connect(RedisOptions options) {
  if (options.addresses.empty())
    return error(ErrorCode::kInvalidArgument, "no address of a Redis node is given");
  std::unique_ptr<RedisClient> client(new RedisClient(std::move(options)));
  if (client->options_.tls) {
    auto tls = RedisTls::create(client->options_.ca_file);
    if (!tls) return tl::unexpected(tls.error());
    client->tls_.emplace(std::move(*tls));
  }
  if (auto read = client->refresh(); !read) return tl::unexpected(read.error());
  return client;
}

// Does not wait until it is connected.
Result<RedisConnection*> RedisClient::connection(const RedisAddress& node) {
  if (const auto found = connections_.find(node); found != connections_.end())
    return &found->second;
  auto started = RedisConnection::start(node, options_, tls_ ? &*tls_ : nullptr);
  if (!started) return tl::unexpected(started.error());
  return &connections_.emplace(node, std::move(*started)).first->second;
}

// Returns when each is done; those that are not by `until` are given up.
void RedisClient::finish(std::span<RedisExchange> exchanges, Time until) {
  while (!std::ranges::all_of(exchanges, &RedisExchange::is_done)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) break;
    RedisExchange::advance(exchanges, std::min(left, std::chrono::milliseconds(100)));
  }
  for (RedisExchange& one : exchanges) {
    one.give_up();
    stale_ = stale_ || one.broken();
    if (!one.broken()) continue;
    const auto connection = connections_.find(one.node());
    if (connection == connections_.end()) continue;
    if (connection->second.is_ready()) ++breaks_[one.node()];
    connections_.erase(connection);
  }
}

Result<void> RedisClient::refresh() {
  const Time until = Clock::now() + options_.connect_timeout + options_.answer_timeout;
  if (auto read = refresh(until); !read) return read;
  ask_for_replicas(options_.answer_timeout);
  return {};
}

// Begins with another node each time: one that is cut off from the others has an old map. One that
// does not answer at once is not waited for.
Result<void> RedisClient::refresh(Time until) {
  std::vector<RedisAddress> nodes = slots_.nodes();
  for (const RedisAddress& address : options_.addresses)
    if (std::ranges::find(nodes, address) == nodes.end()) nodes.push_back(address);
  ++asked_;
  refreshed_ = Clock::now();
  std::optional<Error> last;
  const auto note = [&](const Error& one) {
    // What a person has to repair is worth more than a node that is away.
    if (!last || last->code == ErrorCode::kUnavailable) last = one;
  };
  std::vector<RedisExchange> asked;
  asked.reserve(nodes.size());  // replies are read in place
  std::vector<bool> noted(nodes.size());
  std::size_t next = 0;
  Time next_at = refreshed_;
  bool found = false;
  while (!found && Clock::now() < until) {
    if (next < nodes.size() && Clock::now() >= next_at) {
      auto opened = connection(nodes[(asked_ + next++) % nodes.size()]);
      next_at = opened ? Clock::now() + kHedge : Clock::now();
      if (opened) {
        asked.emplace_back(**opened).add(encode_command({"CLUSTER", "SLOTS"}), 0);
        asked.back().add(encode_command({"ROLE"}), 1);
      } else {
        note(opened.error());
      }
    }
    const bool all_asked = next == nodes.size();
    if (all_asked && std::ranges::all_of(asked, &RedisExchange::is_done)) until = Clock::now();
    RedisExchange::advance(asked, Clock::now() < next_at || all_asked
                                      ? std::chrono::milliseconds(5)
                                      : std::chrono::milliseconds(0));
    for (std::size_t i = 0; i < asked.size() && !found; ++i) {
      if (noted[i] || !asked[i].is_done()) continue;
      noted[i] = true;
      next_at = Clock::now();  // another one, if this one did not help
      const auto read = read_map(asked[i]);
      found = read.has_value();
      if (!read) note(read.error());
    }
  }
  finish(asked, Clock::now());
  if (found) stale_ = false;
  if (found) return {};
  if (!last) last = Error{ErrorCode::kUnavailable, "no Redis node has answered in time"};
  return tl::unexpected(*last);
}

// From the replies to CLUSTER SLOTS and ROLE.
Result<void> RedisClient::read_map(RedisExchange& exchange) {
  RedisReply *map = nullptr, *role = nullptr;
  exchange.visit([&](std::size_t place, RedisReply* reply) { (place == 0 ? map : role) = reply; });
  if (map == nullptr || role == nullptr) return tl::unexpected(exchange.error());
  const RedisAddress& node = exchange.node();
  const auto refused = [&](const RedisReply& reply, std::string_view what) {
    const bool forbidden = reply.is_error("NOPERM");
    return error(forbidden ? ErrorCode::kPermission : ErrorCode::kUnavailable,
                 fmt::format("the Redis node {} does not {}: {}{}", node.text(), what, reply.text,
                             forbidden ? "; allow cluster.username +cluster|slots and +role" : ""));
  };
  if (map->is_array()) return slots_.read(*map, node, Clock::now());
  if (map->text.find("cluster support disabled") == std::string::npos)
    return refused(*map, "say who has which slots");
  if (!role->is_array() || role->elements.size() < 3) return refused(*role, "give its role");
  if (role->elements[0].text != "master") {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("the Redis server {} is a replica, and without cluster mode; give its "
                             "master's address",
                             node.text()));
  }
  slots_.set_single(node, !role->elements[2].elements.empty(), Clock::now());
  return {};
}

// CLUSTER SLOTS leaves out replicas of which the node asked has not heard yet, as in the first
// seconds of a cluster; their master knows them.
void RedisClient::ask_for_replicas(std::chrono::milliseconds patience) {
  if (!slots_.is_cluster()) return;
  std::vector<RedisAddress> nodes;
  for (const RedisAddress& node : slots_.nodes())
    if (!asked_for_replicas_.contains(node)) nodes.push_back(node);
  if (nodes.empty()) return;
  for (const NodeReply& one : ask(nodes, encode_command({"ROLE"}), Clock::now() + patience)) {
    if (!one.reply) continue;
    asked_for_replicas_.insert(one.node);
    const auto& role = one.reply->elements;
    if (role.size() >= 3 && role[0].text == "master" && !role[2].elements.empty())
      slots_.set_replicated(one.node, Clock::now());
  }
}

std::vector<RedisClient::NodeReply> RedisClient::ask(std::span<const RedisAddress> nodes,
                                                     std::string_view command, Time until) {
  std::vector<NodeReply> replies;
  std::vector<RedisExchange> exchanges;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto opened = connection(nodes[i]);
    replies.push_back(
        {.node = nodes[i],
         .reply = opened ? error(ErrorCode::kUnavailable, "") : tl::unexpected(opened.error())});
    if (opened) exchanges.emplace_back(**opened).add(command, i);
  }
  finish(exchanges, until);
  for (RedisExchange& one : exchanges) {
    one.visit([&](std::size_t place, RedisReply* reply) {
      if (reply != nullptr) {
        replies[place].reply = std::move(*reply);
      } else {
        replies[place].reply = tl::unexpected(one.error());
      }
    });
  }
  return replies;
}

std::vector<RedisClient::NodeReply> RedisClient::ask_nodes(
    std::span<const RedisAddress> nodes, std::initializer_list<std::string_view> words) {
  const Time until = Clock::now() + options_.connect_timeout + options_.answer_timeout;
  return ask(nodes, encode_command(words), until);
}

RedisAnswer RedisClient::run_one(const RedisCommand& command, const Run& how) {
  return std::move(run(std::span(&command, 1), how).front());
}

std::vector<RedisAnswer> RedisClient::run(std::span<const RedisCommand> commands, const Run& how) {
  const Time until = Clock::now() + how.patience;
  std::vector<RedisAnswer> answers(commands.size());
  std::vector<Waiting> waiting(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i)
    waiting[i].command = i;
  // A failover is often over when nothing was sent to its node meanwhile; replicas come and go.
  if (stale_ || Clock::now() - refreshed_ >= options_.map_age) {
    if (refresh(until)) ask_for_replicas(kHedge);
  }
  while (!waiting.empty()) {
    Attempt attempt{.commands = commands, .answers = answers, .how = how, .until = until};
    send(attempt, waiting);
    finish(attempt.exchanges, until + kGrace);
    collect(attempt, waiting);
    if (waiting.empty() || Clock::now() >= until) break;
    if (std::ranges::any_of(waiting, [](const Waiting& one) { return one.pauses; })) {
      std::this_thread::sleep_for(kPause);
      if (auto read = refresh(until); !read) {
        for (const Waiting& one : waiting)
          if (one.pauses && answers[one.command].trouble.empty())
            answers[one.command].trouble = read.error().message;
      }
    }
  }
  return answers;
}

// Those of a node are in one exchange, in their order.
void RedisClient::send(Attempt& attempt, std::vector<Waiting>& waiting) {
  attempt.exchanges.reserve(waiting.size());
  std::map<RedisAddress, std::size_t> exchange_of;
  std::map<RedisAddress, std::string> unreachable;
  std::vector<bool> waits;
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    Waiting& one = waiting[at];
    const RedisCommand& command = attempt.commands[one.command];
    std::string& trouble = attempt.answers[one.command].trouble;
    one.pauses = true;
    const auto node = one.ask ? one.ask : slots_.node_of(command.slot());
    if (!node) {
      trouble = fmt::format(
          "no Redis node has slot {} (key {}): a master was lost without a replica, or the cluster "
          "is not complete; see redis-cli --cluster check",
          command.slot(), command.key());
      continue;
    }
    auto known = exchange_of.find(*node);
    if (known == exchange_of.end()) {
      auto opened = unreachable.contains(*node) ? error(ErrorCode::kUnavailable, unreachable[*node])
                                                : connection(*node);
      if (!opened) {
        unreachable[*node] = trouble = opened.error().message;
        stale_ = true;
        one.ask.reset();
        continue;
      }
      known = exchange_of.emplace(*node, attempt.exchanges.size()).first;
      attempt.exchanges.emplace_back(**opened);
      waits.push_back(false);
    }
    std::string bytes = one.ask ? encode_command({"ASKING"}) : std::string();
    RedisExchange& exchange = attempt.exchanges[known->second];
    if (one.ask) exchange.add(std::exchange(bytes, {}));
    command.encode(bytes, one.with_text);
    exchange.add(bytes, at);
    waits[known->second] =
        waits[known->second] || (attempt.how.wait && slots_.has_replicas(command.slot()));
  }
  for (std::size_t i = 0; i < attempt.exchanges.size(); ++i)
    if (waits[i]) attempt.exchanges[i].end_with_wait(attempt.until);
}

// Leaves those that are to be sent again.
void RedisClient::collect(Attempt& attempt, std::vector<Waiting>& waiting) {
  std::vector<bool> again(waiting.size(), true);  // those that were not sent
  for (RedisExchange& one : attempt.exchanges) {
    one.visit([&](std::size_t at, RedisReply* reply) {
      Waiting& what = waiting[at];
      const RedisCommand& command = attempt.commands[what.command];
      RedisAnswer& answer = attempt.answers[what.command];
      what.ask.reset();
      if (reply == nullptr) {
        answer.trouble = one.trouble();
        again[at] = command.repeatable() || !one.was_sent();
        return;
      }
      settle(command, std::move(*reply), one.node(), what, answer);
      again[at] = !answer.reply.has_value();
      if (again[at] || !attempt.how.wait || !slots_.has_replicas(command.slot())) return;
      answer.replicated = one.replicated() || answer.reply->is_error();
      if (answer.replicated) return;
      answer.trouble = one.trouble();
      stale_ = true;  // its replicas may be gone
      // With the connection, the question what has been replicated is lost too.
      if (one.broken() && command.repeatable()) {
        answer.reply.reset();
        again[at] = true;
      }
    });
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < waiting.size(); ++at)
    if (again[at]) waiting[kept++] = waiting[at];
  waiting.resize(kept);
}

// Either the command has its reply, or `waiting` says how it is sent again.
void RedisClient::settle(const RedisCommand& command, RedisReply reply, const RedisAddress& node,
                         Waiting& waiting, RedisAnswer& answer) {
  waiting.pauses = false;
  if (reply.is_error("MOVED")) {
    if (const auto to = redirected_to(reply, node)) slots_.move(command.slot(), *to);
    // A map that is wrong for one slot is wrong for more; and two nodes may send it back and forth.
    waiting.pauses = true;
    answer.trouble = fmt::format("the Redis node {} says: {}", node.text(), reply.text);
    return;
  }
  if (reply.is_error("ASK")) {
    waiting.ask = redirected_to(reply, node);
    answer.trouble = fmt::format("the Redis node {} says: {}", node.text(), reply.text);
    return;
  }
  if (reply.is_error("NOSCRIPT") && !waiting.with_text) {
    waiting.with_text = true;
    return;
  }
  if (const NotReady* const why = not_ready(reply)) {
    waiting.pauses = true;
    answer.trouble = fmt::format("the Redis node {} does not execute commands now: {}", node.text(),
                                 to_be_continued(reply.text));
    if (!why->what_to_do.empty()) answer.trouble += fmt::format("; {}", why->what_to_do);
    return;
  }
  answer.reply = std::move(reply);
  answer.replicated = true;
}

}  // namespace trawl
