// HttpClient: many HTTP transfers on one thread, over libcurl's multi interface and epoll.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

#include "crawler/http/body_budget.h"
#include "crawler/http/body_cut.h"
#include "crawler/http/fetch_error.h"
#include "crawler/http/resolver.h"
#include "crawler/http/start_gate.h"

namespace trawl {

struct HttpResponse;

struct HttpOptions {
  std::string user_agent{};
  // Of a whole transfer, the lookup of the name included. No timer runs while a transfer waits for
  // memory.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds connect_timeout{10'000};     // all addresses and TLS included
  std::chrono::milliseconds first_byte_timeout{20'000};  // from sending the request
  std::uint64_t min_speed = 0;                           // bytes a second of a body; 0: any
  std::chrono::milliseconds min_speed_time{10'000};      // over so long
  std::uint64_t max_header_bytes = 256u << 10;           // of all headers of a response together
  std::size_t connections = 100;                         // kept alive at most
  bool http2 = true;
  // Requests to one host at the same time share an HTTP/2 connection.
  bool multiplex = false;
  bool capture = false;                  // keep heads, and bodies as they came, for archives
  bool keep_encoded = false;             // keep bodies as they came
  bool allow_private_addresses = false;  // connect to loopback, private and link-local addresses
  bool verify_tls = true;
  std::filesystem::path ca_file{};       // PEM; empty: the system's
  ResolverOptions resolver{};            // with the IP version
  std::shared_ptr<BodyBudget> budget{};  // shared with other clients; null: no limit
};

struct HttpRequest {
  std::string url;
  std::uint64_t max_body = 0;  // bytes after decompression; more fails the transfer
  // Bytes before decompression.
  std::uint64_t max_download = std::numeric_limits<std::uint64_t>::max();
  bool truncate_body = false;          // instead of failing at a limit, end the transfer there
  std::vector<std::string> headers{};  // "Name: value"
  std::string proxy{};       // "http://", "https://", "socks4://", "socks4a://", "socks5://" or
                             // "socks5h://", perhaps with user:password@; empty: none
  std::string cookie_jar{};  // cookies are kept with those of this name; empty: none are
  // Asked once, when the headers of the final response are there; false cuts the transfer off.
  std::function<bool(const HttpResponse& head)> accept{};
  // Asked when the headers announce a body beyond a limit: true reads as much of it as the limit
  // lets through, before the transfer fails. Null: none of it.
  std::function<bool(const HttpResponse& head)> wants_part{};
  std::shared_ptr<StartGate> gate{};  // null: it begins at once
};

// Redirects are not followed: each request to a host has to wait for its turn.
struct HttpResponse {
  int status = 0;                     // 0: no response
  std::optional<FetchError> failure;  // the body may have been received in part
  std::string error;                  // `failure` in words; empty if there is none
  // Headers of the last response: those of a 1xx before it do not count.
  std::string content_type;      // of several values the one that counts
  bool nosniff = false;          // X-Content-Type-Options: the content does not tell its type
  std::string content_encoding;  // several lines joined with ", "; `body` is decoded
  std::string etag;
  std::string last_modified;
  std::string location;       // bytes that are not UTF-8 are percent-encoded, in `refresh` as well
  std::string refresh;        // of several lines the first
  std::string cache_control;  // several lines joined with ", "
  std::string link;           // likewise
  std::string x_robots_tag;   // several lines joined with '\n': each begins for all crawlers
  std::chrono::seconds retry_after{0};  // from when the header came; at most 68 years
  std::chrono::seconds age{0};          // spent in caches on the way; likewise
  std::string_view protocol;            // "http/1.0", "http/1.1", "h2"; empty: no response
  std::string body;                     // decompressed
  bool truncated = false;               // there was more than `truncate_body` let through
  // Why the body, or none at all, is not all that the headers were sent for.
  std::optional<BodyCut> cut;
  std::uint64_t encoded_bytes = 0;  // of the body before decompression, so far as it came
  // Only when capturing: the heads with CRLF at the end of each line and without the empty line,
  // in the form of HTTP/1.1 whatever the protocol; of the final response. Credentials for a proxy
  // are left out.
  std::string request_head;
  std::string response_head;
  // Only when capturing, or with keep_encoded: the body as it came, without chunks; empty if `body`
  // is that.
  std::string encoded_body;
  BodyCharge charge;  // the memory of the bodies
  // When the request was sent; when the transfer ended if it was not.
  std::chrono::steady_clock::time_point sent{};
  std::chrono::milliseconds elapsed{0};
  // From sending the request to the first byte of the response, if there was one.
  std::optional<std::chrono::milliseconds> response_time;
  std::string address;  // the IP address that answered, or was tried last; empty: none
  // The server closed a kept-alive connection instead of answering: worth another request, but not
  // at once. Not told of one URL twice in a row: a server may mean it, and that is kConnectionLost
  // as any other.
  bool connection_was_stale = false;
  // The host's address is private, and such ones are not allowed: no other request will do better.
  bool address_refused = false;
  // With kResolve, or kProxy where it is the proxy's name: the name servers failed or stayed silent
  // (Resolution::temporary), and another request may do better.
  bool resolve_again = false;
  // With kResolve: the name servers said that the host does not exist or has no address
  // (Resolution::no_such_host). After a few seconds another request asks them again.
  bool no_such_host = false;
  // With kAborted: HttpRequest::gate said not before. Nothing was sent, and no connection opened.
  std::optional<std::chrono::steady_clock::time_point> not_before;

  // Whether it sends to `location`.
  bool is_redirect() const noexcept {
    return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
           !location.empty();
  }
};

// Of one thread, except wake().
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
