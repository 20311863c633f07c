#include "url/url_parser.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "base/ascii.h"
#include "url/host_parser.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

// Escaping turns one byte into at most nine, so that offsets fit 32 bits.
constexpr std::size_t kMaxInput = std::size_t{1} << 28;

constexpr AsciiSet kTabAndNewlines = AsciiSet().with("\t\n\r");
constexpr AsciiSet kSegmentEnds = AsciiSet().with("/\\?#");
constexpr AsciiSet kQueryEnds = AsciiSet().with("#");

constexpr auto is_tab_or_newline = [](char byte) { return kTabAndNewlines.contains(byte); };

constexpr bool is_slash(char byte) {
  return byte == '/' || byte == '\\';
}

// Returns the part of `text` before the first of `delimiters`; `text` keeps the rest.
std::string_view cut_before(std::string_view& text, const AsciiSet& delimiters) {
  std::size_t length = 0;
  while (length < text.size() && !delimiters.contains(text[length]))
    ++length;
  const std::string_view piece = text.substr(0, length);
  text.remove_prefix(length);
  return piece;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return ascii_lower(a) == b; });
}

// The number of dots of `segment`, with "%2e" as a dot; 0 if it has other characters or more than
// two dots.
int dot_count(std::string_view segment) {
  int dots = 0;
  while (!segment.empty()) {
    if (segment[0] == '.') {
      segment.remove_prefix(1);
    } else if (segment.starts_with("%2e") || segment.starts_with("%2E")) {
      segment.remove_prefix(3);
    } else {
      return 0;
    }
    if (++dots > 2) return 0;
  }
  return dots;
}

// The start of `text` for an error message: printable, and not too long.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 120;
  std::string out = "\"";
  for (const char byte : text.substr(0, kShown)) {
    if (byte == '"' || byte == '\\') {
      out.push_back('\\');
      out.push_back(byte);
    } else if (is_ascii(byte) && !kC0ControlSet.contains(byte)) {
      out.push_back(byte);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
  }
  out.push_back('"');
  if (text.size() > kShown) out += fmt::format(" ... ({} bytes)", text.size());
  return out;
}

}  // namespace

Error UrlParser::error(ErrorCode code, std::string_view what) const {
  return {code, fmt::format("cannot parse the URL {}: {}", quoted(input_), what)};
}

Result<Url> UrlParser::parse() {
  if (input_.size() > kMaxInput) {
    return tl::unexpected(error(ErrorCode::kInvalidUrl, "it is longer than 256 MiB"));
  }
  strip_input();
  const std::string_view scheme = leading_scheme();
  if (!scheme.empty() && !equals_ignoring_case(scheme, "http") &&
      !equals_ignoring_case(scheme, "https")) {
    return tl::unexpected(
        error(ErrorCode::kUnsupportedScheme, "its scheme is neither http nor https"));
  }
  url_.href_.reserve(rest_.size() + 16 + (base_ == nullptr ? 0 : base_->path_start_));
  if (const char* what = parse_reference()) {
    return tl::unexpected(error(ErrorCode::kInvalidUrl, what));
  }
  if (url_.href_.size() >= Url::kNone) {
    return tl::unexpected(
        error(ErrorCode::kInvalidUrl, "it would be longer than 4 GiB when escaped"));
  }
  assert(url_.scheme_end_ < url_.username_end_ && url_.username_end_ <= url_.host_start_);
  assert(url_.host_start_ < url_.host_end_ && url_.host_end_ <= url_.path_start_);
  assert(url_.href_[url_.path_start_] == '/' && url_.path_start_ < url_.path_end());
  assert(url_.query_start_ == Url::kNone || url_.href_[url_.query_start_] == '?');
  assert(url_.fragment_start_ == Url::kNone || url_.href_[url_.fragment_start_] == '#');
  url_.has_percent_ = url_.href_without_fragment().find('%') != std::string_view::npos;
  return std::move(url_);
}

void UrlParser::strip_input() {
  rest_ = input_;
  while (!rest_.empty() && is_c0_control_or_space(rest_.front()))
    rest_.remove_prefix(1);
  while (!rest_.empty() && is_c0_control_or_space(rest_.back()))
    rest_.remove_suffix(1);
  const auto has = [this](char byte) { return rest_.find(byte) != std::string_view::npos; };
  if (!has('\t') && !has('\n') && !has('\r')) return;
  stripped_ = rest_;
  std::erase_if(stripped_, is_tab_or_newline);
  rest_ = stripped_;
}

std::string_view UrlParser::leading_scheme() const {
  if (rest_.empty() || !is_ascii_alpha(rest_[0])) return {};
  std::size_t end = 1;
  while (end < rest_.size() && (is_ascii_alpha(rest_[end]) || is_ascii_digit(rest_[end]) ||
                                rest_[end] == '+' || rest_[end] == '-' || rest_[end] == '.')) {
    ++end;
  }
  return end < rest_.size() && rest_[end] == ':' ? rest_.substr(0, end) : std::string_view();
}

const char* UrlParser::parse_reference() {
  const std::string_view scheme = leading_scheme();
  if (scheme.empty()) {
    if (base_ == nullptr) return "it has no scheme (http:// or https://), and there is no base URL";
    start_with_scheme(base_->scheme());
    return parse_relative();
  }
  start_with_scheme(equals_ignoring_case(scheme, "https") ? "https" : "http");
  rest_.remove_prefix(scheme.size() + 1);
  // "http:page" is relative to a base of the same scheme, as it was in RFC 1630.
  if (base_ != nullptr && base_->scheme() == url_.scheme()) return parse_relative();
  return parse_authority();
}

