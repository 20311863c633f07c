// A cluster answers a command in four ways: with its reply; that it was not executed here (MOVED,
// ASK, or the node is not ready), with an error of its own (WRONGTYPE, OOM), or not at all. Only
// after the second it is certain that sending it again is sending it once.
#include "frontier/redis/redis_client.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

namespace trawl {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{20};      // between attempts
constexpr std::chrono::milliseconds kWaitFor{1000};  // of one WAIT

// The node did not execute the command, and it, or another one, will.
bool is_not_ready(const RedisReply& reply) {
  static constexpr std::array<std::string_view, 9> kCodes = {
      "TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY",  "MASTERDOWN",
      "BUSY",     "NOREPLICAS",  "MISCONF", "UNKILLABLE"};
  return std::ranges::any_of(kCodes, [&](std::string_view code) { return reply.is_error(code); });
}

}  // namespace

struct RedisClient::Waiting {
  std::size_t command = 0;
  std::optional<RedisAddress> ask;  // the node that ASK named, for one attempt
  bool with_text = false;           // its script is not known to the node
  bool pauses = false;              // before the next attempt
};

// The pipeline of one node.
class RedisClient::Exchange {
 public:
  Exchange(RedisConnection& connection, const RedisAddress& node)
      : connection_(connection), node_(node) {}

  void add(const RedisCommand& command, const Waiting& waiting, std::size_t at) {
    std::string bytes;
    if (waiting.ask) {
      connection_.queue(encode_command({"ASKING"}));
      expected_.push_back(kNone);
    }
    command.encode(bytes, waiting.with_text);
    connection_.queue(bytes);
    expected_.push_back(at);
  }
  void end_with_wait(Clock::time_point until) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const auto most = std::clamp(left, std::chrono::milliseconds(10), kWaitFor);
    connection_.queue(encode_command({"WAIT", "1", std::to_string(most.count())}));
    expected_.push_back(kNone);
    waits_ = true;
  }

  int descriptor() const { return connection_.descriptor(); }
  short events() const { return connection_.events(); }
  bool is_done() const { return broken_ || replies_.size() == expected_.size(); }
  // Whether something came or went.
  void advance(Clock::time_point until) {
    if (auto advanced = connection_.advance(replies_); !advanced && !is_done()) {
      break_off(advanced.error().message);
      return;
    }
    if (!is_done() || !waits_) return;
    const RedisReply& copies = replies_.back();
    replicated_ = copies.is_integer() && copies.integer >= 1;
    if (copies.is_error()) trouble_ = fmt::format("{} refuses WAIT: {}", node_.text(), copies.text);
    if (!replicated_ && copies.is_integer()) {
      trouble_ =
          fmt::format("no replica of the Redis node {} has acknowledged the write", node_.text());
      if (Clock::now() < until) end_with_wait(until);
    }
  }
  void break_off(std::string why) {
    broken_ = true;
    trouble_ = std::move(why);
  }

  const RedisAddress& node() const { return node_; }
  bool broken() const { return broken_; }
  bool replicated() const { return replicated_; }
  const std::string& trouble() const { return trouble_; }
  // Calls `visit` with the place of each command, and its reply or nothing.
  template <class Visit>
  void visit(const Visit& visit) {
    for (std::size_t i = 0; i < expected_.size(); ++i)
      if (expected_[i] != kNone) visit(expected_[i], i < replies_.size() ? &replies_[i] : nullptr);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  RedisConnection& connection_;
  RedisAddress node_;
  std::vector<std::size_t> expected_;  // for each reply, the place of its command
  std::vector<RedisReply> replies_;
  bool waits_ = false;
  bool replicated_ = false;
  bool broken_ = false;
  std::string trouble_;
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

Result<RedisConnection*> RedisClient::connection(const RedisAddress& node) {
  if (const auto found = connections_.find(node); found != connections_.end())
    return &found->second;
  auto opened = RedisConnection::open(node, options_, tls_ ? &*tls_ : nullptr);
  if (!opened) return tl::unexpected(opened.error());
  return &connections_.emplace(node, std::move(*opened)).first->second;
}

// Asks another node each time: one that is cut off from the others has an old map.
Result<void> RedisClient::refresh() {
  std::vector<RedisAddress> nodes = slots_.nodes();
  for (const RedisAddress& address : options_.addresses)
    if (std::ranges::find(nodes, address) == nodes.end()) nodes.push_back(address);
  ++asked_;
  std::optional<Error> last;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto read = read_map(nodes[(asked_ + i) % nodes.size()]);
    if (read) {
      ask_for_replicas();
      return {};
    }
    // What a person has to repair is worth more than a node that is away.
    if (!last || last->code == ErrorCode::kUnavailable) last = read.error();
  }
  return tl::unexpected(*last);
}

