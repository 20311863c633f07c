#include "crawler/status/http_listener.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/mutex.h"
#include "crawler/log/room_log.h"
#include "crawler/status/call_thread.h"
#include "crawler/status/request_reader.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;

// How long stop() waits for clients to take their last replies.
constexpr std::chrono::milliseconds kLastReplies{500};
// Texts that wait in a stream whose client reads slowly; later ones are dropped.
constexpr std::size_t kMaxTextsOfStream = 4;
// Two events are never closer than this, however many clients subscribe.
constexpr std::chrono::milliseconds kSmallestEventGap{100};

class HttpListenerImpl;

// A connection, from accept to close.
struct OpenConnection {
  int fd = -1;
  bool control_socket = false;
  bool answering = false;           // a request is complete and not yet answered
  Clock::time_point waiting_since;  // for a complete request
};

// A request, from its first line until its reply is sent.
struct OpenRequest {
  std::uint64_t id = 0;
  HttpListenerImpl* listener = nullptr;
  MHD_Connection* connection = nullptr;
  OpenConnection* of = nullptr;
  ApiRequest request;
  std::size_t max_body = 0;
  std::size_t received = 0;   // bytes of the body
  std::size_t of_bodies = 0;  // of these, in memory
  bool too_large() const { return received > max_body; }
  bool suspended = false;
  std::optional<ApiReply> reply;
  // Of an event stream.
  bool streams = false;
  bool stream_ends = false;
  std::deque<std::shared_ptr<const std::string>> texts;
  std::size_t sent = 0;  // bytes of the first text
};

struct Daemon {
  MHD_Daemon* mhd = nullptr;
  HttpListenerImpl* listener = nullptr;
  bool control_socket = false;
  int epoll = -1;
};

// Paths are compared as sent; parameters are decoded by read_parameter(), which keeps bytes of 0.
std::size_t keep_escapes(void*, MHD_Connection*, char* text) {
  return std::strlen(text);
}

void log_problem(void*, const char* format, va_list arguments) {
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  std::string_view line(text);
  while (line.ends_with('\n'))
    line.remove_suffix(1);
  room_log(LogRoom::kStatus).debug("status server: {}", line);
}

class HttpListenerImpl final : public HttpListener {
 public:
  HttpListenerImpl(RequestHandler& handler, const ListenerLimits& limits)
      : handler_(handler),
        limits_(limits),
        reads_(limits.waiting_calls),
        slow_(limits.waiting_calls) {}

  ~HttpListenerImpl() override {
    reads_.stop();
    slow_.stop();
    if (thread_.joinable()) {
      // release: pairs with the acquire in run(), which sees all replies then.
      stopping_.store(true, std::memory_order_release);
      wake();
      thread_.join();
    }
    for (Daemon& daemon : daemons_) {
      if (daemon.mhd != nullptr) MHD_stop_daemon(daemon.mhd);
    }
  }

