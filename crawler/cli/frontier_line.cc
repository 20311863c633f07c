#include "crawler/cli/frontier_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "base/rfc3339.h"
#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"
#include "crawler/explain/state_names.h"
#include "crawler/output/json_line.h"

namespace trawl::cli {

namespace {

using nlohmann::json;

// A note may hold any bytes.
std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(byte));
  return out;
}

bool read_hex(std::string_view text, std::string& out) {
  if (text.size() % 2 != 0 || text.size() > 2 * kMaxNoteBytes) return false;
  out.clear();
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, byte, 16).ptr != end) return false;
    out += static_cast<char>(byte);
  }
  return true;
}

constexpr std::array<std::string_view, 14> kKeys = {
    "url",   "host",       "priority", "depth", "redirects", "attempts", "parent",
    "state", "not_before", "recrawl",  "note",  "reason",    "status",   "since"};
enum Key : std::size_t {
  kUrl,
  kHost,
  kPriority,
  kDepth,
  kRedirects,
  kAttempts,
  kParent,
  kState,
  kNotBefore,
  kRecrawl,
  kNote,
  kReason,
  kStatus,
  kSince,
  kKeyCount
};
static_assert(kKeys.size() == kKeyCount);

constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();

// Takes the tokens of one flat object, without building a tree; stops at the first error.
class LineTokens final : public json::json_sax_t {
 public:
  bool null() override {
    if (key_ == kParent || key_ == kNotBefore) return in_object_ || no_object();
    return wrong("null");
  }
  bool boolean(bool value) override { return key_ == kRecrawl || wrong(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return wrong(std::to_string(value));
    return number(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t, const string_t& text) override { return wrong(shown(text)); }
  bool string(string_t& value) override {
    switch (key_) {
      case kUrl:
        line.url = std::move(value);
        return true;
      case kParent:
        line.parent = std::move(value);
        return true;
      case kHost:
        host = std::move(value);
        return true;
      case kNote:
        return read_hex(value, line.note) || wrong(shown(value));
      case kState:
        state = waiting_state_named(value);
        return state.has_value() || wrong(shown(value));
      case kNotBefore:
        line.not_before = parse_rfc3339(value);
        return line.not_before.has_value() || wrong(shown(value));
      case kSince:
        return parse_rfc3339(value).has_value() || wrong(shown(value));
      case kReason:
        return true;
      default:
        return wrong(shown(value));
    }
  }
  bool binary(binary_t&) override { return wrong("bytes"); }
  bool start_object(std::size_t) override {
    if (in_object_) return wrong("an object");
    in_object_ = true;
    return true;
  }
  bool key(string_t& name) override {
    const auto found = std::ranges::find(kKeys, name);
    if (found == kKeys.end()) {
      const std::string_view nearest = nearest_name(name, kKeys);
      return refuse(
          fmt::format("unknown key {}{}", shown(name),
                      nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
    }
    key_ = static_cast<Key>(found - kKeys.begin());
    if ((given_ >> key_ & 1) != 0) return refuse(fmt::format("the key \"{}\" is repeated", name));
    given_ |= 1u << key_;
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return wrong("an array"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return refuse(
        fmt::format("neither a URL nor a JSON object: syntax error at byte {}", position));
  }

  bool given(Key key) const { return (given_ >> key & 1) != 0; }
  void note_url() { given_ |= 1u << kUrl; }

  FrontierLine line;
  std::string host;
  std::optional<WaitingState> state;
  std::string why;

 private:
  bool number(std::int64_t value) {
    if (key_ == kPriority) {
      line.priority = static_cast<std::int32_t>(value);
      return line.priority == value || wrong(std::to_string(value));
    }
    std::uint32_t ignored = 0;
    std::uint32_t* count = key_ == kDepth                         ? &line.depth
                           : key_ == kRedirects                   ? &line.redirects
                           : key_ == kAttempts || key_ == kStatus ? &ignored
                                                                  : nullptr;
    if (count == nullptr || value < 0 || value > kMost) return wrong(std::to_string(value));
    *count = static_cast<std::uint32_t>(value);
    return true;
  }

  bool no_object() { return refuse("neither a URL nor a JSON object"); }
  bool wrong(std::string_view found) {
    if (!in_object_) return no_object();
    return refuse(fmt::format("\"{}\" must be {}, not {}", kKeys[key_], expected(), found));
  }
  std::string expected() const {
    switch (key_) {
      case kPriority:
        return fmt::format("a whole number from {} to {}", std::numeric_limits<std::int32_t>::min(),
                           std::numeric_limits<std::int32_t>::max());
      case kDepth:
      case kRedirects:
      case kAttempts:
      case kStatus:
        return fmt::format("a whole number from 0 to {}", kMost);
      case kState:
        return "\"queued\", \"deferred\", \"held\" or \"failed\"";
      case kNotBefore:
        return "a time such as \"2026-11-21T08:40:00.123Z\", or null";
      case kSince:
        return "a time such as \"2026-11-21T08:40:00.123Z\"";
      case kParent:
        return "a string or null";
      case kRecrawl:
        return "true or false";
      case kNote:
        return fmt::format("bytes in hexadecimal, {} at most", kMaxNoteBytes);
      default:
        return "a string";
    }
  }
  bool refuse(std::string reason) {
    if (why.empty()) why = std::move(reason);
    return false;
  }

  bool in_object_ = false;
  Key key_ = kUrl;
  std::uint32_t given_ = 0;
};

// A URL alone, as lists of URLs have it. No JSON text begins like one.
bool is_plain_url(std::string_view text) {
  const std::string_view scheme = text.substr(0, text.find(':'));
  return scheme.size() < text.size() && !scheme.empty() &&
         std::ranges::all_of(scheme, [](char c) { return is_ascii_alpha(c); });
}

// Serialises the URL and checks that the keys agree; returns what is wrong, or an empty text.
std::string finish(LineTokens& reader) {
  if (!reader.given(kUrl)) return "\"url\" is missing";
  const auto url = Url::parse(reader.line.url);
  if (!url) return url.error().message;
  if (reader.given(kHost) && reader.host != politeness_group(*url)) {
    return fmt::format("\"host\" is {}, but the URL's is {}", shown(reader.host),
                       shown(politeness_group(*url)));
  }
  if (reader.state) {
    const bool deferred = *reader.state == WaitingState::kDeferred;
    if (deferred != reader.line.not_before.has_value()) {
      return fmt::format("\"state\" is \"{}\", but there is {} \"not_before\"",
                         to_string(*reader.state), deferred ? "no" : "a");
    }
    reader.line.set_aside =
        *reader.state == WaitingState::kHeld || *reader.state == WaitingState::kFailed;
  }
  reader.line.url = url->href_without_fragment();
  return {};
}

}  // namespace

void append_frontier_line(const DumpedUrl& url, std::string& out) {
  JsonLine line(out);
  line.text("url", url.url)
      .text("host", url.host)
      .signed_number("priority", url.priority)
      .number("depth", url.depth)
      .number("redirects", url.redirects)
      .number("attempts", url.attempts)
      .text_or_null("parent", url.parent)
      .text("state", to_string(url.state));
  if (url.since) {
    line.text("reason", url.reason);
    if (url.state == WaitingState::kFailed) line.signed_number("status", url.status);
    line.time("since", *url.since);
  }
  if (url.not_before) line.time("not_before", *url.not_before);
  if (url.recrawl) line.boolean("recrawl", true);
  if (!url.note.empty()) line.text("note", hex(url.note));
  line.end();
}

tl::expected<FrontierLine, std::string> parse_frontier_line(std::string_view text) {
  LineTokens reader;
  if (is_plain_url(text)) {
    reader.line.url = text;
    reader.note_url();
    if (auto why = finish(reader); !why.empty()) return tl::unexpected(std::move(why));
    return std::move(reader.line);
  }
  const bool whole = json::sax_parse(text.begin(), text.end(), &reader);
  if (reader.why.empty() && whole) reader.why = finish(reader);
  if (!reader.why.empty() || !whole) return tl::unexpected(std::move(reader.why));
  return std::move(reader.line);
}

}  // namespace trawl::cli
