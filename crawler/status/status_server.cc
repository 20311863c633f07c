#include "crawler/status/status_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include "crawler/config/listen_address.h"
#include "crawler/log/room_log.h"
#include "crawler/status/status_token.h"

namespace trawl {

namespace {

// File descriptors of the crawl, as Crawl::open() counts them: those of its connections, and the
// idle ones that its threads keep.
std::size_t connections_left(const CrawlConfig& config) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return ListenerLimits{}.connections;
  const std::size_t used = 2 * std::size_t{config.fetch.connections} + 256;
  const std::size_t left = limit.rlim_cur - std::min<std::size_t>(limit.rlim_cur, used);
  return std::clamp<std::size_t>(left / 2, 32, ListenerLimits{}.connections);
}

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::open(const CrawlConfig& config) {
  std::unique_ptr<StatusServer> server(new StatusServer(config.status));
  if (config.status.listen.empty()) return server;
  const auto address = parse_listen_address(config.status.listen);
  if (!address) return tl::unexpected(address.error());
  auto socket = ListeningSocket::open(*address);
  if (!socket) return tl::unexpected(socket.error());
  server->page_ = std::move(*socket);
  return server;
}

Result<void> StatusServer::start(Crawl& crawl, StatusCalls calls) {
  const std::string state_dir = crawl.state_dir();
  std::vector<HttpListener::Socket> sockets;
  if (auto control = ControlSocket::open(state_dir)) {
    control_.emplace(std::move(*control));
    sockets.push_back({.descriptor = control_->descriptor(), .control_socket = true});
  } else {
    room_log(LogRoom::kStatus)
        .warn("{}: commands such as trawl status cannot reach this crawl", control.error().message);
  }
  if (page_) {
    auto token = status_token(state_dir);
    if (!token) return tl::unexpected(token.error());
    rules_.emplace(page_->address(), std::move(*token), config_.token);
    sockets.push_back({.descriptor = page_->descriptor()});
  }
  api_ = std::make_unique<StatusApi>(crawl, std::move(calls), rules_ ? &*rules_ : nullptr);
  if (sockets.empty()) return {};
  ListenerLimits limits;
  limits.connections = connections_left(crawl.config());
  auto listener = HttpListener::start(sockets, *api_, limits);
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

void StatusServer::sample() {
  if (api_) api_->sample();
}

void StatusServer::crawl_has_ended() {
  if (api_) api_->crawl_has_ended();
}

void StatusServer::stop() {
  listener_.reset();
  control_.reset();
}

}  // namespace trawl
