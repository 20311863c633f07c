#include "crawler/resp/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace trawl::resp {

namespace {

constexpr std::size_t kMuchToLog = 64 << 20;
constexpr std::string_view kTooManyClients = "-ERR max number of clients reached\r\n";

std::string peer_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  return fmt::format("{}:{}", text, ntohs(v4.sin_port));
}

socklen_t socket_address(const ListenAddress& listen, sockaddr_storage& address) {
  address = {};
  if (listen.ipv6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(listen.port);
    ::inet_pton(AF_INET6, listen.host.c_str(), &v6.sin6_addr);
    return sizeof v6;
  }
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(listen.port);
  ::inet_pton(AF_INET, listen.host.c_str(), &v4.sin_addr);
  return sizeof v4;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Server::Server(ServerOptions options, std::unique_ptr<FilterStore> store)
    : options_(std::move(options)),
      store_(std::move(store)),
      dispatcher_(*store_, *this, options_.defaults, options_.disabled) {}

Server::~Server() {
  flusher_.reset();
  if (saving_) saving_->thread.join();
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  auto store = FilterStore::open(options.store);
  if (!store) return tl::unexpected(store.error());
  std::unique_ptr<Server> server(new Server(std::move(options), std::move(*store)));
  if (auto listening = server->listen(); !listening) return tl::unexpected(listening.error());
  server->raise_descriptor_limit();
  return server;
}

Result<void> Server::watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    return tl::unexpected(system_error(errno, "cannot watch a socket"));
  return {};
}

Result<void> Server::listen() {
  const std::string name = fmt::format("{}:{}", options_.address.host, options_.address.port);
  sockaddr_storage address;
  const socklen_t size = socket_address(options_.address, address);
  listener_ =
      FileDescriptor(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (listener_.get() < 0 ||
      ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.get(), 4096) != 0) {
    return tl::unexpected(system_error(errno, "cannot listen on " + name));
  }
  port_ = port_of(listener_.get());
  counts_.port = port_;
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  wake_ = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (epoll_.get() < 0 || wake_.get() < 0)
    return tl::unexpected(system_error(errno, "cannot wait for clients"));
  if (auto watched = watch(listener_.get()); !watched) return watched;
  return watch(wake_.get());
}

void Server::raise_descriptor_limit() {
  constexpr rlim_t kOthers = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = options_.max_clients + kOthers;
  if (limit.rlim_cur < wanted) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= wanted) return;
  options_.max_clients = limit.rlim_cur > 2 * kOthers ? limit.rlim_cur - kOthers : kOthers;
  options_.note(fmt::format("the system allows {} open files: at most {} clients", limit.rlim_cur,
                            options_.max_clients));
}

Result<void> Server::run(int stop) {
  if (auto watched = watch(stop); !watched) return watched;
  if (!options_.sync_before_reply)
    flusher_ = std::make_unique<LogFlusher>(store_->log(), options_.interval, options_.note);
  while (!stopping_)
    turn(stop);
  return end();
}

void Server::turn(int stop) {
  constexpr int kTick = 500;  // milliseconds
  std::array<epoll_event, 512> events;
  const int ready = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 again_.empty() ? kTick : 0);
  turn_sequence_ = store_->log().sequence();
  std::vector<Connection*> again;
  std::swap(again, again_);
  for (Connection* connection : again) {
    touch(*connection);
    process(*connection);
  }
  for (int i = 0; i < ready; ++i) {
    const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
    if (descriptor == listener_.get()) {
      accept_clients();
    } else if (descriptor == wake_.get()) {
      finish_saving();
    } else if (descriptor == stop) {
      stopping_ = true;
    } else if (const auto found = connections_.find(descriptor); found != connections_.end()) {
      handle(*found->second, events[static_cast<std::size_t>(i)].events);
    }
  }
  end_turn();
  look_after_saving();
}

