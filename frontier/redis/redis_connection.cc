#include "frontier/redis/redis_connection.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "frontier/redis/redis_command.h"

namespace trawl {

std::string encode_command(std::initializer_list<std::string_view> words) {
  std::string out = fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words)
    append_argument(out, word);
  return out;
}

Result<RedisConnection> RedisConnection::open(const RedisAddress& address,
                                              const RedisOptions& options, const RedisTls* tls) {
  auto socket = RedisSocket::connect(address, options, tls);
  if (!socket) return tl::unexpected(socket.error());
  RedisConnection connection(address, std::move(*socket));
  if (auto in = connection.log_in(options); !in) return tl::unexpected(in.error());
  return connection;
}

Result<void> RedisConnection::log_in(const RedisOptions& options) {
  // PING fails too if a password is needed and none is given.
  const std::string command = options.password.empty() ? encode_command({"PING"})
                              : options.username.empty()
                                  ? encode_command({"AUTH", options.password})
                                  : encode_command({"AUTH", options.username, options.password});
  auto reply = ask(command, options.connect_timeout + options.answer_timeout);
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->is_error()) return {};
  const std::string node = "the Redis node " + address_.text();
  if (reply->is_error("NOAUTH")) {
    return error(ErrorCode::kPermission,
                 node + " asks for a password; set cluster.password_file (and cluster.username)");
  }
  if (reply->is_error("WRONGPASS") || reply->text.find("invalid password") != std::string::npos) {
    return error(ErrorCode::kPermission,
                 node + " refuses the password; check cluster.username and cluster.password_file");
  }
  if (reply->text.find("without any password configured") != std::string::npos) {
    return error(ErrorCode::kPermission,
                 node +
                     " has no password, but one is given; remove cluster.password_file, or "
                     "configure requirepass on every node");
  }
  if (reply->is_error("LOADING") || reply->is_error("BUSY") || reply->is_error("MASTERDOWN")) {
    return error(ErrorCode::kUnavailable, fmt::format("{} is not ready: {}", node, reply->text));
  }
  // PING may be forbidden to a user; the commands that count say so themselves.
  if (reply->is_error("NOPERM")) return {};
  return error(ErrorCode::kUnavailable, fmt::format("{} refuses to log in: {}", node, reply->text));
}

void RedisConnection::queue(std::string_view bytes) {
  socket_.queue(bytes);
  ++awaited_;
}

short RedisConnection::events() const noexcept {
  return static_cast<short>(POLLIN | (socket_.has_unsent() ? POLLOUT : 0));
}

Result<void> RedisConnection::advance(std::vector<RedisReply>& replies) {
  received_.clear();
  const bool intact = socket_.send() && socket_.receive(received_);
  reader_.feed(received_);
  while (awaited_ > 0) {
    auto reply = reader_.next();
    if (!reply) {
      return error(reply.error().code, fmt::format("the node {} does not speak Redis' protocol: {}",
                                                   address_.text(), reply.error().message));
    }
    if (!reply->has_value()) break;
    replies.push_back(std::move(**reply));
    --awaited_;
  }
  if (intact) return {};
  return error(ErrorCode::kUnavailable,
               fmt::format("the Redis node {} closed the connection", address_.text()));
}

Result<RedisReply> RedisConnection::ask(std::string_view bytes,
                                        std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  queue(bytes);
  std::vector<RedisReply> replies;
  for (;;) {
    if (auto advanced = advance(replies); !advanced && replies.empty())
      return tl::unexpected(advanced.error());
    if (!replies.empty()) return std::move(replies.back());
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return error(ErrorCode::kUnavailable,
                   fmt::format("the Redis node {} does not answer within {} ms", address_.text(),
                               patience.count()));
    }
    pollfd waiting{.fd = descriptor(), .events = events(), .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(left.count()));
  }
}

}  // namespace trawl
