#include "crawler/sample_site/sample_site.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/mutex.h"
#include "crawler/sample_site/loopback_server.h"
#include "crawler/sample_site/sample_web.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMaxPages = 100'000'000;
constexpr std::uint32_t kMaxHosts = 200;
constexpr std::uint32_t kMaxPageBytes = 10'000'000;
constexpr int kPortAttempts = 20;

std::optional<Error> invalid(const SampleSiteOptions& options) {
  const auto refused = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, "sample site: " + std::move(message)};
  };
  if (options.pages < 1 || options.pages > kMaxPages) {
    return refused(fmt::format("{} pages requested, expected 1 to {}", options.pages, kMaxPages));
  }
  if (options.hosts < 1 || options.hosts > kMaxHosts) {
    return refused(fmt::format("{} hosts requested, expected 1 to {}", options.hosts, kMaxHosts));
  }
  if (options.page_bytes > kMaxPageBytes) {
    return refused(fmt::format("pages of {} bytes requested, expected at most {}",
                               options.page_bytes, kMaxPageBytes));
  }
  return {};
}

// Writes one line per request, before the reply: after a kill of client or server, the file has
// every request that was answered.
class AccessLog {
 public:
  ~AccessLog() {
    if (file_ >= 0) ::close(file_);
  }

  std::optional<Error> open(const std::string& path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file_ >= 0) return {};
    const int error = errno;
    return Error{ErrorCode::kIo, fmt::format("cannot write the access log {}: {}", path,
                                             std::generic_category().message(error))};
  }

  bool write(const std::string& url) const {
    if (file_ < 0) return true;
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    const std::string line = fmt::format("{}.{:06} {}\n", now / 1'000'000, now % 1'000'000, url);
    return ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  }

 private:
  int file_ = -1;
};

class SampleSiteImpl : public SampleSite {
 public:
  SampleSiteImpl(const SampleSiteOptions& options) : options_(options) {}
  ~SampleSiteImpl() override { stop(); }

  std::optional<Error> start() {
    if (!options_.access_log.empty()) {
      if (auto error = log_.open(options_.access_log)) return error;
    }
    const int attempts = options_.port == 0 ? kPortAttempts : 1;
    std::optional<Error> error;
    for (int i = 0; i < attempts; ++i) {
      // A port that is free on one address may be in use on another.
      error = bind_all();
      if (!error) break;
    }
    if (error) return error;
    options_.port = servers_.front()->port();
    web_.emplace(options_);
    for (const auto& server : servers_) {
      if (auto served = server->serve(); !served) return served.error();
    }
    return {};
  }

  std::uint16_t port() const override { return options_.port; }
  std::vector<std::string> seeds() const override { return web_->seeds(); }
  std::vector<std::string> reachable_urls() const override { return web_->reachable_urls(); }

  void stop() override {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    for (const auto& server : servers_)
      server->stop();
  }

 private:
  std::optional<Error> bind_all() {
    servers_.clear();
    const std::uint32_t hosts = SampleWeb(options_).hosts();
    std::uint16_t port = options_.port;
    for (std::uint32_t host = 0; host <= hosts; ++host) {
      const bool outside = host == hosts;
      const std::string address = outside ? SampleWeb::outside_address() : SampleWeb::address(host);
      auto server = LoopbackServer::bind(address, port, [=, this](const std::string& target) {
        return outside ? reply_outside(target) : reply(host, target);
      });
      if (!server) return server.error();
      port = (*server)->port();
      servers_.push_back(std::move(*server));
    }
    return {};
  }

  HttpReply reply(std::uint32_t host, const std::string& target) {
    if (!log_.write(web_->origin(SampleWeb::address(host)) + target)) return log_failed();
    SampleReply reply = web_->reply(host, target);
    if (reply.slow) wait();
    return {reply.status, std::move(reply.content_type), std::move(reply.location),
            std::move(reply.body), reply.compress};
  }

  HttpReply reply_outside(const std::string& target) {
    if (!log_.write(web_->origin(SampleWeb::outside_address()) + target)) return log_failed();
    return {.content_type = "text/html", .body = "<p>This host is not part of the site.\n"};
  }

  static HttpReply log_failed() {
    return {.status = 507, .content_type = "text/plain", .body = "cannot write the access log\n"};
  }

  void wait() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.slow_ms);
    const MutexLock lock(mutex_);
    while (!stopping_ && stopped_.wait_until(mutex_, end)) {
    }
  }

  SampleSiteOptions options_;
  AccessLog log_;
  std::optional<SampleWeb> web_;
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<LoopbackServer>> servers_;
};

}  // namespace

Result<std::unique_ptr<SampleSite>> SampleSite::start(const SampleSiteOptions& options) {
  if (auto problem = invalid(options)) return tl::unexpected<Error>(std::move(*problem));
  auto site = std::make_unique<SampleSiteImpl>(options);
  if (auto error = site->start()) return tl::unexpected<Error>(std::move(*error));
  return std::unique_ptr<SampleSite>(std::move(site));
}

Result<std::vector<std::string>> SampleSite::list(const SampleSiteOptions& options) {
  if (auto problem = invalid(options)) return tl::unexpected<Error>(std::move(*problem));
  if (options.port == 0) {
    return error(ErrorCode::kInvalidArgument, "sample site: listing the URLs needs a port");
  }
  return SampleWeb(options).reachable_urls();
}

}  // namespace trawl