void Server::accept_clients() {
  constexpr int kAtOnce = 256;
  for (int i = 0; i < kAtOnce; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    FileDescriptor socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0 && (errno == EMFILE || errno == ENFILE) && spare_.get() >= 0) {
      spare_ = FileDescriptor();
      socket = FileDescriptor(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() >= 0) refuse(std::move(socket));
      spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      continue;
    }
    if (socket.get() < 0) return;
    ++counts_.connections;
    if (connections_.size() >= options_.max_clients) {
      refuse(std::move(socket));
    } else {
      add_client(std::move(socket), peer_text(address));
    }
  }
}

void Server::refuse(FileDescriptor socket) {
  ++counts_.rejected;
  ::send(socket.get(), kTooManyClients.data(), kTooManyClients.size(), MSG_NOSIGNAL);
  // What it has sent is read, so that the close does not take the reply away from it.
  ::shutdown(socket.get(), SHUT_WR);
  std::array<char, 4096> thrown_away;
  [[maybe_unused]] const ssize_t n =
      ::recv(socket.get(), thrown_away.data(), thrown_away.size(), MSG_DONTWAIT);
}

void Server::add_client(FileDescriptor socket, std::string address) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int descriptor = socket.get();
  auto connection = std::make_unique<Connection>(std::move(socket), options_.requests, pool_);
  connection->client().id = counts_.connections;
  connection->client().address = std::move(address);
  connection->client().authenticated = options_.defaults.password.empty();
  connection->interest = EPOLLIN;
  if (watch(descriptor)) connections_[descriptor] = std::move(connection);
}

void Server::touch(Connection& connection) {
  if (connection.touched) return;
  connection.touched = true;
  Client& client = connection.client();
  client.turn_begin = client.out.size();
  client.turn_commands = 0;
  touched_.push_back(&connection);
}

void Server::handle(Connection& connection, std::uint32_t events) {
  touch(connection);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  if ((connection.interest & EPOLLIN) == 0) {
    // It waits for the client to read, who has gone.
    connection.dead = connection.dead || (events & (EPOLLHUP | EPOLLERR)) != 0;
    return;
  }
  if (connection.has_unread()) return;
  switch (connection.read()) {
    case Connection::Read::kNothing:
      return;
    case Connection::Read::kEnd:
      // One that sends no more may still read: the replies that it waits for go out first.
      connection.client().closing = true;
      connection.dead = connection.unsent() == 0;
      return;
    case Connection::Read::kSome:
      break;
  }
  if (!connection.draining) process(connection);
}

void Server::process(Connection& connection) {
  if (connection.dead) return;
  connection.process(dispatcher_);
  if (connection.http()) {
    options_.note(
        fmt::format("{} speaks HTTP: its connection is closed", connection.client().address));
    connection.dead = true;
  }
  account(connection);
  limit_client_memory();
  // One frame of the log must not become too large.
  if (store_->log().waiting().bytes > kMuchToLog) static_cast<void>(store_->log().commit());
}

void Server::account(Connection& connection) {
  counts_.buffer_bytes += connection.memory() - connection.accounted;
  connection.accounted = connection.memory();
}

// While all clients take too much, the one that takes most is closed; first of those who have not
// given the password.
void Server::limit_client_memory() {
  const std::size_t little = options_.client_memory / options_.max_clients;
  while (counts_.buffer_bytes > options_.client_memory) {
    const auto burden = [little](const auto& each) {
      const Connection& connection = *each.second;
      const bool much = connection.accounted > little;
      return std::pair(much && !connection.client().authenticated, connection.accounted);
    };
    const auto largest = std::ranges::max_element(connections_, {}, burden);
    if (largest == connections_.end() || largest->second->accounted <= little) return;
    close_for_memory(*largest->second);
  }
}

