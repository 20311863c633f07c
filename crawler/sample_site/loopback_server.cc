#include "crawler/sample_site/loopback_server.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mutex.h"

namespace trawl {

namespace {

constexpr int kBacklog = 1024;
constexpr int kKeepAliveSeconds = 600;

// Runs each connection on its own thread: a crawler may keep any number open, and with a pool of
// fixed size, further connections would wait until others are closed.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> connection) override {
    {
      const MutexLock lock(running_->mutex);
      ++running_->count;
    }
    auto run = [running = running_, connection = std::move(connection)] {
      connection();
      const MutexLock lock(running->mutex);
      --running->count;
      running->ended.notify_all();
    };
    try {
      std::thread(run).detach();
    } catch (const std::system_error&) {
      run();  // no more threads: other connections wait meanwhile
    }
  }

  void shutdown() override {
    Running& running = *running_;
    const MutexLock lock(running.mutex);
    while (running.count > 0)
      running.ended.wait(running.mutex);
  }

 private:
  // Shared, since a thread may still use it after the owner has seen the count reach 0.
  struct Running {
    Mutex mutex;
    Condition ended;
    std::size_t count TRAWL_GUARDED_BY(mutex) = 0;
  };
  std::shared_ptr<Running> running_ = std::make_shared<Running>();
};

// A connection for httplib: reads whole buffers from the socket, and sends each reply at once.
class BufferedStream : public httplib::Stream {
 public:
  explicit BufferedStream(socket_t socket) : socket_(socket) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  socket_t socket() const override { return socket_; }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "127.0.0.1";
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    get_remote_ip_and_port(ip, port);
  }

  ssize_t read(char* data, std::size_t size) override {
    if (next_ == filled_) {
      const ssize_t got = ::recv(socket_, input_, sizeof input_, 0);
      if (got <= 0) return got;
      next_ = 0;
      filled_ = static_cast<std::size_t>(got);
    }
    const std::size_t n = std::min(size, filled_ - next_);
    std::memcpy(data, input_ + next_, n);
    next_ += n;
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* data, std::size_t size) override {
    output_.append(data, size);
    return static_cast<ssize_t>(size);
  }

  bool flush() {
    std::size_t sent = 0;
    while (sent < output_.size()) {
      const ssize_t n = ::send(socket_, output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<std::size_t>(n);
    }
    output_.clear();
    return true;
  }

  // Waits until there is data to read, or the connection is shut down.
  void wait() {
    if (next_ < filled_) return;
    pollfd poll_for{socket_, POLLIN, 0};
    while (::poll(&poll_for, 1, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  socket_t socket_;
  char input_[4096];
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::string output_;
};

// Replaces httplib's connection loop, which wakes up a hundred times a second for each connection,
// and whose stop() waits until every idle connection has timed out. This one sleeps, and stop()
// shuts the sockets down.
class HttpServer : public httplib::Server {
 public:
  void raise_backlog() { ::listen(svr_sock_, kBacklog); }

  void cut_connections() {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const socket_t socket : open_)
      ::shutdown(socket, SHUT_RDWR);
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (enter(socket)) {
      BufferedStream stream(socket);
      bool closed = false;
      while (!closed) {
        stream.wait();
        if (!process_request(stream, false, closed, nullptr) || !stream.flush()) break;
      }
    }
    const MutexLock lock(mutex_);
    open_.erase(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  bool enter(socket_t socket) {
    const MutexLock lock(mutex_);
    if (!stopping_) open_.insert(socket);
    return !stopping_;
  }

  Mutex mutex_;
  std::set<socket_t> open_ TRAWL_GUARDED_BY(mutex_);
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
};

std::string gzipped(const std::string& bytes) {
  std::string packed;
  httplib::detail::gzip_compressor compressor;
  const bool good = compressor.compress(bytes.data(), bytes.size(), true,
                                        [&packed](const char* data, std::size_t size) {
                                          packed.append(data, size);
                                          return true;
                                        });
  return good ? packed : std::string();
}

void answer(HttpReply reply, const httplib::Request& request, httplib::Response& response) {
  response.status = reply.status;
  if (!reply.location.empty()) response.set_header("Location", reply.location);
  if (reply.body.empty()) return;
  if (reply.compress &&
      request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos) {
    if (std::string packed = gzipped(reply.body); !packed.empty()) {
      reply.body = std::move(packed);
      response.set_header("Content-Encoding", "gzip");
    }
  }
  // Given a string, httplib would compress every text, with slow Brotli if it can; bytes of a
  // provider are sent unchanged.
  const auto body = std::make_shared<const std::string>(std::move(reply.body));
  response.set_content_provider(
      body->size(), reply.content_type,
      [body](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(body->data() + offset, length);
      });
}

class LoopbackServerImpl : public LoopbackServer {
 public:
  explicit LoopbackServerImpl(Handler handler) : handler_(std::move(handler)) {
    server_.new_task_queue = [] { return new ConnectionThreads; };
    server_.set_keep_alive_max_count(1u << 30);
    server_.set_keep_alive_timeout(kKeepAliveSeconds);
    server_.set_read_timeout(kKeepAliveSeconds);
    server_.set_tcp_nodelay(true);
    // Without SO_REUSEPORT, with which a port in use would be shared silently.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          answer(handler_(request.target), request, response);
          return httplib::Server::HandlerResponse::Handled;
        });
  }
  ~LoopbackServerImpl() override { stop(); }

  // Returns 0 or an errno.
  int bind(const std::string& address, std::uint16_t port) {
    errno = 0;
    if (port == 0) {
      const int chosen = server_.bind_to_any_port(address);
      if (chosen <= 0) return errno == 0 ? EADDRINUSE : errno;
      port_ = static_cast<std::uint16_t>(chosen);
    } else {
      if (!server_.bind_to_port(address, port)) return errno == 0 ? EADDRINUSE : errno;
      port_ = port;
    }
    server_.raise_backlog();
    return 0;
  }

  std::uint16_t port() const override { return port_; }

  void serve() override {
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running())
      std::this_thread::yield();
  }

  void stop() override {
    if (!thread_.joinable()) return;
    server_.cut_connections();
    server_.stop();
    thread_.join();
  }

 private:
  Handler handler_;
  HttpServer server_;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<LoopbackServer>> LoopbackServer::bind(const std::string& address,
                                                             std::uint16_t port, Handler handler) {
  auto server = std::make_unique<LoopbackServerImpl>(std::move(handler));
  const int failure = server->bind(address, port);
  if (failure == 0) return std::unique_ptr<LoopbackServer>(std::move(server));
  const std::string reason = std::generic_category().message(failure);
  if (failure == EADDRINUSE) {
    return error(ErrorCode::kInUse,
                 fmt::format("cannot serve on {}:{}: {}; choose another port, or 0 for a free one",
                             address, port, reason));
  }
  return error(failure == EACCES ? ErrorCode::kPermission : ErrorCode::kIo,
               fmt::format("cannot serve on {}:{}: {}", address, port, reason));
}

}  // namespace trawl
