#include "crawler/http/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ascii.h"
#include "crawler/http/address_text.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Seconds that a connection is kept without requests.
constexpr long kLongestIdle = 118;  // libcurl's own
constexpr long kLongestIdleIfCrowded = 1;

constexpr char kPrivate[] =
    "the host's address is private; set fetch.allow_private_addresses = true to allow it";

}  // namespace

Transfer::Transfer(TransferContext& context, const std::string& proxy)
    : context_(context),
      proxy_text_(proxy),
      proxy_(Proxy::parse(proxy)),
      tls_sessions_(context.tls_sessions[proxy]),
      handle_(context.options, proxy_ ? &*proxy_ : nullptr),
      // The address of a proxy is not checked, since the user configured it.
      addresses_(context.options.allow_private_addresses || proxy_) {
  set_callbacks();
}

Transfer::~Transfer() {
  if (stalled_ && context_.options.budget != nullptr) context_.options.budget->cancel(waiter_);
  handle_.set_share(nullptr, false);
}

void Transfer::set_callbacks() {
  handle_.set(CURLOPT_PRIVATE, this);
  handle_.set(CURLOPT_ERRORBUFFER, error_);
  handle_.set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  handle_.set(CURLOPT_WRITEDATA, this);
  handle_.set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  handle_.set(CURLOPT_HEADERDATA, this);
  handle_.set(CURLOPT_PREREQFUNCTION, &Transfer::on_request);
  handle_.set(CURLOPT_PREREQDATA, this);
  handle_.set(CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open_socket);
  handle_.set(CURLOPT_OPENSOCKETDATA, this);
  // libcurl's connection keeps these two, and may outlive the transfer.
  handle_.set(CURLOPT_CLOSESOCKETFUNCTION, &Transfer::on_close_socket);
  handle_.set(CURLOPT_CLOSESOCKETDATA, &context_);
  context_.floods.guard(easy());
  if (context_.options.capture) {
    handle_.set(CURLOPT_VERBOSE, 1L);
    handle_.set(CURLOPT_DEBUGFUNCTION, &Transfer::on_debug);
    handle_.set(CURLOPT_DEBUGDATA, this);
  }
}

void Transfer::reset() {
  ++uses;
  ended = false;
  response_ = {};
  addresses_.clear();
  target_address_.clear();
  proxy_resolved_ = false;
  phase_ = Phase::kResolving;
  paused_ = {};
  sent_.reset();
  about_to_send_.reset();
  first_byte_.reset();
  sent_before_ = false;
  opened_socket_ = reused_ = false;
  sockets_.clear();
  unclean_connection_ = false;
  stalled_ = false;
  gate_.reset();
  gate_waits_ = false;
  waiting_since_.reset();
  verdict_ = {};
  error_[0] = '\0';
}

Transfer::Verdict Transfer::begin(const HttpRequest& request, HttpClient::Done done,
                                  std::shared_ptr<CookieJar> jar, Time now) {
  reset();
  done_ = std::move(done);
  accept_ = request.accept;
  gate_ = request.gate;
  jar_ = std::move(jar);
  secret_fields_ = request.secret_fields;
  begun_ = connecting_ = now;
  head_.begin(context_.options, response_);
  body_.begin(request, context_.options, response_);
  auto endpoint = endpoint_of(request.url);
  if (!endpoint)
    return {FetchError::kOther, "unsupported protocol or no host: not an http or https URL"};
  endpoint_ = *std::move(endpoint);
  const bool is_address = normalize_address(endpoint_.host);
  if (!proxy_text_.empty() && !proxy_)
    return {FetchError::kProxy, "the proxy URL is not supported"};
  if (handle_.renew(shares_sessions())) {
    set_callbacks();
  } else {
    handle_.set(CURLOPT_FORBID_REUSE, 0L);
  }
  // On failure, the handle would keep the URL of the previous request.
  if (handle_.set(CURLOPT_URL, request.url.c_str()) != CURLE_OK)
    return {FetchError::kOther, "the URL is too long for libcurl"};
  handle_.set_headers(request.headers);
  handle_.set_form(request.form);
  share_what_is_kept();
  // While a new one would be one too many, those that are not used are closed earlier.
  handle_.set(CURLOPT_MAXAGE_CONN, has_room_for(1) ? kLongestIdle : kLongestIdleIfCrowded);
  handle_.set_wait_for_connection(endpoint_.tls && context_.options.multiplex);
  if (proxy_) return check_target();
  return is_address ? take_address() : Verdict{};
}

