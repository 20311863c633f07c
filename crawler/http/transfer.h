// Transfer: a request and its response on a libcurl easy handle; reused for further requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <curl/curl.h>

#include "crawler/config/proxy.h"
#include "crawler/http/body_memory_budget.h"
#include "crawler/http/body_reader.h"
#include "crawler/http/connection_addresses.h"
#include "crawler/http/cookie_jars.h"
#include "crawler/http/curl_failure.h"
#include "crawler/http/easy_handle.h"
#include "crawler/http/flood_guard.h"
#include "crawler/http/head_reader.h"
#include "crawler/http/http_client.h"
#include "crawler/http/open_connections.h"
#include "crawler/http/socket_poller.h"
#include "crawler/http/tls_sessions.h"

namespace trawl {

class Transfer;

// State shared by the transfers of a client.
struct TransferContext {
  const HttpOptions options;
  SocketPoller sockets;
  OpenConnections connections{};
  FloodGuard floods;
  HttpClient* client = nullptr;
  std::vector<Transfer*> sending{};  // requests that libcurl sent just now
  std::vector<Transfer*> stalled{};  // transfers that wait for memory
  std::vector<Transfer*> slowed{};   // transfers that wait for HttpOptions::rate
  Placeholders placeholders{};
  std::unordered_map<std::string, TlsSessions> tls_sessions{};  // by proxy, "" without one
};

// Must not move, since libcurl and the budget have its address.
class Transfer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Why the transfer ends; empty if it continues. The text is a message for users.
  struct Verdict {
    std::optional<FetchError> failure;
    std::string reason;
  };

  // For requests over `proxy`, or without a proxy if it is empty.
  Transfer(TransferContext& context, const std::string& proxy);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  HttpClient& client() const noexcept { return *context_.client; }
  CURL* easy() const noexcept { return handle_.get(); }
  const std::string& proxy_text() const noexcept { return proxy_text_; }

  // Starts a request. The handle must be idle.
  Verdict begin(const HttpRequest& request, HttpClient::Done done, std::shared_ptr<CookieJar> jar,
                Time now);
  // The name to resolve next; null if all are resolved, so that the handle may be passed to
  // libcurl.
  const std::string* next_name() const noexcept;
  Verdict resolved(const Resolution& resolution);
  // Asks the gate when the request may begin. Call once all names are resolved.
  StartGate::Answer ask_gate();
  // The gate made it wait, or the wait is over: timeouts do not run in between.
  void set_waiting(Time now);
  // The gate ended it.
  Verdict sent_away(Time not_before);
  // Call each time before the handle is passed to libcurl.
  void prepare(Time now);
  void set_sent(Time now);
  // Checks its timeouts.
  Verdict check(Time now);
  // Returns true if the connection could not be opened in time, but untried addresses remain: pass
  // the handle to libcurl again to try them.
  bool try_other_addresses(CURLcode code);
  bool wants_other_address(Time now) const;
  // Returns true if the kept-alive connection had unread data and was closed before anything was
  // sent: pass the handle to libcurl again to use another connection.
  bool try_other_connection();

  // Ends the transfer for a reason outside libcurl.
  void fail(Verdict verdict);
  // The server floods a TLS connection, which is being ended; it may be this transfer's.
  void on_flood(const void* tls);
  // The response, once libcurl is done with the transfer or never got it.
  HttpResponse finish(CURLcode code, Time now);
  HttpClient::Done take_done() { return std::move(done_); }

  // Continues a stalled transfer after the budget's decision. Returns false if it must end, for the
  // reason in finish().
  bool is_stalled() const noexcept { return stalled_; }
  BodyWaiter::State waiter_state() const;
  bool resume(Time now);
  // Continues a transfer that waits for HttpOptions::rate; it may begin to wait again. Returns
  // false if it must end.
  bool resume_slowed(Time now);

  // Used by the client: position among the active transfers, URL, and the number of uses, which
  // distinguishes a late answer of the resolver from a current one.
  std::size_t place = 0;
  std::size_t url_hash = 0;
  std::uint32_t uses = 0;
  bool in_multi = false;
  bool ended = false;  // only reporting remains

 private:
  enum class Phase : std::uint8_t { kResolving, kConnecting, kWaiting, kReceiving };

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static int on_request(void* self, char* remote_ip, char* local_ip, int remote_port,
                        int local_port);
  static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_close_socket(void* context, curl_socket_t socket);
  static int on_debug(CURL* easy, curl_infotype type, char* data, std::size_t size, void* self);
  static void wake_client(void* client);

  void set_callbacks();
  void reset();
  bool has_room_for(std::size_t more_connections) const;
  bool shares_sessions() const;
  void share_what_is_kept();
  int take_connection(std::string_view remote_ip, int remote_port, int local_port);
  Verdict take_address();
  Verdict check_target();
  std::size_t take_body(std::string_view bytes);
  std::size_t take_header(std::string_view line);
  bool take_head();
  void stall();
  bool waits_for_rate();
  void set_window(Time now);
  curl_socket_t open_socket(curl_sockaddr& address);
  void conclude(CURLcode code);
  bool is_tunnelled() const;
  CurlFailure failure_of(CURLcode code) const;
  Verdict check_speed(Time now);
  std::string server() const;
  std::string_view choose_address();
  void tell_gate(std::optional<Time> when);

  TransferContext& context_;
  const std::string proxy_text_;
  const std::optional<Proxy> proxy_;
  TlsSessions& tls_sessions_;
  EasyHandle handle_;
  HttpClient::Done done_;
  std::function<bool(const HttpResponse&)> accept_;
  std::shared_ptr<CookieJar> jar_;
  std::vector<std::string> secret_fields_;
  std::shared_ptr<StartGate> gate_;
  bool gate_waits_ = false;  // the gate's sent() must be called
  std::optional<Time> waiting_since_;
  std::string asked_address_;      // passed to the gate
  std::string connected_address_;  // only with a gate
  HttpResponse response_;
  HeadReader head_;
  BodyReader body_;

  Endpoint endpoint_;
  ConnectionAddresses addresses_;  // of the server or the proxy
  std::string target_address_;     // for a proxy that needs it
  bool proxy_resolved_ = false;

  Phase phase_ = Phase::kResolving;
  Time begun_{};
  Time connecting_{};
  Time window_begun_{};  // start of the speed measurement
  std::uint64_t window_bytes_ = 0;
  std::chrono::steady_clock::duration paused_{0};  // total time without running timeouts
  // The request was sent in between. On a busy machine they may be far apart: P1 counts from the
  // later, and a host is never thought quicker than it is.
  std::optional<Time> about_to_send_;
  std::optional<Time> sent_;
  std::optional<Time> first_byte_;
  bool sent_before_ = false;
  bool opened_socket_ = false;
  std::vector<int> sockets_;  // opened by this transfer
  OpenConnections::Key connection_ = 0;
  bool unclean_connection_ = false;
  bool reused_ = false;  // the request was sent over a kept-alive connection

  bool stalled_ = false;
  Time stalled_at_{};
  bool slowed_ = false;
  Time slowed_at_{};
  BodyWaiter waiter_;

  Verdict verdict_;  // why it ended for a reason outside libcurl
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace trawl
