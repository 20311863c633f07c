// Transfer: one request and its response on a libcurl easy handle, and after that the next one.
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
#include <sys/socket.h>

#include "crawler/config/proxy.h"
#include "crawler/http/body_budget.h"
#include "crawler/http/body_reader.h"
#include "crawler/http/cookie_jars.h"
#include "crawler/http/curl_failure.h"
#include "crawler/http/easy_handle.h"
#include "crawler/http/flood_guard.h"
#include "crawler/http/head_reader.h"
#include "crawler/http/http_client.h"
#include "crawler/http/open_connections.h"
#include "crawler/http/socket_watch.h"
#include "crawler/http/tls_sessions.h"

namespace trawl {

class Transfer;

// What the transfers of a client share.
struct TransferContext {
  const HttpOptions options;
  SocketWatch sockets;
  OpenConnections connections{};
  FloodGuard floods;
  HttpClient* client = nullptr;
  std::vector<Transfer*> sending{};  // requests that libcurl sent just now
  std::vector<Transfer*> stalled{};  // those that wait for memory
  Placeholders placeholders{};
  std::unordered_map<std::string, TlsSessions> tls_sessions{};  // by proxy, the empty one as well
};

// Its address is given to libcurl and the budget: stays where it is.
class Transfer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Why it is not to go on; empty if it is. The text is for people.
  struct Verdict {
    std::optional<FetchError> failure;
    std::string reason;
  };

  // For requests over that proxy, or over none if the text is empty.
  Transfer(TransferContext& context, const std::string& proxy);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  HttpClient& client() const noexcept { return *context_.client; }
  CURL* easy() const noexcept { return handle_.get(); }
  const std::string& proxy_text() const noexcept { return proxy_text_; }

  // Begins with a request. Nothing else is on the handle.
  Verdict begin(const HttpRequest& request, HttpClient::Done done, std::shared_ptr<CookieJar> jar,
                Time now);
  // The name that has to be looked up next; null if there is none, and the handle may go to
  // libcurl.
  const std::string* next_name() const noexcept;
  Verdict resolved(const Resolution& resolution);
  // When it may begin, once all names were looked up.
  StartGate::Answer ask_gate();
  // It was told to wait, or its wait is over: no clock runs in between.
  void set_waiting(Time now);
  // It was told to come later.
  Verdict sent_away(Time not_before);
  // Before the handle goes to libcurl, each time.
  void prepare(Time now);
  void set_sent(Time now);
  // What its clocks say.
  Verdict check(Time now);
  // The connection could not be opened, or not for too long, but there are addresses that were not
  // tried: those are next, once the handle was with libcurl anew.
  bool try_other_addresses(CURLcode code);
  bool wants_other_address(Time now) const;
  // The kept-alive connection that it was to go over was not clean, and is closed: nothing was
  // sent, and another one is next, once the handle was with libcurl anew.
  bool try_other_connection();

  // Ends it for a reason of ours.
  void fail(Verdict verdict);
  // The server floods that TLS connection, which is ended; perhaps it is this one's.
  void on_flood(const void* tls);
  // What came of it, once libcurl is done with it or it never was there.
  HttpResponse finish(CURLcode code, Time now);
  HttpClient::Done take_done() { return std::move(done_); }

  // The budget has decided on it, which has stalled. False: it has to end, for what finish() says.
  bool is_stalled() const noexcept { return stalled_; }
  BodyWaiter::State waiter_state() const;
  bool resume(Time now);

  // Kept by the client: its place among the active ones, its URL, and how often it has been used,
  // which tells a late answer of the resolver from one that is awaited.
  std::size_t place = 0;
  std::size_t url_hash = 0;
  std::uint32_t uses = 0;
  bool in_multi = false;
  bool ended = false;  // what is left is to report it

 private:
  enum class Phase : std::uint8_t { kResolving, kConnecting, kWaiting, kReceiving };
  struct Address {
    std::string text;
    int family = AF_UNSPEC;
    bool tried = false;
  };

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
  void share_what_is_kept();
  int take_connection(std::string_view remote_ip, int remote_port, int local_port);
  Verdict take_address();
  Verdict check_target();
  void add_address(const std::string& text);
  std::size_t take_body(std::string_view bytes);
  std::size_t take_header(std::string_view line);
  bool take_head();
  void stall();
  curl_socket_t open_socket(curl_sockaddr& address);
  void conclude(CURLcode code);
  bool is_tunnelled() const;
  CurlFailure failure_of(CURLcode code) const;
  Verdict check_speed(Time now);
  bool has_untried() const;
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
  std::shared_ptr<StartGate> gate_;
  bool gate_waits_ = false;  // to be told when the request was sent
  std::optional<Time> waiting_since_;
  std::string asked_address_;      // that the gate was asked with
  std::string connected_address_;  // with a gate
  HttpResponse response_;
  HeadReader head_;
  BodyReader body_;

  Endpoint endpoint_;
  std::vector<Address> addresses_;  // of the server, or of the proxy
  std::string target_address_;      // for a proxy that wants one
  bool proxy_resolved_ = false;
  std::string tried_;  // the last address that was tried
  bool address_refused_ = false;

  Phase phase_ = Phase::kResolving;
  Time begun_{};
  Time connecting_{};
  Time window_begun_{};  // of the measurement of speed
  std::uint64_t window_bytes_ = 0;
  std::chrono::steady_clock::duration paused_{0};  // so long no clock ran
  std::optional<Time> sent_;
  std::optional<Time> first_byte_;
  bool sent_before_ = false;
  bool opened_socket_ = false;
  std::vector<int> sockets_;  // that it opened
  OpenConnections::Key connection_ = 0;
  bool unclean_connection_ = false;
  bool reused_ = false;  // the request was sent over a kept-alive connection

  bool stalled_ = false;
  Time stalled_at_{};
  BodyWaiter waiter_;

  Verdict verdict_;  // why we ourselves ended it
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace trawl