bool Transfer::has_room_for(std::size_t more) const {
  return context_.connections.size() + more <= context_.options.connections;
}

bool Transfer::shares_sessions() const {
  if (jar_ != nullptr) return jar_->keeps_tls_sessions();
  return endpoint_.tls || (proxy_ && proxy_->tls);
}

// Sets the share for cookies and TLS sessions.
void Transfer::share_what_is_kept() {
  if (jar_ != nullptr) {
    handle_.set_share(jar_->share(), true);
    jar_->update(easy());
    if (jar_->has_imported()) secret_fields_.insert(secret_fields_.end(), {"cookie", "set-cookie"});
  } else if (shares_sessions()) {
    handle_.set_share(tls_sessions_.share_for(endpoint_.host), false);
  } else {
    handle_.set_share(nullptr, false);
  }
}

// Checked here, since the resolver, which applies fetch.ip_version, is not used for addresses.
Transfer::Verdict Transfer::take_address() {
  addresses_.add(endpoint_.host);
  const IpVersion version = context_.options.resolver.ip_version;
  const bool v6 = addresses_.family() == AF_INET6;
  if (version != (v6 ? IpVersion::kV4 : IpVersion::kV6)) return {};
  return {FetchError::kAddressRefused,
          fmt::format("the host is an IPv{} address, which fetch.ip_version = \"ipv{}\" excludes",
                      v6 ? 6 : 4, v6 ? 4 : 6)};
}

// With a proxy, the address is unknown; only literals and names such as localhost can be checked.
Transfer::Verdict Transfer::check_target() {
  if (context_.options.allow_private_addresses || !is_private_text(to_lower(endpoint_.host)))
    return {};
  return {FetchError::kAddressRefused, kPrivate};
}

const std::string* Transfer::next_name() const noexcept {
  if (!proxy_) return addresses_.empty() ? &endpoint_.host : nullptr;
  if (!proxy_resolved_) return &proxy_->endpoint.host;
  return proxy_->wants_address && target_address_.empty() ? &endpoint_.host : nullptr;
}

Transfer::Verdict Transfer::resolved(const Resolution& resolution) {
  const bool is_proxy = proxy_ && !proxy_resolved_;
  if (resolution.addresses.empty()) {
    response_.resolve_again = resolution.temporary;
    response_.no_such_host = resolution.no_such_host && !is_proxy;
    return {is_proxy ? FetchError::kProxy : FetchError::kResolve, resolution.error};
  }
  if (!is_proxy) response_.lookup = resolution.lookup;
  if (proxy_ && proxy_resolved_) {
    for (const std::string& address : resolution.addresses) {
      if (!context_.options.allow_private_addresses && is_private_text(address)) continue;
      target_address_ = address;
      return {};
    }
    return {FetchError::kAddressRefused, kPrivate};
  }
  for (const std::string& text : resolution.addresses)
    addresses_.add(text);
  proxy_resolved_ = is_proxy;
  return {};
}

std::string Transfer::server() const {
  return fmt::format("{}:{}", endpoint_.host, endpoint_.port);
}

// The address that the request will go to, unless connecting fails: that of a kept connection, even
// if the name no longer has it. If the connection is busy, its address is tried first. Empty if
// unknown, or if all addresses are refused.
std::string_view Transfer::choose_address() {
  if (proxy_) return target_address_;
  const std::string* const kept = context_.connections.address_of(server());
  if (kept != nullptr && !addresses_.prefer(*kept)) return *kept;
  return addresses_.first_allowed();
}

