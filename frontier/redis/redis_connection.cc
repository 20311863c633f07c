#include "frontier/redis/redis_connection.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "frontier/redis/redis_command.h"

namespace trawl {

using Clock = std::chrono::steady_clock;

std::string encode_command(std::initializer_list<std::string_view> words) {
  std::string out = fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words)
    append_argument(out, word);
  return out;
}

RedisConnection::RedisConnection(const RedisAddress& address, const RedisOptions& options,
                                 RedisSocket socket)
    : address_(address),
      socket_(std::move(socket)),
      // PING fails too if a password is needed and none is given.
      login_(options.password.empty() ? encode_command({"PING"})
             : options.username.empty()
                 ? encode_command({"AUTH", options.password})
                 : encode_command({"AUTH", options.username, options.password})),
      connect_timeout_(options.connect_timeout),
      answer_timeout_(options.answer_timeout),
      last_sign_(Clock::now()) {}

Result<RedisConnection> RedisConnection::start(const RedisAddress& address,
                                               const RedisOptions& options, const RedisTls* tls) {
  auto socket = RedisSocket::start(address, tls);
  if (!socket) return tl::unexpected(socket.error());
  return RedisConnection(address, options, std::move(*socket));
}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address,
                                              const RedisOptions& options, const RedisTls* tls) {
  auto connection = start(address, options, tls);
  std::vector<RedisReply> none;
  while (connection && !connection->is_ready()) {
    pollfd waiting{.fd = connection->descriptor(), .events = connection->events(), .revents = 0};
    ::poll(&waiting, 1, 10);
    if (auto advanced = connection->advance(none); !advanced)
      return tl::unexpected(advanced.error());
    if (const auto late = connection->overdue(Clock::now())) return tl::unexpected(*late);
  }
  return connection;
}

Result<void> RedisConnection::check_login(const RedisReply& reply) const {
  if (!reply.is_error()) return {};
  const std::string node = "the Redis node " + address_.text();
  if (reply.is_error("NOAUTH")) {
    return error(ErrorCode::kPermission,
                 node + " asks for a password; set cluster.password_file (and cluster.username)");
  }
  if (reply.is_error("WRONGPASS") || reply.text.find("invalid password") != std::string::npos) {
    return error(ErrorCode::kPermission,
                 node + " refuses the password; check cluster.username and cluster.password_file");
  }
  if (reply.text.find("without any password configured") != std::string::npos) {
    return error(ErrorCode::kPermission,
                 node +
                     " has no password, but one is given; remove cluster.password_file, or "
                     "configure requirepass on every node");
  }
  if (reply.is_error("LOADING") || reply.is_error("BUSY") || reply.is_error("MASTERDOWN")) {
    return error(ErrorCode::kUnavailable, fmt::format("{} is not ready: {}", node, reply.text));
  }
  // PING may be forbidden to a user; the commands that count say so themselves.
  if (reply.is_error("NOPERM")) return {};
  return error(ErrorCode::kUnavailable, fmt::format("{} refuses to log in: {}", node, reply.text));
}

void RedisConnection::queue(std::string_view bytes) {
  if (is_ready() && awaited_ + forgotten_ == 0) last_sign_ = Clock::now();
  if (is_ready()) {
    socket_.queue(bytes);
  } else {
    held_.append(bytes);
  }
  ++awaited_;
}

void RedisConnection::forget() {
  if (is_ready()) forgotten_ += awaited_;
  held_.clear();
  awaited_ = 0;
}

std::optional<Error> RedisConnection::overdue(Time now) const {
  const auto silent = now - last_sign_;
  if (state_ == State::kConnecting) {
    if (silent < connect_timeout_) return std::nullopt;
    return Error{
        ErrorCode::kUnavailable,
        fmt::format("the Redis node {} cannot be reached within {} ms; check that it runs, "
                    "and the addresses in cluster.redis (and cluster.tls)",
                    address_.text(), connect_timeout_.count())};
  }
  if (is_ready() && awaited_ + forgotten_ == 0) return std::nullopt;
  if (silent < answer_timeout_) return std::nullopt;
  return Error{ErrorCode::kUnavailable,
               fmt::format("the Redis node {} does not answer within {} ms", address_.text(),
                           answer_timeout_.count())};
}

Result<void> RedisConnection::advance(std::vector<RedisReply>& replies) {
  if (state_ == State::kConnecting) {
    const auto connected = socket_.connect_further();
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return {};
    state_ = State::kLoggingIn;
    last_sign_ = Clock::now();
    socket_.queue(login_);
  }
  received_.clear();
  const bool intact = socket_.send() && socket_.receive(received_);
  if (!received_.empty()) last_sign_ = Clock::now();
  reader_.feed(received_);
  if (auto taken = take_replies(replies); !taken) return taken;
  if (intact) return {};
  return error(ErrorCode::kUnavailable,
               fmt::format("the Redis node {} closed the connection{}", address_.text(),
                           is_ready() ? "" : " before it answered; check cluster.tls"));
}

Result<void> RedisConnection::take_replies(std::vector<RedisReply>& replies) {
  while (!is_ready() || awaited_ + forgotten_ > 0) {
    auto reply = reader_.next();
    if (!reply) {
      return error(reply.error().code, fmt::format("the node {} does not speak Redis' protocol: {}",
                                                   address_.text(), reply.error().message));
    }
    if (!reply->has_value()) return {};
    if (!is_ready()) {
      if (auto in = check_login(**reply); !in) return in;
      state_ = State::kReady;
      socket_.queue(std::exchange(held_, {}));
      socket_.send();  // if the connection is broken, the next call finds out
    } else if (forgotten_ > 0) {
      --forgotten_;
    } else {
      replies.push_back(std::move(**reply));
      --awaited_;
    }
  }
  return {};
}

}  // namespace trawl
