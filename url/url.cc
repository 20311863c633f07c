#include "trawl/url.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "url/host_parser.h"
#include "url/url_fast_path.h"
#include "url/url_parser.h"

namespace trawl {

Result<Url> Url::parse(std::string_view input, const Url* base) {
  Result<Url> url;
  if (!UrlFastPath::parse(input, base, *url)) url = UrlParser::parse_fully(input, base);
  return url;
}

Result<void> Url::parse_into(std::string_view input, const Url* base, Url& out) {
  const auto into_out = reinterpret_cast<std::uintptr_t>(input.data()) -
                        reinterpret_cast<std::uintptr_t>(out.href_.data());
  const bool overlaps = base == &out || into_out <= out.href_.size();
  if (!overlaps && UrlFastPath::parse(input, base, out)) [[likely]]
    return {};
  return parse_into_fully(input, base, out);
}

Result<void> Url::parse_into_fully(std::string_view input, const Url* base, Url& out) {
  const Result<Url> url = UrlParser::parse_fully(input, base);
  if (!url) return tl::unexpected(url.error());
  out = *url;  // a copy: `out` keeps the larger buffer
  return {};
}

std::string_view Url::scheme() const noexcept {
  return part(0, scheme_end_);
}

std::string_view Url::username() const noexcept {
  return part(authority_start(), username_end_);
}

std::string_view Url::password() const noexcept {
  if (username_end_ == host_start_ || href_[username_end_] == '@') return {};
  return part(username_end_ + 1, host_start_ - 1);
}

std::string_view Url::hostname() const noexcept {
  return part(host_start_, host_end_);
}

std::string_view Url::host() const noexcept {
  return part(host_start_, path_start_);
}

std::string_view Url::port() const noexcept {
  return host_end_ == path_start_ ? std::string_view() : part(host_end_ + 1, path_start_);
}

std::uint16_t Url::effective_port() const noexcept {
  const std::string_view digits = port();
  std::uint16_t value = scheme() == "https" ? 443 : 80;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string Url::origin() const {
  std::string origin(part(0, authority_start()));
  return origin.append(host());
}

std::string_view Url::path() const noexcept {
  return part(path_start_, path_end());
}

std::string_view Url::query() const noexcept {
  return query_start_ == kNone ? std::string_view() : part(query_start_ + 1, query_end());
}

std::string_view Url::fragment() const noexcept {
  return fragment_start_ == kNone ? std::string_view() : part(fragment_start_ + 1, href_.size());
}

bool Url::has_query() const noexcept {
  return query_start_ != kNone;
}

bool Url::has_fragment() const noexcept {
  return fragment_start_ != kNone;
}

bool Url::host_is_ip() const noexcept {
  return is_ip_literal(hostname());
}

}  // namespace trawl