StartGate::Answer Transfer::ask_gate() {
  if (gate_ == nullptr) return {};
  asked_address_ = choose_address();
  if (asked_address_.empty() && !proxy_) return {};  // libcurl will find no address
  const StartGate::Answer answer = gate_->ask(asked_address_);
  gate_waits_ = answer.when == StartGate::Answer::When::kNow;
  return answer;
}

void Transfer::set_waiting(Time now) {
  if (waiting_since_) {
    paused_ += now - *waiting_since_;
    waiting_since_.reset();
  } else {
    waiting_since_ = now;
  }
}

Transfer::Verdict Transfer::sent_away(Time not_before) {
  response_.not_before = not_before;
  return {FetchError::kAborted, "it is not yet the turn of its host, domain or address"};
}

void Transfer::tell_gate(std::optional<Time> when) {
  if (!std::exchange(gate_waits_, false)) return;
  const bool elsewhere = when && connected_address_ != asked_address_;
  gate_->sent(when, elsewhere ? std::string_view(connected_address_) : std::string_view());
}

void Transfer::prepare(Time now) {
  if (phase_ == Phase::kResolving) connecting_ = now;
  phase_ = Phase::kConnecting;
  error_[0] = '\0';
  if (!proxy_) {
    handle_.set_placeholders(endpoint_.port, context_.placeholders);
  } else if (proxy_->wants_address) {
    if (const std::string* const untried = addresses_.untried())
      handle_.set_addresses(*proxy_, *untried, target_address_);
  } else {
    handle_.set_placeholders(proxy_->endpoint.port, context_.placeholders);
  }
}

void Transfer::set_sent(Time now) {
  sent_ = now;
  tell_gate(now);
  if (phase_ == Phase::kConnecting) phase_ = Phase::kWaiting;
}

bool Transfer::try_other_addresses(CURLcode code) {
  return (code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT) &&
         phase_ == Phase::kConnecting && !verdict_.failure && addresses_.untried() != nullptr;
}

bool Transfer::try_other_connection() {
  const bool again = unclean_connection_ && !sent_before_ && !verdict_.failure;
  unclean_connection_ = false;
  return again;
}

bool Transfer::wants_other_address(Time now) const {
  return phase_ == Phase::kConnecting && opened_socket_ && addresses_.untried() != nullptr &&
         now - connecting_ > addresses_.share_of(context_.options.connect_timeout);
}

Transfer::Verdict Transfer::check(Time now) {
  if (stalled_ || slowed_) return {};
  const HttpOptions& options = context_.options;
  const auto age = now - begun_ - paused_;
  if (age > options.timeout)
    return {FetchError::kTimeout,
            fmt::format("timed out: not complete within {}", options.timeout)};
  switch (phase_) {
    case Phase::kResolving:
      return {};
    case Phase::kConnecting:
      if (now - connecting_ <= options.connect_timeout) return {};
      return {FetchError::kConnectTimeout,
              fmt::format("timed out: no connection within {}", options.connect_timeout)};
    case Phase::kWaiting:
      if (now - *sent_ <= options.first_byte_timeout) return {};
      return {FetchError::kFirstByteTimeout,
              fmt::format("timed out: no response within {}", options.first_byte_timeout)};
    case Phase::kReceiving:
      return check_speed(now);
  }
  return {};
}

Transfer::Verdict Transfer::check_speed(Time now) {
  const HttpOptions& options = context_.options;
  const auto elapsed = now - window_begun_;
  if (options.min_speed == 0 || elapsed < options.min_speed_time) return {};
  const std::uint64_t bytes = head_.bytes() + response_.encoded_bytes;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  if (static_cast<double>(bytes - window_bytes_) <
      static_cast<double>(options.min_speed) * seconds) {
    return {FetchError::kTooSlow, fmt::format("slower than {} bytes per second for {}",
                                              options.min_speed, options.min_speed_time)};
  }
  window_begun_ = now;
  window_bytes_ = bytes;
  return {};
}