// CLUSTER SLOTS leaves out replicas of which the node asked has not heard yet, as in the first
// seconds of a cluster; their master knows them.
void RedisClient::ask_for_replicas() {
  if (!slots_.is_cluster()) return;
  for (const RedisAddress& node : std::vector<RedisAddress>(slots_.nodes())) {
    if (!asked_for_replicas_.insert(node).second) continue;
    auto opened = connection(node);
    if (!opened) continue;
    auto role = (*opened)->ask(encode_command({"ROLE"}), options_.answer_timeout);
    if (!role) {
      connections_.erase(node);
    } else if (role->elements.size() >= 3 && role->elements[0].text == "master" &&
               !role->elements[2].elements.empty()) {
      slots_.set_replicated(node);
    }
  }
}

Result<void> RedisClient::read_map(const RedisAddress& node) {
  auto opened = connection(node);
  if (!opened) return tl::unexpected(opened.error());
  const auto ask = [&](std::initializer_list<std::string_view> words) {
    auto reply = (*opened)->ask(encode_command(words), options_.answer_timeout);
    if (!reply) connections_.erase(node);
    return reply;
  };
  auto map = ask({"CLUSTER", "SLOTS"});
  if (!map) return tl::unexpected(map.error());
  if (map->is_array()) return slots_.read(*map, node);
  if (map->text.find("cluster support disabled") == std::string::npos) {
    return error(map->is_error("NOPERM") ? ErrorCode::kPermission : ErrorCode::kUnavailable,
                 fmt::format("the Redis node {} does not say who has which slots: {}", node.text(),
                             map->text));
  }
  auto role = ask({"ROLE"});
  if (!role) return tl::unexpected(role.error());
  if (!role->is_array() || role->elements.size() < 3) {
    return error(
        role->is_error("NOPERM") ? ErrorCode::kPermission : ErrorCode::kUnavailable,
        fmt::format("the Redis node {} does not give its role: {}", node.text(), role->text));
  }
  if (role->elements[0].text != "master") {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("the Redis server {} is a replica, and without cluster mode; give its "
                             "master's address",
                             node.text()));
  }
  slots_.set_single(node, !role->elements[2].elements.empty());
  return {};
}

Result<std::vector<RedisClient::NodeReply>> RedisClient::ask_each_node(
    std::initializer_list<std::string_view> words) {
  std::vector<NodeReply> replies;
  for (const RedisAddress& node : std::vector<RedisAddress>(slots_.nodes())) {
    auto opened = connection(node);
    if (!opened) return tl::unexpected(opened.error());
    auto reply = (*opened)->ask(encode_command(words), options_.answer_timeout);
    if (!reply) {
      connections_.erase(node);
      return tl::unexpected(reply.error());
    }
    replies.push_back({.node = node, .reply = std::move(*reply)});
  }
  return replies;
}

RedisAnswer RedisClient::run_one(const RedisCommand& command, const Run& how) {
  return std::move(run(std::span(&command, 1), how).front());
}

