#include "crawler/http/head_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <iterator>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/ascii.h"
#include "base/utf8_validation.h"
#include "crawler/parse/headers/media_type.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxLines = 2'000;  // ordinary servers send a few dozen

// The value of a header line if its field name is `name`.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
  if (line.size() <= name.size() || line[name.size()] != ':' ||
      !starts_with_in_any_case(line, name)) {
    return std::nullopt;
  }
  return trim(line.substr(name.size() + 1));
}

bool is_folded(std::string_view line) {
  return line.starts_with(' ') || line.starts_with('\t');
}

// Appends a further line of a header that may be repeated.
void add_line(std::string& lines, std::string_view separator, std::string_view value) {
  if (!lines.empty()) lines += separator;
  lines += value;
}

// Limits the value of a header.
std::chrono::seconds bounded(std::int64_t seconds) {
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, std::int64_t{1} << 31));
}

// Parses a number of seconds.
std::optional<std::chrono::seconds> seconds_of(std::string_view value) {
  std::int64_t seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, seconds);
  if (error == std::errc::invalid_argument || rest != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) seconds = value.front() == '-' ? 0 : INT64_MAX;
  return bounded(seconds);
}

// Parses Retry-After: seconds or a date (RFC 9110 section 10.2.3). Anything else counts as 0.
std::chrono::seconds wait_of(std::string_view value) {
  if (const auto seconds = seconds_of(value)) return *seconds;
  const std::time_t date = curl_getdate(std::string(value).c_str(), nullptr);
  return bounded(date == -1 ? 0 : static_cast<std::int64_t>(date - std::time(nullptr)));
}

// If the line's field name is `name`, stores its value in `to` and returns true.
bool take_text(std::string_view line, std::string_view name, std::string& to) {
  const auto value = header_value(line, name);
  if (value) to.assign(*value);
  return value.has_value();
}
std::string escape_non_ascii(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    }
  }
  return out;
}

// The same for headers with a URL. Bytes that are not UTF-8 are percent-encoded.
bool take_url(std::string_view line, std::string_view name, std::string& to) {
  const auto value = header_value(line, name);
  if (value) to = is_utf8(*value) ? std::string(*value) : escape_non_ascii(*value);
  return value.has_value();
}
bool join_text(std::string_view line, std::string_view name, std::string_view separator,
               std::string& to) {
  const auto value = header_value(line, name);
  if (value) add_line(to, separator, *value);
  return value.has_value();
}

// HTTP/2 has no reason phrases; archives need one.
std::string_view words_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 410:
      return "Gone";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

}  // namespace

void HeadReader::begin(const HttpOptions& options, HttpResponse& response) {
  response_ = &response;
  max_bytes_ = options.max_header_bytes;
  capture_ = options.capture;
  complete_ = false;
  status_ = 0;
  bytes_ = 0;
  lines_ = 0;
  at_line_ = true;
  content_length_.reset();
  field_.clear();
  failure_.reset();
  reason_.clear();
}

bool HeadReader::take(std::string_view line) {
  if (line.empty()) return true;
  bytes_ += line.size();
  if (bytes_ > max_bytes_) {
    return fail(FetchError::kHeadersTooLarge,
                fmt::format("the headers are larger than {} bytes", max_bytes_));
  }
  if (++lines_ > kMaxLines)
    return fail(FetchError::kBadResponse, fmt::format("more than {} header lines", kMaxLines));
  if (line.find('\0') != std::string_view::npos)
    return fail(FetchError::kBadResponse, "a header contains a NUL byte");
  if (complete_) return true;  // a trailer is ignored
  if (line.starts_with("HTTP/")) {
    take_status(line);
    return true;
  }
  if (line == "\r\n" || line == "\n") {
    if (!end_field()) return false;
    complete_ = status_ >= 200;
    if (complete_) response_->content_type = counting_content_type(response_->content_type);
    return true;
  }
  if (capture_) capture(line);
  if (is_folded(line)) return unfold(line);
  if (!end_field()) return false;
  field_ = line;
  return true;
}

bool HeadReader::allows(std::string_view piece) {
  const bool begins = std::exchange(at_line_, piece.ends_with('\n'));
  return !begins || !is_folded(piece) || !field_.empty() || fail_folded();
}

bool HeadReader::fail_folded() {
  return fail(FetchError::kBadHeader,
              "the first header line is folded: it begins with a space or a tab");
}

// A folded line continues the line before it (RFC 9112 section 5.2).
bool HeadReader::unfold(std::string_view line) {
  if (field_.empty()) return fail_folded();
  const std::string_view more = trim(line);
  if (more.empty()) return true;
  // libcurl interprets this header itself, and has seen only its first line.
  if (header_value(field_, "transfer-encoding"))
    return fail(FetchError::kBadHeader, "the Transfer-Encoding header is folded");
  field_.resize(trim_end(field_).size());
  field_ += ' ';
  field_ += more;
  return true;
}