void Transfer::fail(Verdict verdict) {
  verdict_ = std::move(verdict);
  // With HTTP/2, libcurl would keep the connection, which may be dead.
  const bool silent = verdict_.failure == FetchError::kFirstByteTimeout ||
                      verdict_.failure == FetchError::kTimeout ||
                      verdict_.failure == FetchError::kTooSlow;
  if (silent) handle_.set(CURLOPT_FORBID_REUSE, 1L);
}

void Transfer::on_flood(const void* tls) {
  if (!in_multi || ended || verdict_.failure) return;
  if (FloodGuard::tls_of(easy()) != tls) return;
  fail({FetchError::kBadResponse, "the server sends endless data that is not part of a response"});
}

HttpResponse Transfer::finish(CURLcode code, Time now) {
  tell_gate(std::nullopt);
  gate_.reset();
  if (response_.protocol.starts_with("http/1")) context_.connections.set_sequential(connection_);
  if (stalled_) context_.options.budget->cancel(waiter_);
  stalled_ = false;
  slowed_ = false;
  conclude(code);
  body_.end();
  response_.elapsed = std::chrono::ceil<milliseconds>(now - begun_);
  if (first_byte_ && about_to_send_) {
    response_.response_time =
        std::max(std::chrono::ceil<milliseconds>(*first_byte_ - *about_to_send_), milliseconds(0));
  }
  response_.sent = sent_.value_or(now);
  response_.sent_at = std::chrono::system_clock::now() -
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(
                          std::chrono::steady_clock::now() - response_.sent);
  if (!proxy_) {
    const char* address = nullptr;
    curl_easy_getinfo(easy(), CURLINFO_PRIMARY_IP, &address);
    if (phase_ != Phase::kResolving && address != nullptr) response_.address = address;
    if (response_.address.empty()) response_.address = addresses_.tried();
  }
  if (jar_ != nullptr) {
    jar_->keep(easy());
    handle_.set_share(nullptr, false);
    jar_.reset();
  }
  accept_ = nullptr;
  return std::move(response_);
}

// Our own reasons take precedence: libcurl then only reports that it was aborted.
void Transfer::conclude(CURLcode code) {
  if (!verdict_.failure && head_.failure()) verdict_ = {head_.failure(), head_.reason()};
  if (!verdict_.failure) {
    if (code == CURLE_OK && !head_.complete()) {
      verdict_ = {FetchError::kConnectionLost,
                  "the connection was closed before the end of the headers"};
    } else if (code == CURLE_OK) {
      body_.finish();
    }
    if (body_.failure()) verdict_ = {body_.failure(), body_.reason()};
  }
  if (!verdict_.failure && code != CURLE_OK && !response_.truncated) {
    const CurlFailure failure = failure_of(code);
    if (reused_ && gave_up_stale(failure)) response_.connection_was_stale = true;
    if (response_.connection_was_stale) {
      verdict_ = {FetchError::kConnectionLost,
                  "the server closed the kept-alive connection instead of responding"};
    } else if (addresses_.refused() && phase_ == Phase::kConnecting) {
      verdict_ = {FetchError::kAddressRefused, kPrivate};
    } else {
      verdict_ = {kind_of(failure), text_of(failure)};
    }
  }
  if (!verdict_.failure && proxy_ && response_.status == 407)
    verdict_ = {FetchError::kProxy,
                "the proxy requires a user name and a password: add them to fetch.proxy"};
  if (verdict_.failure == FetchError::kMemory) body_.fail(*verdict_.failure, verdict_.reason);
  if (context_.options.capture) {
    response_.request_head =
        without_fields(http1_request_head(response_.request_head), secret_fields_);
    response_.response_head = without_fields(std::move(response_.response_head), secret_fields_);
  }
  if (response_.truncated) response_.cut = BodyTruncation::kLength;
  if (head_.complete() && verdict_.failure)
    response_.cut = truncation_by(*verdict_.failure, body_.ended_early());
  // A retry would not get the whole body either.
  const std::optional<FetchError> announced = body_.announced();
  if (response_.cut && !response_.truncated && announced)
    verdict_ = {*announced, body_.reason_of(*announced)};
  response_.failure = verdict_.failure;
  response_.error = std::move(verdict_.reason);
  response_.address_refused = response_.failure == FetchError::kAddressRefused;
}

