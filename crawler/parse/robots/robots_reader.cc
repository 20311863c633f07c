#include "crawler/parse/robots/robots_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/url_space.h"
#include "crawler/parse/headers/product_token.h"
#include "crawler/parse/robots/robots_path.h"

namespace trawl {
namespace {

constexpr std::size_t kMaxBytes = 500u << 10;  // RFC 9309, section 2.5: at least this much
constexpr std::size_t kMaxLine = 16u << 10;
constexpr std::size_t kMaxSitemaps = 1000;
constexpr double kMaxDelaySeconds = 24 * 60 * 60;

enum class Field { kUnknown, kUserAgent, kAllow, kDisallow, kCrawlDelay, kSitemap };

struct FieldName {
  std::string_view name;
  Field field;
};
constexpr std::array kFieldNames = {
    FieldName{"disallow", Field::kDisallow},      FieldName{"allow", Field::kAllow},
    FieldName{"user-agent", Field::kUserAgent},   FieldName{"sitemap", Field::kSitemap},
    FieldName{"crawl-delay", Field::kCrawlDelay},
};
constexpr std::array kMisspeltNames = {
    FieldName{"dissallow", Field::kDisallow},    FieldName{"dissalow", Field::kDisallow},
    FieldName{"disalow", Field::kDisallow},      FieldName{"diasllow", Field::kDisallow},
    FieldName{"disallaw", Field::kDisallow},     FieldName{"useragent", Field::kUserAgent},
    FieldName{"user agent", Field::kUserAgent},  FieldName{"site-map", Field::kSitemap},
    FieldName{"crawldelay", Field::kCrawlDelay}, FieldName{"crawl delay", Field::kCrawlDelay},
};

// White space within a line.
constexpr AsciiSet kSpace = AsciiSet().with(" \t\v\f");

bool is_space(char c) {
  return kSpace.contains(c);
}

template <std::size_t n>
Field find_field(const std::array<FieldName, n>& names, std::string_view text) {
  for (const auto& [name, field] : names) {
    if (equal_in_any_case(text, name)) return field;
  }
  return Field::kUnknown;
}

Field field_named(std::string_view text, RobotsOptions options) {
  const Field field = find_field(kFieldNames, text);
  if (field != Field::kUnknown || !options.accept_typos) return field;
  return find_field(kMisspeltNames, text);
}

struct FieldAndValue {
  Field field = Field::kUnknown;
  std::string_view value;
};

// "Disallow /private": a field and a value separated only by white space. A line of more words is
// prose.
FieldAndValue without_colon(std::string_view line, RobotsOptions options) {
  const auto end = std::find_if(line.begin(), line.end(), is_space);
  const auto size = static_cast<std::size_t>(end - line.begin());
  const std::string_view value = trim(line.substr(size), kSpace);
  if (value.empty() || std::any_of(value.begin(), value.end(), is_space)) return {};
  return {.field = field_named(line.substr(0, size), options), .value = value};
}

FieldAndValue split(std::string_view line, RobotsOptions options) {
  FieldAndValue result;
  if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    result.field = field_named(trim(line.substr(0, colon), kSpace), options);
    result.value = trim(line.substr(colon + 1), kSpace);
  }
  // The colon may belong to the value: "Sitemap http://...".
  if (result.field == Field::kUnknown && options.accept_typos) return without_colon(line, options);
  return result;
}

// "1.5" -> 1500 ms, rounded up. Returns nothing for text that is not a number of seconds up to a
// day.
std::optional<std::chrono::milliseconds> parse_delay(std::string_view value) {
  double seconds = -1;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
  const bool sensible = seconds >= 0 && seconds <= kMaxDelaySeconds;  // false for NaN
  if (error != std::errc() || stop != end || !sensible) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

// Cuts a line that is too long, without leaving half an escape, which would be different
// characters.
std::string_view cut(std::string_view line) {
  line = line.substr(0, kMaxLine);
  const std::size_t percent = line.substr(line.size() - 2).find('%');
  return percent == std::string_view::npos ? line : line.substr(0, line.size() - 2 + percent);
}

// The part of the file that is read. A line that crosses the limit is left out, since a cut path is
// a different path, unless it would be cut before the limit anyway.
std::string_view readable(std::string_view bytes) {
  if (bytes.size() <= kMaxBytes) return bytes;
  if (const char next = bytes[kMaxBytes]; next == '\r' || next == '\n') {
    return bytes.substr(0, kMaxBytes);
  }
  bytes = bytes.substr(0, kMaxBytes);
  const std::size_t end = bytes.find_last_of("\r\n");
  const std::size_t line = end == std::string_view::npos ? 0 : end + 1;
  return kMaxBytes - line > kMaxLine ? bytes : bytes.substr(0, line);
}

// Finds successive occurrences of a byte value, scanning each byte once.
class NextByte {
 public:
  NextByte(std::string_view text, char byte)
      : text_(text), byte_(byte), at_(std::min(text.find(byte), text.size())) {}

  // The first occurrence at or after `from`, or the end. `from` must not decrease.
  std::size_t at_or_after(std::size_t from) {
    if (at_ < from) at_ = std::min(text_.find(byte_, from), text_.size());
    return at_;
  }

 private:
  const std::string_view text_;
  const char byte_;
  std::size_t at_;
};

}  // namespace

void RobotsReader::read(std::string_view bytes) {
  bytes = readable(bytes);
  // A byte order mark, perhaps damaged by an editor.
  for (const char mark : {'\xEF', '\xBB', '\xBF'}) {
    if (!bytes.starts_with(mark)) break;
    bytes.remove_prefix(1);
  }
  file_.text = bytes;
  read_lines();
}

void RobotsReader::read_lines() {
  const std::string_view text = file_.text;
  NextByte feeds(text, '\n');
  NextByte returns(text, '\r');
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(feeds.at_or_after(begin), returns.at_or_after(begin));
    const std::string_view line = text.substr(begin, end - begin);
    ++line_number_;
    read_line(line.size() > kMaxLine ? cut(line) : line);
    begin = end + (text.substr(end).starts_with("\r\n") ? 2 : 1);
  }
}