// Processes a complete field.
bool HeadReader::end_field() {
  if (field_.empty()) return true;
  const bool fine = take_field(field_);
  field_.clear();
  return fine;
}

// Starts a response, perhaps after a 1xx response.
void HeadReader::take_status(std::string_view line) {
  HttpResponse& response = *response_;
  response.content_type.clear();
  response.content_encoding.clear();
  response.etag.clear();
  response.last_modified.clear();
  response.location.clear();
  response.cache_control.clear();
  response.link.clear();
  response.x_robots_tag.clear();
  response.refresh.clear();
  response.nosniff = false;
  response.retry_after = response.age = std::chrono::seconds(0);
  response.response_head.clear();
  content_length_.reset();
  field_.clear();

  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view version = line.substr(0, space);
  response.protocol = version == "HTTP/1.1"           ? "http/1.1"
                      : version.starts_with("HTTP/2") ? "h2"
                      : version == "HTTP/1.0"         ? "http/1.0"
                                                      : "http/1.1";
  std::string_view rest = line.substr(space);
  skip_white_space(rest);
  status_ = 0;
  std::from_chars(rest.data(), rest.data() + std::min<std::size_t>(rest.size(), 3), status_);
  response.status = status_;
  if (!capture_) return;
  if (response.protocol == "h2") {
    response.response_head = fmt::format("HTTP/1.1 {} {}\r\n", status_, words_of(status_));
  } else {
    capture(line);
  }
}

// Most headers are not of interest: the first letter rules them out quickly.
bool HeadReader::take_field(std::string_view line) {
  HttpResponse& response = *response_;
  switch (line.front() | 0x20) {
    case 'a':
      if (const auto age = header_value(line, "age"))
        response.age = seconds_of(*age).value_or(std::chrono::seconds(0));
      return true;
    case 'c':
      if (const auto length = header_value(line, "content-length")) return take_length(*length);
      static_cast<void>(join_text(line, "content-type", ", ", response.content_type) ||
                        join_text(line, "content-encoding", ", ", response.content_encoding) ||
                        join_text(line, "cache-control", ", ", response.cache_control));
      return true;
    case 'e':
      take_text(line, "etag", response.etag);
      return true;
    case 'l':
      static_cast<void>(take_url(line, "location", response.location) ||
                        take_text(line, "last-modified", response.last_modified) ||
                        join_text(line, "link", ", ", response.link));
      return true;
    case 'r':
      if (const auto wait = header_value(line, "retry-after"))
        response.retry_after = wait_of(*wait);
      if (response.refresh.empty()) take_url(line, "refresh", response.refresh);
      return true;
    case 'x':
      join_text(line, "x-robots-tag", "\n", response.x_robots_tag);
      if (const auto options = header_value(line, "x-content-type-options")) {
        response.nosniff =
            response.nosniff ||
            equal_in_any_case(trim(options->substr(0, options->find(','))), "nosniff");
      }
      return true;
    default:
      return true;
  }
}

// A repeated equal length is harmless; different lengths are refused, since they allow response
// smuggling (RFC 9112 section 6.3).
bool HeadReader::take_length(std::string_view value) {
  while (!value.empty()) {
    const std::string_view one = trim(value.substr(0, value.find(',')));
    value.remove_prefix(std::min(value.find(','), value.size() - 1) + 1);
    std::uint64_t length = 0;
    const char* const end = one.data() + one.size();
    const auto [rest, error] = std::from_chars(one.data(), end, length);
    if (one.empty() || rest != end || error != std::errc())
      return fail(FetchError::kBadResponse, "the Content-Length is not a number");
    if (content_length_ && *content_length_ != length)
      return fail(FetchError::kBadResponse, "the response has two different Content-Lengths");
    content_length_ = length;
  }
  return true;
}

void HeadReader::capture(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  response_->response_head += line;
  response_->response_head += "\r\n";
}

bool HeadReader::fail(FetchError failure, std::string reason) {
  failure_ = failure;
  reason_ = std::move(reason);
  return false;
}

std::string http1_request_head(std::string_view head) {
  std::string lines;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (line.empty() || starts_with_in_any_case(line, "proxy-authorization:")) continue;
    if (lines.empty() && line.ends_with(" HTTP/2")) {
      lines.append(line.substr(0, line.size() - 1)).append("1.1\r\n");
    } else {
      lines.append(line).append("\r\n");
    }
  }
  return lines;
}

std::string without_fields(std::string head, std::span<const std::string> names) {
  if (names.empty()) return head;
  std::string kept;
  bool first = true, left_out = false;
  for (std::string_view rest = head; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (!is_folded(line) || first) {
      const std::string name = to_lower(trim(line.substr(0, line.find(':'))));
      left_out = !first && std::ranges::find(names, name) != names.end();
    }
    if (!left_out) kept += line;
    first = false;
  }
  return kept;
}

}  // namespace trawl