CurlFailure Transfer::failure_of(CURLcode code) const {
  long os_error = 0;
  curl_easy_getinfo(easy(), CURLINFO_OS_ERRNO, &os_error);
  long version = 0;
  curl_easy_getinfo(easy(), CURLINFO_HTTP_VERSION, &version);
  return {.code = code,
          .text = error_,
          .os_error = static_cast<int>(os_error),
          .proxied = proxy_.has_value(),
          .proxy_tls = proxy_ && proxy_->tls && !is_tunnelled(),
          .credentials = proxy_ ? std::string_view(proxy_->credentials) : std::string_view(),
          .sent = sent_before_,
          .head_complete = head_.complete(),
          .http1 = version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1};
}

bool Transfer::is_tunnelled() const {
  long status = 0;
  curl_easy_getinfo(easy(), CURLINFO_HTTP_CONNECTCODE, &status);
  return status != 0;
}

std::size_t Transfer::take_body(std::string_view bytes) {
  // Of a header line: see EasyHandle::needs_headers_ahead().
  if (!head_.complete()) return head_.allows(bytes) ? bytes.size() : 0;
  context_.floods.add_piece();
  RateLimiter* const rate = context_.options.rate.get();
  if (rate != nullptr && rate->limited() && waits_for_rate()) return CURL_WRITEFUNC_PAUSE;
  switch (body_.take(bytes)) {
    case BodyReader::Step::kTaken:
      if (rate != nullptr && rate->limited())
        rate->take(static_cast<double>(bytes.size()), std::chrono::steady_clock::now());
      return bytes.size();
    case BodyReader::Step::kPause:
      stall();
      return CURL_WRITEFUNC_PAUSE;
    case BodyReader::Step::kStop:
      break;
  }
  return 0;
}

std::size_t Transfer::take_header(std::string_view line) {
  context_.floods.add_piece();
  if (!first_byte_) {
    first_byte_ = window_begun_ = std::chrono::steady_clock::now();
    phase_ = Phase::kReceiving;
  }
  const bool was_complete = head_.complete();
  if (!head_.take(line)) return 0;
  if (RateLimiter* const rate = context_.options.rate.get(); rate != nullptr && rate->limited())
    rate->take(static_cast<double>(line.size()), std::chrono::steady_clock::now());
  if (jar_ != nullptr && starts_with_in_any_case(line, "set-cookie:")) jar_->add(line.size());
  if (head_.complete() && !was_complete && !take_head()) return 0;
  return line.size();
}

// libcurl gives the piece again when the transfer goes on, so it is not counted yet.
bool Transfer::waits_for_rate() {
  const Time now = std::chrono::steady_clock::now();
  if (context_.options.rate->free_at() <= now) return false;
  slowed_ = true;
  slowed_at_ = now;
  context_.slowed.push_back(this);
  return true;
}

bool Transfer::resume_slowed(Time now) {
  slowed_ = false;
  paused_ += now - slowed_at_;
  set_window(now);
  return curl_easy_pause(easy(), CURLPAUSE_CONT) == CURLE_OK;
}

bool Transfer::take_head() {
  if (!body_.on_head(head_.content_length())) return false;
  if (accept_ == nullptr || accept_(response_)) return true;
  verdict_ = {FetchError::kUnwantedType,
              fmt::format("fetch.content_types excludes the content type: {}",
                          response_.content_type.empty() ? "none" : response_.content_type)};
  return false;
}

