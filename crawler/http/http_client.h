// HttpClient: many HTTP transfers on one thread, over libcurl's multi interface and epoll.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "trawl/result.h"

namespace trawl {

struct HttpOptions {
  std::string user_agent;
  std::chrono::milliseconds timeout{30'000};  // for a whole transfer
  std::size_t connections = 100;              // kept alive at most
  bool http2 = true;
  bool allow_private_addresses = false;  // connect to loopback, private and link-local addresses
  std::filesystem::path ca_file;         // PEM; empty: the system's
};

struct HttpRequest {
  std::string url;
  std::uint64_t max_body = 0;  // bytes after decompression; more fails the transfer
  bool truncate_body = false;  // instead of failing, end the transfer there
};

// Redirects are not followed: each request to a host has to wait for its turn.
struct HttpResponse {
  int status = 0;     // 0: no response
  std::string error;  // why the transfer failed; empty if it did not
  std::string content_type;
  // Headers of the last response: those of a 1xx before it do not count.
  std::string location;
  std::string cache_control;  // several lines joined with ", "
  std::string link;           // likewise
  std::string x_robots_tag;   // several lines joined with '\n': each begins for all crawlers
  std::chrono::seconds retry_after{0};  // from when the header came; at most 68 years
  std::chrono::seconds age{0};          // spent in caches on the way; likewise
  std::string body;                     // decompressed
  // When the request was sent; when the transfer ended if it was not.
  std::chrono::steady_clock::time_point sent{};
  std::chrono::milliseconds elapsed{0};
  // From sending the request to the first byte of the response, if there was one.
  std::optional<std::chrono::milliseconds> response_time;
  std::string address;  // the IP address that answered, or was tried last; empty: none
  // The server closed a kept-alive connection instead of answering: worth another request, but not
  // at once.
  bool connection_was_stale = false;
  // The host's address is private, and such ones are not allowed: no other request will do better.
  bool address_refused = false;

  // Whether it sends to `location`.
  bool is_redirect() const noexcept {
    return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
           !location.empty();
  }
};

// Used by one thread, except wake().
class HttpClient {
 public:
  using Done = std::function<void(HttpResponse)>;

  static Result<std::unique_ptr<HttpClient>> create(const HttpOptions& options);
  virtual ~HttpClient() = default;

  // Begins a transfer; `done` is called from run(), and may start others.
  virtual void start(const HttpRequest& request, Done done) = 0;
  // Handles what happens on the network; returns after something happened, `max_wait` passed, or
  // wake() was called.
  virtual void run(std::chrono::milliseconds max_wait) = 0;
  // Makes run() return soon. From any thread.
  virtual void wake() = 0;
  virtual std::size_t active() const = 0;
};

}  // namespace trawl
