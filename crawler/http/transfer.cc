#include "crawler/http/transfer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>

#include <fmt/format.h>
#include <sys/socket.h>

#include "crawler/http/private_address.h"
#include "crawler/parse/ascii.h"

namespace trawl {

namespace {

// All headers of a response together; browsers stop at 256 KiB too.
constexpr std::size_t kMaxHeaderBytes = 256 * 1024;
constexpr long kMaxConnectMs = 10'000;

// The value of a header line if it is of the field `name`.
std::optional<std::string> header_value(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':' ||
      !starts_with_in_any_case(line, name)) {
    return std::nullopt;
  }
  return std::string(trim(line.substr(name.size() + 1)));
}

// The next line of a header that may come in several.
void add_line(std::string& lines, std::string_view separator, std::string_view value) {
  if (!lines.empty()) lines += separator;
  lines += value;
}

// Within what a header may say.
std::chrono::seconds bounded(std::int64_t seconds) {
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, std::int64_t{1} << 31));
}

// A number of seconds, if it is one.
std::optional<std::chrono::seconds> seconds_of(std::string_view value) {
  std::int64_t seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, seconds);
  if (error == std::errc::invalid_argument || rest != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) seconds = value.front() == '-' ? 0 : INT64_MAX;
  return bounded(seconds);
}

// Retry-After: seconds or a date (RFC 9110 section 10.2.3). What is neither asks for nothing.
std::chrono::seconds wait_of(const std::string& value) {
  if (const auto seconds = seconds_of(value)) return *seconds;
  const std::time_t date = curl_getdate(value.c_str(), nullptr);
  return bounded(date == -1 ? 0 : static_cast<std::int64_t>(date - std::time(nullptr)));
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  curl_easy_setopt(easy, option, value);
}

}  // namespace

Transfer::Transfer(CurlEasy easy, const HttpOptions& options, const HttpRequest& request,
                   HttpClient::Done done, std::vector<Transfer*>& sending)
    : easy_(std::move(easy)),
      done_(std::move(done)),
      sending_(sending),
      max_body_(request.max_body),
      truncate_body_(request.truncate_body),
      allow_private_addresses_(options.allow_private_addresses) {
  CURL* curl = easy_.get();
  const auto timeout = static_cast<long>(options.timeout.count());
  set(curl, CURLOPT_URL, request.url.c_str());
  set(curl, CURLOPT_USERAGENT, options.user_agent.c_str());
  set(curl, CURLOPT_PRIVATE, this);
  set(curl, CURLOPT_ERRORBUFFER, error_);
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_TIMEOUT_MS, timeout);
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, std::min(timeout, kMaxConnectMs));
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  set(curl, CURLOPT_HTTP_VERSION,
      static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  set(curl, CURLOPT_ACCEPT_ENCODING, "");  // every coding libcurl was built with
  set(curl, CURLOPT_PATH_AS_IS, 1L);       // our own parser resolved the dots
  set(curl, CURLOPT_PROXY, "");            // not from the environment
  if (!options.ca_file.empty()) set(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  set(curl, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(curl, CURLOPT_WRITEDATA, this);
  set(curl, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(curl, CURLOPT_HEADERDATA, this);
  set(curl, CURLOPT_PREREQFUNCTION, &Transfer::on_request);
  set(curl, CURLOPT_PREREQDATA, this);
  set(curl, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open_socket);
  set(curl, CURLOPT_OPENSOCKETDATA, this);
}

HttpResponse Transfer::finish(CURLcode code) {
  CURL* curl = easy_.get();
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  const char* content_type = nullptr;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &content_type);
  if (content_type != nullptr) response_.content_type = content_type;
  response_.elapsed = time_of(CURLINFO_TOTAL_TIME_T);
  if (status != 0) {
    response_.response_time =
        std::max(time_of(CURLINFO_STARTTRANSFER_TIME_T) - time_of(CURLINFO_PRETRANSFER_TIME_T),
                 std::chrono::milliseconds(0));
  }
  const char* address = nullptr;
  curl_easy_getinfo(curl, CURLINFO_PRIMARY_IP, &address);
  if (address != nullptr) response_.address = address;
  response_.sent = sent_.value_or(std::chrono::steady_clock::now());
  response_.address_refused = code != CURLE_OK && address_refused_;
  if (code != CURLE_OK && !truncated_) {
    response_.error = !refusal_.empty()   ? refusal_
                      : error_[0] != '\0' ? error_
                                          : curl_easy_strerror(code);
  }
  return std::move(response_);
}

std::chrono::milliseconds Transfer::time_of(CURLINFO what) const {
  curl_off_t microseconds = 0;
  curl_easy_getinfo(easy_.get(), what, &microseconds);
  // Rounded up: the request was not sent before.
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::microseconds(microseconds));
}

std::size_t Transfer::take_body(std::string_view bytes) {
  if (response_.body.size() + bytes.size() <= max_body_) {
    response_.body.append(bytes);
    return bytes.size();
  }
  if (truncate_body_) {
    response_.body.append(bytes.substr(0, max_body_ - response_.body.size()));
    truncated_ = true;
  } else {
    refusal_ = fmt::format("the body is larger than {} bytes", max_body_);
  }
  return 0;
}

std::size_t Transfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxHeaderBytes) {
    refusal_ = fmt::format("the headers are larger than {} bytes", kMaxHeaderBytes);
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // a new response begins, perhaps after 1xx
    response_ = {};
    return line.size();
  }
  if (auto location = header_value(line, "location")) {
    response_.location = std::move(*location);
  } else if (const auto control = header_value(line, "cache-control")) {
    add_line(response_.cache_control, ", ", *control);
  } else if (const auto link = header_value(line, "link")) {
    add_line(response_.link, ", ", *link);
  } else if (const auto tag = header_value(line, "x-robots-tag")) {
    add_line(response_.x_robots_tag, "\n", *tag);
  } else if (const auto wait = header_value(line, "retry-after")) {
    response_.retry_after = wait_of(*wait);
  } else if (const auto age = header_value(line, "age")) {
    response_.age = seconds_of(*age).value_or(std::chrono::seconds(0));
  }
  return line.size();
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_body({data, size * count});
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_header({data, size * count});
}

// libcurl's own times do not tell when this was: they count from when it came to the transfer,
// which on a busy thread is well after start().
int Transfer::on_request(void* self, char*, char*, int, int) {
  auto* transfer = static_cast<Transfer*>(self);
  if (transfer->sent_before_) {
    // libcurl found a kept-alive connection closed and is about to send again, without regard for
    // the host's delay.
    transfer->response_.connection_was_stale = true;
    return CURL_PREREQFUNC_ABORT;
  }
  transfer->sent_before_ = true;
  transfer->sending_.push_back(transfer);
  return CURL_PREREQFUNC_OK;
}

curl_socket_t Transfer::on_open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<Transfer*>(self);
  // Here the name is resolved: a public name that points to a private address is caught as well.
  transfer->address_refused_ =
      !transfer->allow_private_addresses_ && is_private_address(&address->addr);
  if (transfer->address_refused_) {
    transfer->refusal_ =
        "the host's address is private; set fetch.allow_private_addresses = true to allow it";
    return CURL_SOCKET_BAD;
  }
  transfer->refusal_.clear();  // of another address of the same name
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace trawl