void RobotsReader::read_line(std::string_view line) {
  line = trim(line.substr(0, line.find('#')), kSpace);
  if (line.empty()) return;
  const auto [field, value] = split(line, options_);
  switch (field) {
    case Field::kUserAgent:
      return read_agent(value);
    case Field::kAllow:
      return read_rule(line, value, true);
    case Field::kDisallow:
      return read_rule(line, value, false);
    case Field::kCrawlDelay:
      return read_delay(value);
    case Field::kSitemap:
      return read_sitemap(value);
    case Field::kUnknown:
      return;
  }
}

void RobotsReader::read_agent(std::string_view value) {
  if (!naming_agents_) {
    file_.groups.push_back(
        {.first_rule = static_cast<std::uint32_t>(file_.rules.size()), .delay = std::nullopt});
  }
  naming_agents_ = true;
  const bool any = value.starts_with('*') && product_token(value.substr(1)).empty();
  const std::string_view token = any ? value.substr(0, 1) : product_token(value);
  if (token.empty()) return;
  const RobotsSpan span = span_of(token);
  const auto stored = file_.text.begin() + span.begin;
  std::transform(stored, stored + span.size, stored, ascii_lower);
  file_.agents.push_back({.key = robots_sort_key(token),
                          .token = span,
                          .group = static_cast<std::uint32_t>(file_.groups.size() - 1)});
}

void RobotsReader::read_rule(std::string_view line, std::string_view value, bool allow) {
  naming_agents_ = false;
  if (file_.groups.empty() || value.empty()) return;
  file_.rules.push_back(
      {.pattern = span_of(value), .line = span_of(line), .number = line_number_, .allow = allow});
}

// Crawl-delay is a rule like the others: a User-agent line after it begins a new group. Otherwise a
// delay for all crawlers would join the groups of bots named after it.
void RobotsReader::read_delay(std::string_view value) {
  naming_agents_ = false;
  if (file_.groups.empty()) return;
  auto& delay = file_.groups.back().delay;
  const auto given = parse_delay(value);
  if (given && (!delay || *given < *delay)) delay = given;
}

void RobotsReader::read_sitemap(std::string_view value) {
  value = trim_url_space(value);
  if (value.empty() || file_.sitemaps.size() == kMaxSitemaps) return;
  file_.sitemaps.push_back(span_of(value));
}

RobotsSpan RobotsReader::span_of(std::string_view part) const {
  return {.begin = static_cast<std::uint32_t>(part.data() - file_.text.data()),
          .size = static_cast<std::uint32_t>(part.size())};
}

}  // namespace trawl