std::vector<RedisAnswer> RedisClient::run(std::span<const RedisCommand> commands, const Run& how) {
  const Clock::time_point until = Clock::now() + how.patience;
  std::vector<RedisAnswer> answers(commands.size());
  std::vector<Waiting> waiting(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i)
    waiting[i].command = i;
  while (!waiting.empty()) {
    exchange(commands, how, until, waiting, answers);
    if (waiting.empty() || Clock::now() >= until) break;
    if (std::ranges::any_of(waiting, [](const Waiting& one) { return one.pauses; })) {
      std::this_thread::sleep_for(kPause);
      if (auto read = refresh(); !read) {
        for (const Waiting& one : waiting)
          if (one.pauses && answers[one.command].trouble.empty())
            answers[one.command].trouble = read.error().message;
      }
    }
  }
  return answers;
}

// One attempt for all that wait; leaves those that are to be sent again.
void RedisClient::exchange(std::span<const RedisCommand> commands, const Run& how,
                           Clock::time_point until, std::vector<Waiting>& waiting,
                           std::vector<RedisAnswer>& answers) {
  std::vector<Exchange> exchanges;
  exchanges.reserve(waiting.size());
  std::map<RedisAddress, std::size_t> exchange_of;
  std::map<RedisAddress, std::string> unreachable;
  std::vector<bool> waits;
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    Waiting& one = waiting[at];
    const RedisCommand& command = commands[one.command];
    one.pauses = true;
    const auto node = one.ask ? one.ask : slots_.node_of(command.slot());
    if (!node) {
      answers[one.command].trouble = fmt::format(
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
        unreachable[*node] = answers[one.command].trouble = opened.error().message;
        one.ask.reset();
        continue;
      }
      known = exchange_of.emplace(*node, exchanges.size()).first;
      exchanges.emplace_back(**opened, *node);
      waits.push_back(false);
    }
    exchanges[known->second].add(command, one, at);
    waits[known->second] =
        waits[known->second] || (how.wait && slots_.has_replicas(command.slot()));
  }
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    if (waits[i]) exchanges[i].end_with_wait(until);

  Clock::time_point last_sign = Clock::now();
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<Exchange*> open;
    for (Exchange& one : exchanges) {
      if (one.is_done()) continue;
      open.push_back(&one);
      polled.push_back({.fd = one.descriptor(), .events = one.events(), .revents = 0});
    }
    if (open.empty()) break;
    const int ready = ::poll(polled.data(), polled.size(), 100);
    if (ready > 0) last_sign = Clock::now();
    for (std::size_t i = 0; i < open.size(); ++i)
      if (polled[i].revents != 0) open[i]->advance(until);
    if (Clock::now() - last_sign < options_.answer_timeout) continue;
    for (Exchange* one : open)
      if (!one->is_done()) {
        one->break_off(fmt::format("the Redis node {} does not answer within {} ms",
                                   one->node().text(), options_.answer_timeout.count()));
      }
  }

  std::vector<bool> again(waiting.size(), false);
  for (std::size_t at = 0; at < waiting.size(); ++at)
    again[at] = true;  // those that were not sent
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    Exchange& one = exchanges[i];
    one.visit([&](std::size_t at, RedisReply* reply) {
      Waiting& what = waiting[at];
      const RedisCommand& command = commands[what.command];
      RedisAnswer& answer = answers[what.command];
      what.ask.reset();
      if (reply == nullptr) {
        answer.trouble = one.trouble();
        again[at] = command.repeatable();
        return;
      }
      settle(command, std::move(*reply), one.node(), what, answer);
      again[at] = !answer.reply.has_value();
      if (again[at] || !how.wait || !slots_.has_replicas(command.slot())) return;
      answer.replicated = one.replicated() || answer.reply->is_error();
      if (answer.replicated) return;
      answer.trouble = one.trouble();
      // With the connection, the question what has been replicated is lost too.
      if (one.broken() && command.repeatable()) {
        answer.reply.reset();
        again[at] = true;
      }
    });
    if (one.broken()) connections_.erase(one.node());
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
  if (is_not_ready(reply)) {
    waiting.pauses = true;
    answer.trouble =
        fmt::format("the Redis node {} does not execute commands now: {}", node.text(), reply.text);
    return;
  }
  answer.reply = std::move(reply);
  answer.replicated = true;
}

}  // namespace trawl