  Result<void> start(const std::vector<Socket>& sockets) {
    wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (wake_.get() < 0) return tl::unexpected(system_error(errno, "cannot start a status server"));
    for (const Socket& socket : sockets) {
      if (auto started = start_daemon(socket); !started) return started;
    }
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failure) {
      return error(ErrorCode::kNoSpace,
                   "cannot start a thread for the status server: " + failure.code().message());
    }
    return {};
  }

  // Called by libmicrohttpd, on the listener's thread.
  MHD_Result on_access(MHD_Connection* connection, Daemon& daemon, const char* path,
                       const char* method, const char* data, std::size_t* size, void** state);
  std::int64_t on_stream_ready(OpenRequest& request, char* out, std::size_t size);
  void on_completed(OpenRequest& request);
  void on_connection(MHD_Connection* connection, Daemon& daemon, void** state, bool opened);

 private:
  Result<void> start_daemon(const Socket& socket);
  OpenRequest* begin(MHD_Connection* connection, Daemon& daemon, const char* path,
                     const char* method);
  std::optional<ApiReply> refuse(OpenRequest& request) const;
  MHD_Result take_body(OpenRequest& request, std::string_view data);
  MHD_Result take_outcome(OpenRequest& request);
  MHD_Result defer(OpenRequest& request, DeferredReply deferred);
  MHD_Result subscribe(OpenRequest& request);
  MHD_Result send(OpenRequest& request, const ApiReply& reply);
  void resume(OpenRequest& request);

  void run();
  int milliseconds_to_wait() const;
  void deliver_results();
  void make_events();
  void deliver_events(std::shared_ptr<const std::string> text);
  void close_late_connections();
  void make_room(bool control_socket);
  void finish();
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  }

  RequestHandler& handler_;
  const ListenerLimits limits_;
  std::list<Daemon> daemons_;
  FileDescriptor wake_;
  std::atomic<bool> stopping_{false};

  // Results of other threads.
  Mutex mutex_;
  std::vector<std::pair<std::uint64_t, ApiReply>> results_ TRAWL_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> events_ TRAWL_GUARDED_BY(mutex_);
  bool events_made_ TRAWL_GUARDED_BY(mutex_) = false;

  // Of the listener's thread.
  std::list<OpenConnection> connections_;  // the newest last
  std::map<std::uint64_t, OpenRequest*> requests_;
  std::vector<OpenRequest*> streams_;
  std::size_t bodies_ = 0;  // bytes of the bodies of all requests
  std::uint64_t next_id_ = 1;
  Clock::time_point next_events_{};
  Clock::time_point last_events_{};
  bool making_events_ = false;
  Clock::time_point next_look_{};

  std::thread thread_;
  CallThread reads_;  // they use the members above
  CallThread slow_;
};

MHD_Result call_access(void* cls, MHD_Connection* connection, const char* path, const char* method,
                       const char*, const char* data, std::size_t* size, void** state) {
  Daemon& daemon = *static_cast<Daemon*>(cls);
  return daemon.listener->on_access(connection, daemon, path, method, data, size, state);
}
void call_completed(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
  auto* request = static_cast<OpenRequest*>(*state);
  *state = nullptr;
  if (request != nullptr) request->listener->on_completed(*request);
}
void call_connection(void* cls, MHD_Connection* connection, void** state,
                     MHD_ConnectionNotificationCode code) {
  Daemon& daemon = *static_cast<Daemon*>(cls);
  daemon.listener->on_connection(connection, daemon, state, code == MHD_CONNECTION_NOTIFY_STARTED);
}
ssize_t call_stream(void* cls, std::uint64_t, char* out, std::size_t size) {
  auto& request = *static_cast<OpenRequest*>(cls);
  return static_cast<ssize_t>(request.listener->on_stream_ready(request, out, size));
}

Result<void> HttpListenerImpl::start_daemon(const Socket& socket) {
  const int descriptor = ::fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 3);
  if (descriptor < 0) return tl::unexpected(system_error(errno, "cannot start a status server"));
  Daemon& daemon = daemons_.emplace_back();
  daemon.listener = this;
  daemon.control_socket = socket.control_socket;
  daemon.mhd = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr,
      &call_access, &daemon, MHD_OPTION_EXTERNAL_LOGGER, &log_problem, nullptr,
      MHD_OPTION_LISTEN_SOCKET, descriptor, MHD_OPTION_CONNECTION_LIMIT,
      static_cast<unsigned>(limits_.connections), MHD_OPTION_CONNECTION_TIMEOUT,
      static_cast<unsigned>(limits_.time_without_bytes.count()), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      limits_.request_head, MHD_OPTION_NOTIFY_COMPLETED, &call_completed, &daemon,
      MHD_OPTION_NOTIFY_CONNECTION, &call_connection, &daemon, MHD_OPTION_UNESCAPE_CALLBACK,
      &keep_escapes, nullptr, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_END);
  if (daemon.mhd == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    daemons_.pop_back();
    return tl::unexpected(system_error(reason, "cannot start a status server"));
  }
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon.mhd, MHD_DAEMON_INFO_EPOLL_FD);
  daemon.epoll = info == nullptr ? -1 : info->epoll_fd;
  return {};
}