void Server::close_for_memory(Connection& connection) {
  constexpr std::size_t kMuch = 128 << 10;
  touch(connection);
  const bool unread = connection.unsent() > kMuch;
  if (!unread && !connection.client().closing) {
    connection.refuse("OOM the memory for requests and replies of all clients is used up");
    return account(connection);
  }
  if (unread) {
    options_.note(
        fmt::format("{} does not read its replies: its connection is closed, since the "
                    "memory for replies is used up",
                    connection.client().address));
  }
  connection.dead = true;
  counts_.buffer_bytes -= std::exchange(connection.accounted, 0);
}

void Server::end_turn() {
  if (!touched_.empty()) make_durable();
  // It may grow meanwhile, by clients that are closed for their memory.
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    Connection* const connection = touched_[i];
    if (!connection->dead) settle(*connection);
    connection->touched = false;
    if (connection->dead) close(*connection);
  }
  touched_.clear();
  if (!draining_.empty()) end_drained();
}

// Replies go out after this.
void Server::make_durable() {
  FilterLog& log = store_->log();
  const FilterLog::Waiting waiting = log.waiting();
  if (!waiting.any) return;
  // While the log fails nothing is changed, and lookups go on.
  if (log.failing() && log.sequence() == turn_sequence_) return;
  const bool late = Clock::now() - waiting.since > options_.interval || waiting.bytes > kMuchToLog;
  constexpr std::size_t kSome = 1 << 20;
  if (flusher_ && waiting.bytes > kSome) flusher_->hurry();
  if (!options_.sync_before_reply && (!late || log.failing())) return;
  const bool failed_before = log.failing();
  const auto committed = log.commit();
  if (committed) {
    if (failed_before) options_.note("the log is written again");
    return;
  }
  retry_log_ = Clock::now() + std::chrono::milliseconds(100);
  if (!failed_before) options_.note(committed.error().message + "; changes are refused");
  if (options_.sync_before_reply) fail_turn(committed.error().message);
}

// The log has no place for what this turn changed, so that no reply of it may go out.
void Server::fail_turn(const std::string& why) {
  for (Connection* connection : touched_) {
    Client& client = connection->client();
    if (client.turn_commands == 0) continue;
    client.out.resize(client.turn_begin);
    ReplyWriter reply(client.out, client.version);
    for (std::size_t i = 0; i < client.turn_commands; ++i)
      reply.error(fmt::format("MISCONF {}; whether the change is kept is not certain", why));
  }
}

// Sends what can be sent, and waits for what comes next.
void Server::settle(Connection& connection) {
  Client& client = connection.client();
  if (!connection.write()) {
    connection.dead = true;
    return;
  }
  account(connection);
  limit_client_memory();
  if (connection.dead) return;
  if (client.closing && connection.unsent() == 0 && !connection.draining) {
    connection.drain();
    draining_.emplace_back(connection.socket(), client.id);
  }
  if (connection.has_more()) again_.push_back(&connection);
  const bool reads = connection.draining || (!client.closing && !connection.is_stalled());
  const std::uint32_t wanted = (reads ? std::uint32_t{EPOLLIN} : 0U) |
                               (connection.unsent() > 0 ? std::uint32_t{EPOLLOUT} : 0U);
  if (wanted == connection.interest) return;
  epoll_event event{};
  event.events = wanted;
  event.data.fd = connection.socket();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket(), &event) != 0)
    connection.dead = true;
  connection.interest = wanted;
}

void Server::end_drained() {
  const auto now = Clock::now();
  std::size_t ended = 0;
  for (const auto& [descriptor, client] : draining_) {
    const auto found = connections_.find(descriptor);
    const bool there = found != connections_.end() && found->second->client().id == client;
    if (there && now < found->second->drain_until) break;
    if (there) close(*found->second);
    ++ended;
  }
  draining_.erase(draining_.begin(), draining_.begin() + static_cast<std::ptrdiff_t>(ended));
}

void Server::close(Connection& connection) {
  counts_.buffer_bytes -= connection.accounted;
  std::erase(again_, &connection);
  connections_.erase(connection.socket());
}

}  // namespace trawl::resp
