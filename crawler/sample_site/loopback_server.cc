#include "crawler/sample_site/loopback_server.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libdeflate.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace trawl {

namespace {

constexpr int kBacklog = 1024;
constexpr unsigned kMostConnections = 100'000;
constexpr unsigned kKeepAliveSeconds = 600;
constexpr int kGzipLevel = 6;

// From its first line until its reply is sent.
struct OpenRequest {
  std::string target;
  bool has_head = false;
};

struct FreeResponse {
  void operator()(MHD_Response* response) const noexcept { MHD_destroy_response(response); }
};

// Empty if that fails.
std::string gzipped(const std::string& bytes) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> compressor(
      libdeflate_alloc_compressor(kGzipLevel), libdeflate_free_compressor);
  if (!compressor) return {};
  std::string packed(libdeflate_gzip_compress_bound(compressor.get(), bytes.size()), '\0');
  packed.resize(libdeflate_gzip_compress(compressor.get(), bytes.data(), bytes.size(),
                                         packed.data(), packed.size()));
  return packed;
}

bool accepts_gzip(MHD_Connection* connection) {
  const char* accepted =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
  return accepted != nullptr && std::string_view(accepted).find("gzip") != std::string_view::npos;
}

MHD_Result send(MHD_Connection* connection, HttpReply reply) {
  std::string packed;
  if (reply.compress && !reply.body.empty() && accepts_gzip(connection))
    packed = gzipped(reply.body);
  const std::string& body = packed.empty() ? reply.body : packed;
  const std::unique_ptr<MHD_Response, FreeResponse> response(MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY));
  if (!response) return MHD_NO;
  const auto added = [&](const char* name, const std::string& value) {
    return value.empty() || MHD_add_response_header(response.get(), name, value.c_str()) == MHD_YES;
  };
  if (!added(MHD_HTTP_HEADER_LOCATION, reply.location) ||
      !added(MHD_HTTP_HEADER_CONTENT_TYPE, body.empty() ? "" : reply.content_type) ||
      !added(MHD_HTTP_HEADER_CONTENT_ENCODING, packed.empty() ? "" : "gzip"))
    return MHD_NO;
  return MHD_queue_response(connection, static_cast<unsigned>(reply.status), response.get());
}

void* begin_request(void*, const char* target, MHD_Connection*) {
  return std::make_unique<OpenRequest>(OpenRequest{.target = target}).release();
}

void end_request(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
  const std::unique_ptr<OpenRequest> request(
      static_cast<OpenRequest*>(std::exchange(*state, nullptr)));
}

// Called when the head is there, with each piece of the body, and at the end.
MHD_Result answer(void* handler, MHD_Connection* connection, const char*, const char*, const char*,
                  const char*, std::size_t* size, void** state) {
  auto& request = *static_cast<OpenRequest*>(*state);
  if (!std::exchange(request.has_head, true)) return MHD_YES;
  if (std::exchange(*size, 0) > 0) return MHD_YES;
  // An exception must not pass through the library.
  try {
    return send(connection, (*static_cast<LoopbackServer::Handler*>(handler))(request.target));
  } catch (const std::exception& failure) {
    return send(connection, {.status = 500, .content_type = "text/plain", .body = failure.what()});
  }
}

class LoopbackServerImpl final : public LoopbackServer {
 public:
  explicit LoopbackServerImpl(Handler handler) : handler_(std::move(handler)) {}
  ~LoopbackServerImpl() override {
    stop();
    if (socket_ >= 0) ::close(socket_);
  }

  // Returns 0 or an errno. Without SO_REUSEPORT, with which a port in use would be shared silently.
  int bind(const std::string& address, std::uint16_t port) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    sockaddr_in name{};
    socklen_t size = sizeof name;
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1) return EADDRNOTAVAIL;
    auto* const any_name = reinterpret_cast<sockaddr*>(&name);
    if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(socket_, any_name, size) != 0 || ::listen(socket_, kBacklog) != 0 ||
        ::getsockname(socket_, any_name, &size) != 0)
      return errno;
    port_ = ntohs(name.sin_port);
    return 0;
  }

  std::uint16_t port() const override { return port_; }

  Result<void> serve() override {
    errno = 0;
    // If it fails, it may have closed the socket or not; nobody should close it twice.
    const int socket = std::exchange(socket_, -1);
    daemon_ = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr,
        nullptr, &answer, &handler_, MHD_OPTION_LISTEN_SOCKET, socket, MHD_OPTION_CONNECTION_LIMIT,
        kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, kKeepAliveSeconds,
        MHD_OPTION_URI_LOG_CALLBACK, &begin_request, nullptr, MHD_OPTION_NOTIFY_COMPLETED,
        &end_request, nullptr, MHD_OPTION_END);
    if (daemon_ != nullptr) return {};
    const int reason = errno == 0 ? EIO : errno;
    return tl::unexpected(system_error(reason, fmt::format("cannot serve on port {}", port_)));
  }

  void stop() override {
    if (MHD_Daemon* const daemon = std::exchange(daemon_, nullptr)) MHD_stop_daemon(daemon);
  }

 private:
  Handler handler_;
  int socket_ = -1;
  MHD_Daemon* daemon_ = nullptr;
  std::uint16_t port_ = 0;
};

}  // namespace

Result<std::unique_ptr<LoopbackServer>> LoopbackServer::bind(const std::string& address,
                                                             std::uint16_t port, Handler handler) {
  auto server = std::make_unique<LoopbackServerImpl>(std::move(handler));
  const int failure = server->bind(address, port);
  if (failure == 0) return std::unique_ptr<LoopbackServer>(std::move(server));
  Error what = system_error(failure, fmt::format("cannot serve on {}:{}", address, port));
  if (failure == EADDRINUSE) {
    what.code = ErrorCode::kInUse;
    what.message += "; choose another port, or 0 for a free one";
  }
  return tl::unexpected(std::move(what));
}

}  // namespace trawl