OpenRequest* HttpListenerImpl::begin(MHD_Connection* connection, Daemon& daemon, const char* path,
                                     const char* method) {
  auto* request = new OpenRequest;
  request->id = next_id_++;
  request->listener = this;
  request->connection = connection;
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  request->of = info == nullptr ? nullptr : static_cast<OpenConnection*>(info->socket_context);
  request->request.method = method;
  request->request.path = path;
  request->request.control_socket = daemon.control_socket;
  read_request(connection, request->request);
  requests_.emplace(request->id, request);
  return request;
}

std::optional<ApiReply> HttpListenerImpl::refuse(OpenRequest& request) const {
  if (const std::string& header = request.request.repeated_header; !header.empty())
    return error_reply(400, fmt::format("the header {} is there twice: send one", header));
  if (auto refused = handler_.refuse(request.request)) return refused;
  request.max_body = handler_.max_body(request.request);
  const char* length = MHD_lookup_connection_value(request.connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
  // libmicrohttpd has checked that it is a number, perhaps a huge one.
  if (length == nullptr) return std::nullopt;
  errno = 0;
  const unsigned long long announced = std::strtoull(length, nullptr, 10);
  if (errno == 0 && announced <= request.max_body) return std::nullopt;
  return error_reply(413, fmt::format("the body has {} bytes; at most {} are taken: send less at "
                                      "a time",
                                      length, request.max_body));
}

MHD_Result HttpListenerImpl::on_access(MHD_Connection* connection, Daemon& daemon, const char* path,
                                       const char* method, const char* data, std::size_t* size,
                                       void** state) {
  auto* request = static_cast<OpenRequest*>(*state);
  if (request == nullptr) {
    request = begin(connection, daemon, path, method);
    *state = request;
    request->reply = refuse(*request);
    // A client that still sends its body when the connection is closed does not see the reply.
    if (request->reply && !may_drain(connection)) return send(*request, *request->reply);
    return MHD_YES;
  }
  if (*size > 0) return take_body(*request, {data, std::exchange(*size, 0)});
  if (request->suspended) return MHD_YES;
  return take_outcome(*request);
}

MHD_Result HttpListenerImpl::take_body(OpenRequest& request, std::string_view data) {
  request.received += data.size();
  if (request.received > kMostDrained) return MHD_NO;
  if (request.reply) return MHD_YES;
  std::string& body = request.request.body;
  if (!request.too_large() && bodies_ + data.size() <= limits_.bodies) {
    body.append(data);
    bodies_ += data.size();
    request.of_bodies += data.size();
    return MHD_YES;
  }
  request.reply =
      request.too_large()
          ? error_reply(413, fmt::format("the body has more than {} bytes: send less at a time",
                                         request.max_body))
          : error_reply(503, "too many large requests wait: ask again later");
  body = std::string();  // "= {}" would keep its memory
  bodies_ -= std::exchange(request.of_bodies, 0);
  return MHD_YES;
}

MHD_Result HttpListenerImpl::take_outcome(OpenRequest& request) {
  if (request.of != nullptr) request.of->answering = true;
  if (request.reply) return send(request, *request.reply);
  ApiOutcome outcome = handler_.answer(std::move(request.request));
  if (const auto* reply = std::get_if<ApiReply>(&outcome)) return send(request, *reply);
  if (auto* deferred = std::get_if<DeferredReply>(&outcome))
    return defer(request, std::move(*deferred));
  return subscribe(request);
}

MHD_Result HttpListenerImpl::defer(OpenRequest& request, DeferredReply deferred) {
  CallThread& lane = deferred.lane == CallLane::kReads ? reads_ : slow_;
  const bool taken = lane.submit([this, id = request.id, make = std::move(deferred.make)] {
    ApiReply reply;
    try {
      reply = make();
    } catch (const std::exception& failure) {
      reply = error_reply(500, failure.what());
    }
    {
      const MutexLock lock(mutex_);
      results_.emplace_back(id, std::move(reply));
    }
    wake();
  });
  if (!taken) return send(request, error_reply(503, "too many requests wait: ask again later"));
  request.suspended = true;
  MHD_suspend_connection(request.connection);
  return MHD_YES;
}

MHD_Result HttpListenerImpl::subscribe(OpenRequest& request) {
  if (streams_.size() >= limits_.event_streams)
    return send(request, error_reply(503, "too many event streams are open: close some"));
  MHD_Response* response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 << 10,
                                                             &call_stream, &request, nullptr);
  if (response == nullptr) return MHD_NO;
  request.streams = true;
  streams_.push_back(&request);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "X-Accel-Buffering", "no");  // for proxies
  const MHD_Result queued = MHD_queue_response(request.connection, MHD_HTTP_OK, response);
  MHD_destroy_response(response);
  next_events_ = std::min(next_events_, std::max(Clock::now(), last_events_ + kSmallestEventGap));
  if (streams_.size() == 1) next_events_ = Clock::now();
  return queued;
}

