// HttpClient: many HTTP transfers on one thread, with libcurl's multi interface and epoll.
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

#include "base/rate_limiter.h"
#include "crawler/http/body_memory_budget.h"
#include "crawler/http/body_truncation.h"
#include "crawler/http/fetch_error.h"
#include "crawler/http/resolver.h"
#include "crawler/http/start_gate.h"

namespace trawl {

struct HttpResponse;
class SiteCookies;

struct HttpOptions {
  std::string user_agent{};
  // Limit of a whole transfer, including name resolution. No timer runs while a transfer waits for
  // memory.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds connect_timeout{10'000};     // for all addresses, including TLS
  std::chrono::milliseconds first_byte_timeout{20'000};  // after the request was sent
  std::uint64_t min_speed = 0;                           // bytes per second of a body; 0 disables
  std::chrono::milliseconds min_speed_time{10'000};      // measured over this time
  std::uint64_t max_header_bytes = 256u << 10;           // all headers of a response together
  std::size_t connections = 100;                         // limit of kept-alive connections
  bool http2 = true;
  // Whether concurrent requests to a host share an HTTP/2 connection.
  bool multiplex = false;
  bool capture = false;                  // keep heads, and bodies as received, for archives
  bool keep_encoded = false;             // keep bodies as received
  bool allow_private_addresses = false;  // allow loopback, private and link-local addresses
  bool verify_tls = true;
  std::filesystem::path ca_file{};             // PEM; empty: the system's
  ResolverOptions resolver{};                  // includes the IP version
  std::shared_ptr<BodyMemoryBudget> budget{};  // shared with other clients; null: no limit
  // Of the jars, whose names are those of sites; shared with other clients. Null: each jar has its
  // own cookies.
  std::shared_ptr<SiteCookies> cookies{};
  // Bytes of heads and bodies; shared with other clients. Transfers pause for it, and no timer runs
  // meanwhile. Null: unlimited.
  std::shared_ptr<RateLimiter> rate{};
};

struct HttpRequest {
  std::string url;
  std::uint64_t max_body = 0;  // bytes after decompression; more fails the transfer
  // Bytes before decompression.
  std::uint64_t max_download = std::numeric_limits<std::uint64_t>::max();
  bool truncate_body = false;          // end the transfer at a limit instead of failing
  std::vector<std::string> headers{};  // "Name: value"
  // The body of a POST, application/x-www-form-urlencoded; it is never captured. Empty: a GET.
  std::string form{};
  // Names of fields, in lower case, that are left out of HttpResponse::request_head and
  // response_head. So are Cookie and Set-Cookie if the jar has cookies of the user's file.
  std::vector<std::string> secret_fields{};
  std::string proxy{};       // "http://", "https://", "socks4://", "socks4a://", "socks5://" or
                             // "socks5h://", perhaps with user:password@; empty: none
  std::string cookie_jar{};  // the name of the cookie jar; empty: no cookies
  // Called once, with the headers of the final response; false ends the transfer.
  std::function<bool(const HttpResponse& head)> accept{};
  // Called if the headers announce a body beyond a limit: true reads it up to the limit before the
  // transfer fails. Null: nothing is read.
  std::function<bool(const HttpResponse& head)> wants_part{};
  std::shared_ptr<StartGate> gate{};  // null: begins immediately
};

// Redirects are not followed, since each request to a host has to wait for its turn.
struct HttpResponse {
  int status = 0;                     // 0: no response
  std::optional<FetchError> failure;  // a part of the body may have been received
  std::string error;                  // describes `failure`; empty if none
  // Headers of the final response, without those of 1xx responses.
  std::string content_type;      // if repeated, the one that applies
  bool nosniff = false;          // X-Content-Type-Options: do not sniff the type
  std::string content_encoding;  // several lines joined with ", "; `body` is decoded
  std::string etag;
  std::string last_modified;
  std::string location;       // bytes that are not UTF-8 are percent-encoded, also in `refresh`
  std::string refresh;        // if repeated, the first
  std::string cache_control;  // several lines joined with ", "
  std::string link;           // likewise
  std::string
      x_robots_tag;  // several lines joined with '\n', since each applies to all crawlers at first
  std::chrono::seconds retry_after{0};  // from the time of the header; at most 68 years
  std::chrono::seconds age{0};          // time in caches on the way; likewise
  std::string_view protocol;            // "http/1.0", "http/1.1", "h2"; empty: no response
  std::string body;                     // decompressed
  bool truncated = false;               // truncate_body cut the body
  // Why the body is incomplete or missing.
  std::optional<BodyTruncation> cut;
  std::uint64_t encoded_bytes = 0;  // bytes received of the body, before decompression
  // Only with `capture`: the heads of request and final response, in the form of HTTP/1.1 for any
  // protocol, with CRLF after each line and without the empty line. Credentials for a proxy are
  // removed.
  std::string request_head;
  std::string response_head;
  // Only with `capture` or `keep_encoded`: the body as received, without chunk framing; empty if
  // equal to `body`.
  std::string encoded_body;
  BodyCharge charge;  // the memory of the bodies
  // When the request was sent, or when the transfer ended if it was not sent.
  std::chrono::steady_clock::time_point sent{};
  std::chrono::system_clock::time_point sent_at{};  // the same on the other clock
  std::chrono::milliseconds elapsed{0};
  // From sending the request to the first byte of the response; absent without a response.
  std::optional<std::chrono::milliseconds> response_time;
  std::string address;  // the IP address that responded, or was tried last; empty: none
  // Of the server's name; null without ResolverOptions::keep_records, and if no name server was
  // asked, as with a proxy that resolves names.
  std::shared_ptr<const DnsLookup> lookup;
  // The server closed a kept-alive connection instead of responding: request it again, after the
  // host's delay. Not set twice in a row for one URL, since the server may do so for this URL on
  // purpose; the second time is an ordinary kConnectionLost.
  bool connection_was_stale = false;
  // The host's address is private and not allowed: a retry would not help.
  bool address_refused = false;
  // With kResolve, or kProxy if the proxy's name was resolved: the name servers failed or did not
  // respond (Resolution::temporary), so a retry may help.
  bool resolve_again = false;
  // With kResolve: the name servers answered that the host does not exist or has no address
  // (Resolution::no_such_host). A request after a few seconds queries them again.
  bool no_such_host = false;
  // With kAborted: HttpRequest::gate answered kLater with this time. Nothing was sent, and no
  // connection opened.
  std::optional<std::chrono::steady_clock::time_point> not_before;

  // Whether it is a redirect to `location`.
  bool is_redirect() const noexcept {
    return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
           !location.empty();
  }
};

// For one thread, except wake().
class HttpClient {
 public:
  using Done = std::function<void(HttpResponse)>;

  // Sets libcurl and its TLS library up, which takes a while; create() does so, too. Thread-safe.
  static void set_up_libraries();
  static Result<std::unique_ptr<HttpClient>> create(const HttpOptions& options);
  virtual ~HttpClient() = default;

  // Starts a transfer. `done` is called from run(), and may start others.
  virtual void start(const HttpRequest& request, Done done) = 0;
  // Sends the requests that were started, as run() does first. For callers that are busy until
  // they call run(). Calls no `done`.
  virtual void send() = 0;
  // Handles network events. Returns after an event, `max_wait`, or a call of wake().
  virtual void run(std::chrono::milliseconds max_wait) = 0;
  // Makes run() return soon. Thread-safe.
  virtual void wake() = 0;
  virtual std::size_t active() const = 0;
};

}  // namespace trawl