const char* UrlParser::parse_relative() {
  if (rest_.size() >= 2 && is_slash(rest_[0]) && is_slash(rest_[1])) return parse_authority();
  copy_authority_of_base();
  if (!rest_.empty() && is_slash(rest_[0])) {
    parse_path();
  } else if (!rest_.empty() && rest_[0] != '?' && rest_[0] != '#') {
    url_.href_.append(base_->path());
    remove_last_segment();
    parse_path();
  } else {
    url_.href_.append(base_->path());
    if (base_->has_query() && !rest_.starts_with('?')) {
      url_.query_start_ = position();
      url_.href_.append("?").append(base_->query());
    }
  }
  parse_query_and_fragment();
  return nullptr;
}

// Any number of slashes, even none, may stand before the authority.
const char* UrlParser::parse_authority() {
  while (!rest_.empty() && is_slash(rest_[0]))
    rest_.remove_prefix(1);
  std::string_view authority = cut_before(rest_, kSegmentEnds);
  url_.href_.append("//");
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    parse_userinfo(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  } else {
    url_.username_end_ = position();
  }
  if (const char* what = parse_host_and_port(authority)) return what;
  parse_path();
  parse_query_and_fragment();
  return nullptr;
}

void UrlParser::parse_userinfo(std::string_view userinfo) {
  const std::size_t colon = userinfo.find(':');
  percent_encode(userinfo.substr(0, colon), kUserinfoSet, url_.href_);
  url_.username_end_ = position();
  bool present = colon != 0 && !userinfo.empty();
  if (colon != std::string_view::npos && colon + 1 < userinfo.size()) {
    url_.href_.push_back(':');
    percent_encode(userinfo.substr(colon + 1), kUserinfoSet, url_.href_);
    present = true;
  }
  if (present) url_.href_.push_back('@');
}

const char* UrlParser::parse_host_and_port(std::string_view text) {
  // The port's ':' is the first that does not stand in brackets.
  std::size_t host_end = 0;
  bool in_brackets = false;
  while (host_end < text.size() && (in_brackets || text[host_end] != ':')) {
    if (text[host_end] == '[') in_brackets = true;
    if (text[host_end] == ']') in_brackets = false;
    ++host_end;
  }
  if (host_end == 0) return "it has no host name";
  url_.host_start_ = position();
  if (const char* what = parse_host(text.substr(0, host_end), url_.href_)) return what;
  url_.host_end_ = position();
  if (host_end < text.size()) {
    if (const char* what = parse_port(text.substr(host_end + 1))) return what;
  }
  url_.path_start_ = position();
  return nullptr;
}

const char* UrlParser::parse_port(std::string_view digits) {
  unsigned port = 0;
  for (const char digit : digits) {
    if (!is_ascii_digit(digit)) return "its port is not a number";
    port = port * 10 + static_cast<unsigned>(digit - '0');
    if (port > 65535) return "its port is above 65535";
  }
  if (digits.empty() || port == (url_.scheme() == "https" ? 443u : 80u)) return nullptr;
  fmt::format_to(std::back_inserter(url_.href_), ":{}", port);
  return nullptr;
}

// Appends the path at the start of `rest_` to what href has of a path, up to '?', '#' or the end.
void UrlParser::parse_path() {
  if (!rest_.empty() && is_slash(rest_[0])) rest_.remove_prefix(1);
  while (true) {
    const std::string_view segment = cut_before(rest_, kSegmentEnds);
    const bool last = rest_.empty() || !is_slash(rest_[0]);
    append_segment(segment, last);
    if (last) return;
    rest_.remove_prefix(1);
  }
}

void UrlParser::append_segment(std::string_view segment, bool last) {
  const int dots = dot_count(segment);
  if (dots == 0) {
    url_.href_.push_back('/');
    percent_encode(segment, kPathSet, url_.href_);
    return;
  }
  if (dots == 2) remove_last_segment();
  if (last) url_.href_.push_back('/');
}

void UrlParser::remove_last_segment() {
  if (position() > url_.path_start_) url_.href_.resize(url_.href_.rfind('/'));
}

void UrlParser::parse_query_and_fragment() {
  if (rest_.starts_with('?')) parse_query();
  if (rest_.starts_with('#')) parse_fragment();
}

void UrlParser::parse_query() {
  assert(rest_.starts_with('?'));
  url_.query_start_ = position();
  rest_.remove_prefix(1);
  url_.href_.push_back('?');
  percent_encode(cut_before(rest_, kQueryEnds), kSpecialQuerySet, url_.href_);
}

void UrlParser::parse_fragment() {
  assert(rest_.starts_with('#'));
  url_.fragment_start_ = position();
  rest_.remove_prefix(1);
  url_.href_.push_back('#');
  percent_encode(rest_, kFragmentSet, url_.href_);
}

void UrlParser::start_with_scheme(std::string_view scheme) {
  url_.href_.assign(scheme);
  url_.scheme_end_ = position();
  url_.href_.push_back(':');
}

void UrlParser::copy_authority_of_base() {
  assert(base_ != nullptr);
  url_.href_.assign(base_->href_, 0, base_->path_start_);
  url_.username_end_ = base_->username_end_;
  url_.host_start_ = base_->host_start_;
  url_.host_end_ = base_->host_end_;
  url_.path_start_ = base_->path_start_;
}

}  // namespace trawl