std::int64_t HttpListenerImpl::on_stream_ready(OpenRequest& request, char* out, std::size_t size) {
  if (request.texts.empty()) {
    if (request.stream_ends) return MHD_CONTENT_READER_END_OF_STREAM;
    request.suspended = true;
    MHD_suspend_connection(request.connection);
    return 0;
  }
  const std::string& text = *request.texts.front();
  const std::size_t n = std::min(size, text.size() - request.sent);
  std::memcpy(out, text.data() + request.sent, n);
  request.sent += n;
  if (request.sent == text.size()) {
    request.texts.pop_front();
    request.sent = 0;
  }
  return static_cast<std::int64_t>(n);
}

MHD_Result HttpListenerImpl::send(OpenRequest& request, const ApiReply& reply) {
  MHD_Response* response = MHD_create_response_from_buffer(
      reply.body.size(), const_cast<char*>(reply.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "X-Frame-Options", "DENY");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
  for (const auto& [name, value] : reply.headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result queued =
      MHD_queue_response(request.connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

void HttpListenerImpl::resume(OpenRequest& request) {
  if (!request.suspended) return;
  request.suspended = false;
  MHD_resume_connection(request.connection);
}

void HttpListenerImpl::on_completed(OpenRequest& request) {
  if (request.of != nullptr) {
    request.of->answering = false;
    request.of->waiting_since = Clock::now();
  }
  bodies_ -= request.of_bodies;
  std::erase(streams_, &request);
  requests_.erase(request.id);
  delete &request;
}

void HttpListenerImpl::on_connection(MHD_Connection* connection, Daemon& daemon, void** state,
                                     bool opened) {
  if (opened) {
    make_room(daemon.control_socket);
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    connections_.push_back({.fd = info == nullptr ? -1 : info->connect_fd,
                            .control_socket = daemon.control_socket,
                            .waiting_since = Clock::now()});
    *state = &connections_.back();
    return;
  }
  const auto* closed = static_cast<OpenConnection*>(*state);
  *state = nullptr;
  std::erase_if(connections_, [closed](const OpenConnection& it) { return &it == closed; });
}

// Closes the connections that wait longest when a socket has nearly all it may have.
void HttpListenerImpl::make_room(bool control_socket) {
  const auto of_socket = [control_socket](const OpenConnection& it) {
    return it.control_socket == control_socket && it.fd >= 0;
  };
  const auto count = std::ranges::count_if(connections_, of_socket);
  if (static_cast<std::size_t>(count) + limits_.connections / 16 + 2 < limits_.connections) return;
  auto oldest = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it) {
    if (!of_socket(*it) || it->answering) continue;
    if (oldest == connections_.end() || it->waiting_since < oldest->waiting_since) oldest = it;
  }
  if (oldest == connections_.end()) return;
  ::shutdown(oldest->fd, SHUT_RDWR);
  oldest->fd = -1;  // libmicrohttpd closes it when it sees the end
}

void HttpListenerImpl::close_late_connections() {
  const auto now = Clock::now();
  if (connections_.empty() || now < next_look_) return;
  next_look_ = now + std::chrono::seconds(1);
  for (OpenConnection& connection : connections_) {
    if (connection.answering || connection.fd < 0) continue;
    if (now - connection.waiting_since < limits_.request_time) continue;
    ::shutdown(connection.fd, SHUT_RDWR);
    connection.fd = -1;
  }
}

void HttpListenerImpl::deliver_results() {
  std::vector<std::pair<std::uint64_t, ApiReply>> results;
  std::shared_ptr<const std::string> events;
  {
    const MutexLock lock(mutex_);
    results.swap(results_);
    events.swap(events_);
    if (std::exchange(events_made_, false)) making_events_ = false;
  }
  for (auto& [id, reply] : results) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) continue;
    found->second->reply = std::move(reply);
    resume(*found->second);
  }
  if (events != nullptr) deliver_events(std::move(events));
}

void HttpListenerImpl::make_events() {
  const auto now = Clock::now();
  if (streams_.empty() || making_events_ || now < next_events_) return;
  last_events_ = now;
  next_events_ = now + limits_.event_interval;
  making_events_ = reads_.submit([this] {
    std::shared_ptr<const std::string> text;
    try {
      text = std::make_shared<const std::string>(handler_.events());
    } catch (const std::exception& failure) {
      room_log(LogRoom::kStatus).debug("status server: {}", failure.what());
    }
    {
      const MutexLock lock(mutex_);
      events_ = std::move(text);
      events_made_ = true;
    }
    wake();
  });
}

void HttpListenerImpl::deliver_events(std::shared_ptr<const std::string> text) {
  if (text->empty()) return;
  for (OpenRequest* stream : streams_) {
    if (stream->texts.size() < kMaxTextsOfStream) stream->texts.push_back(text);
    resume(*stream);
  }
}

int HttpListenerImpl::milliseconds_to_wait() const {
  using std::chrono::milliseconds;
  auto wait = milliseconds::max();
  for (const Daemon& daemon : daemons_) {
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    if (MHD_get_timeout(daemon.mhd, &timeout) != MHD_YES) continue;
    wait = std::min(wait, milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(timeout, 60'000)));
  }
  const auto now = Clock::now();
  const auto until = [&](Clock::time_point time) {
    wait = std::min(wait, std::chrono::ceil<milliseconds>(std::max(time, now) - now));
  };
  if (!streams_.empty() && !making_events_) until(next_events_);
  if (!connections_.empty()) until(next_look_);
  return wait == milliseconds::max() ? -1 : static_cast<int>(wait.count());
}

void HttpListenerImpl::run() {
  std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}};
  for (const Daemon& daemon : daemons_)
    polled.push_back({daemon.epoll, POLLIN, 0});
  // acquire: pairs with the release in the destructor.
  while (!stopping_.load(std::memory_order_acquire)) {
    deliver_results();
    make_events();
    for (const Daemon& daemon : daemons_)
      MHD_run(daemon.mhd);
    close_late_connections();
    ::poll(polled.data(), polled.size(), milliseconds_to_wait());
    std::uint64_t count = 0;
    if ((polled[0].revents & POLLIN) != 0) {
      [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
    }
  }
  finish();
}

// Sends the replies that are ready; libmicrohttpd must not be stopped with suspended connections.
void HttpListenerImpl::finish() {
  deliver_results();
  for (Daemon& daemon : daemons_) {
    const MHD_socket listening = MHD_quiesce_daemon(daemon.mhd);
    if (listening != MHD_INVALID_SOCKET) ::close(listening);
  }
  for (auto& [id, request] : requests_) {
    request->stream_ends = true;
    if (request->suspended && !request->streams && !request->reply)
      request->reply = error_reply(503, "the crawl has ended");
    resume(*request);
  }
  const auto deadline = Clock::now() + kLastReplies;
  while (!requests_.empty() && Clock::now() < deadline) {
    std::vector<pollfd> polled;
    for (const Daemon& daemon : daemons_) {
      MHD_run(daemon.mhd);
      polled.push_back({daemon.epoll, POLLIN, 0});
    }
    ::poll(polled.data(), polled.size(), 10);
  }
  // Streams that suspended themselves again, or never took their texts.
  for (auto& [id, request] : requests_)
    resume(*request);
}

}  // namespace

Result<std::unique_ptr<HttpListener>> HttpListener::start(const std::vector<Socket>& sockets,
                                                          RequestHandler& handler,
                                                          const ListenerLimits& limits) {
  auto listener = std::make_unique<HttpListenerImpl>(handler, limits);
  if (auto started = listener->start(sockets); !started) return tl::unexpected(started.error());
  return std::unique_ptr<HttpListener>(std::move(listener));
}

}  // namespace trawl
