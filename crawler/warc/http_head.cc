#include "crawler/warc/http_head.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>

#include "base/ascii.h"

namespace trawl {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_c0_control_or_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_c0_control_or_space(text.back()))
    text.remove_suffix(1);
  return text;
}

// Removes the first line from `text` and returns it without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// `lowered` is in ascii_lower case.
bool is_field(std::string_view line, std::string_view lowered) {
  if (line.empty() || is_c0_control_or_space(line.front()))
    return false;  // the end of a folded line
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = trimmed(line.substr(0, colon));
  return std::equal(name.begin(), name.end(), lowered.begin(), lowered.end(),
                    [](char a, char b) { return ascii_lower(a) == b; });
}

std::string_view value_of(std::string_view line) {
  return trimmed(line.substr(line.find(':') + 1));
}

// Readers take a blank line for the end of the head.
bool is_blank_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(), is_c0_control_or_space);
}

void append_line(std::string& out, std::string_view line) {
  out.append(line).append("\r\n");
}

// Whether every Content-Length is `size`.
bool lengths_agree(std::string_view head, std::uint64_t size) {
  const std::string text = std::to_string(size);
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (is_field(line, "content-length") && value_of(line) != text) return false;
  }
  return true;
}

void append_status_line(std::string& out, std::string_view& head, int status) {
  std::string_view rest = head;
  std::string_view line;
  while (!rest.empty() && is_blank_line(line))
    line = take_line(rest);
  if (line.starts_with("HTTP/1.")) {
    append_line(out, line);
  } else if (line.starts_with("HTTP/")) {
    // Readers know only the form of HTTP/1; WARC-Protocol has the protocol.
    const std::size_t space = line.find(' ');
    append_line(out, "HTTP/1.1" + std::string(space == line.npos ? "" : line.substr(space)));
  } else {
    out += fmt::format("HTTP/1.1 {:03} \r\n", std::clamp(status, 0, 999));
    return;
  }
  head = rest;
}

}  // namespace

std::string archived_request_head(std::string_view head) {
  std::string out;
  out.reserve(head.size() + 4);
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (is_blank_line(line) || is_field(line, "authorization") ||
        is_field(line, "proxy-authorization"))
      continue;
    append_line(out, line);
  }
  return out += "\r\n";
}

std::string archived_response_head(std::string_view head, int status,
                                   std::optional<std::uint64_t> payload_size) {
  std::string out;
  out.reserve(head.size() + 64);
  const bool keep_lengths = !payload_size || lengths_agree(head, *payload_size);
  append_status_line(out, head, status);
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (is_blank_line(line)) continue;
    if (is_field(line, "transfer-encoding") || (!keep_lengths && is_field(line, "content-length")))
      out += "X-Archive-Orig-";
    append_line(out, line);
  }
  if (!keep_lengths) out += fmt::format("Content-Length: {}\r\n", *payload_size);
  return out += "\r\n";
}

HttpHeadInfo read_http_head(std::string_view message) {
  HttpHeadInfo facts;
  std::string_view rest = message;
  const std::string_view first = take_line(rest);
  const std::size_t space = first.find(' ');
  if (first.starts_with("HTTP/") && space != first.npos) {
    const std::string_view status = first.substr(space + 1, 3);
    if (status.size() == 3 && std::all_of(status.begin(), status.end(), is_ascii_digit))
      facts.status = status;
  }
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    if (!is_field(line, "content-type")) continue;
    const std::string_view value = value_of(line);
    const auto end = std::find_if(value.begin(), value.end(),
                                  [](char c) { return c <= ' ' || c == ';' || c == 0x7f; });
    facts.mime = std::string(value.begin(), end);
  }
  facts.length = message.size() - rest.size();
  return facts;
}

}  // namespace trawl