void Transfer::stall() {
  stalled_ = true;
  stalled_at_ = std::chrono::steady_clock::now();
  context_.stalled.push_back(this);
  waiter_.charge = &response_.charge;
  waiter_.wanted = body_.wanted();
  waiter_.since = begun_;
  waiter_.wake = &Transfer::wake_client;
  waiter_.context = context_.client;
  context_.options.budget->wait(waiter_);
}

void Transfer::wake_client(void* client) {
  static_cast<HttpClient*>(client)->wake();
}

BodyWaiter::State Transfer::waiter_state() const {
  return context_.options.budget->state(waiter_);
}

void Transfer::set_window(Time now) {
  window_begun_ = now;
  window_bytes_ = head_.bytes() + response_.encoded_bytes;
}

bool Transfer::resume(Time now) {
  stalled_ = false;
  paused_ += now - stalled_at_;
  set_window(now);
  body_.granted();
  return curl_easy_pause(easy(), CURLPAUSE_CONT) == CURLE_OK;
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_body({data, size * count});
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_header({data, size * count});
}

// Takes the time here: libcurl's times count from when it began the transfer, which on a busy
// thread is well after start().
int Transfer::on_request(void* self, char* remote_ip, char*, int remote_port, int local_port) {
  return static_cast<Transfer*>(self)->take_connection(remote_ip, remote_port, local_port);
}

int Transfer::take_connection(std::string_view remote_ip, int remote_port, int local_port) {
  if (sent_before_) {
    // libcurl found a kept-alive connection closed, or its request was refused on a new one, and is
    // about to send again, without the host's delay (P1): ends the transfer.
    response_.connection_was_stale = reused_ && !verdict_.failure;
    return CURL_PREREQFUNC_ABORT;
  }
  if (gate_ != nullptr && !gate_->may_send()) {
    fail(sent_away(std::chrono::steady_clock::now()));
    return CURL_PREREQFUNC_ABORT;
  }
  connection_ = OpenConnections::key_of(remote_ip, remote_port, local_port);
  if (opened_socket_) {
    context_.connections.add(connection_, local_port, sockets_,
                             gate_ != nullptr && !proxy_ ? server() : std::string(), remote_ip);
    if (!has_room_for(0)) handle_.set(CURLOPT_FORBID_REUSE, 1L);
  } else if (context_.connections.has_unread(connection_)) {
    unclean_connection_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  sent_before_ = true;
  about_to_send_ = std::chrono::steady_clock::now();
  if (gate_ != nullptr) connected_address_ = proxy_ ? asked_address_ : std::string(remote_ip);
  reused_ = !opened_socket_;
  response_.request_head.clear();  // the head of a CONNECT to the proxy
  context_.sending.push_back(this);
  return CURL_PREREQFUNC_OK;
}

curl_socket_t Transfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  return static_cast<Transfer*>(self)->open_socket(*address);
}

// libcurl requests a socket for a placeholder address, and gets one for the next real address of
// that family.
curl_socket_t Transfer::open_socket(curl_sockaddr& address) {
  if (!addresses_.take_next(address)) return CURL_SOCKET_BAD;
  opened_socket_ = true;
  const int opened = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (opened >= 0) sockets_.push_back(opened);
  return opened;
}

int Transfer::on_close_socket(void* context, curl_socket_t socket) {
  auto& shared = *static_cast<TransferContext*>(context);
  shared.sockets.closing(socket);
  shared.connections.closing(socket);
  return ::close(socket);
}

int Transfer::on_debug(CURL*, curl_infotype type, char* data, std::size_t size, void* self) {
  if (type == CURLINFO_HEADER_OUT)
    static_cast<Transfer*>(self)->response_.request_head.append(data, size);
  return 0;
}

}  // namespace trawl
