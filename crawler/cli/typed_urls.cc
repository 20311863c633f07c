#include "crawler/cli/typed_urls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::string_view kBlanks = " \t\r\v\f";

bool has_web_scheme(std::string_view text) {
  return starts_with_in_any_case(text, "http://") || starts_with_in_any_case(text, "https://");
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::size_t last = text.find_last_not_of(kBlanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The next line, which is removed from the front of `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// A line without its comment and the blanks around it.
std::string_view content_of(std::string_view line) {
  line = without_blanks(line);
  if (line.starts_with('#')) return {};
  if (line.starts_with('{') || line.starts_with('"')) return line;
  const std::size_t blank = line.find_first_of(kBlanks);
  if (blank == std::string_view::npos) return line;
  const std::string_view rest = without_blanks(line.substr(blank));
  return rest.starts_with('#') ? line.substr(0, blank) : line;
}

// "key = value" or "[table]".
bool is_toml(std::string_view line) {
  if (line.starts_with('[')) return true;
  constexpr std::string_view kKey =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  const std::size_t end = line.find_first_not_of(kKey);
  if (end == 0 || end == std::string_view::npos) return false;
  return without_blanks(line.substr(end)).starts_with('=');
}

// Only the member "url" is read; a tree would need memory for all that a line may hold.
class UrlMember final : public nlohmann::json::json_sax_t {
 public:
  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool string(string_t& value) override {
    if ((depth_ == 1 && is_url_) || depth_ == 0) url = std::move(value);
    return true;
  }
  bool start_object(std::size_t) override { return ++depth_ <= kDeepest; }
  bool key(string_t& name) override {
    if (depth_ == 1) is_url_ = name == "url";
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return ++depth_ <= kDeepest; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

  std::optional<std::string> url;

 private:
  static constexpr int kDeepest = 100;
  static bool other() { return true; }
  int depth_ = 0;
  bool is_url_ = false;
};

// A config or a list that does not exist is not the name of a host.
bool is_file_name(std::string_view word) {
  static constexpr std::string_view kEndings[] = {".toml", ".txt",  ".json", ".jsonl", ".csv",
                                                  ".conf", ".cfg",  ".ini",  ".list",  ".log",
                                                  ".gz",   ".yaml", ".yml",  ".xml",   ".html"};
  return std::ranges::any_of(kEndings,
                             [word](std::string_view ending) { return word.ends_with(ending); });
}

Result<std::string> url_of_line(std::string_view line) {
  if (!line.starts_with('{') && !line.starts_with('"')) return typed_url(line);
  UrlMember reader;
  if (!nlohmann::json::sax_parse(line.begin(), line.end(), &reader))
    return error(ErrorCode::kInvalidArgument, "not valid JSON");
  if (!reader.url)
    return error(ErrorCode::kInvalidArgument, "the JSON object has no string \"url\"");
  return typed_url(*reader.url);
}

// The scheme of a URL that was typed without one. Servers of developers speak no TLS: those on this
// machine, at an address, or at a port of their own.
std::string_view scheme_for(const Url& url) {
  const std::string_view name = group_host(url);
  const bool is_local = name == "localhost" || name.ends_with(".localhost");
  const bool is_address = name.starts_with('[') || (!name.empty() && is_ascii_digit(name.back()));
  return is_local || is_address || !url.port().empty() ? "http" : "https";
}

}  // namespace

Result<std::string> typed_url(std::string_view text) {
  const std::string_view word = without_blanks(text);
  if (word.empty()) return error(ErrorCode::kInvalidUrl, "an empty text is not a URL");
  if (word.find_first_of(kBlanks) != std::string_view::npos) {
    return error(ErrorCode::kInvalidUrl,
                 fmt::format("{} is not one URL: it has blanks", shown(word)));
  }
  const std::size_t scheme = word.find("://");
  const bool has_scheme =
      scheme != std::string_view::npos && word.find_first_of("/?#") == scheme + 1;
  if (has_scheme && !has_web_scheme(word)) {
    const std::string_view known[] = {"http", "https"};
    const std::string_view nearest = nearest_name(word.substr(0, scheme), known);
    return error(ErrorCode::kUnsupportedScheme,
                 fmt::format("{} is not an http(s) URL{}", shown(word),
                             nearest.empty() ? ""
                                             : fmt::format("; did you mean {}{}?", nearest,
                                                           word.substr(scheme))));
  }
  // A port is the only thing that may follow the colon of a host.
  const std::size_t colon = word.find_first_of("[:/?#");
  if (!has_scheme && colon < word.size() - 1 && word[colon] == ':' &&
      !is_ascii_digit(word[colon + 1]))
    return error(ErrorCode::kUnsupportedScheme,
                 fmt::format("{} is not an http(s) URL", shown(word)));
  auto url = Url::parse(has_scheme ? std::string(word) : fmt::format("https://{}", word));
  if (url && !has_scheme) url = Url::parse(fmt::format("{}://{}", scheme_for(*url), word));
  if (!url) {
    return error(url.error().code,
                 fmt::format("{} is not an http(s) URL: {}", shown(word), url.error().message));
  }
  return std::string(url->href());
}

bool looks_like_url(std::string_view word) {
  if (word.find("://") != std::string_view::npos) return true;  // perhaps of another scheme
  const std::string_view host = word.substr(0, word.find_first_of("/?#"));
  if (is_file_name(host) || word.ends_with(".toml")) return false;
  if (host.empty() || host.starts_with('.') || host.find_first_of(kBlanks) != host.npos)
    return false;
  const auto url = Url::parse(fmt::format("https://{}", host));
  if (!url) return false;
  const std::string_view name = group_host(*url);
  return name == "localhost" || name.starts_with('[') || name.find('.') != std::string_view::npos ||
         !url->port().empty();
}

TextKind kind_of_text(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  while (!text.empty()) {
    const std::string_view line = content_of(take_line(text));
    if (line.empty()) continue;
    if (is_toml(line)) return TextKind::kConfig;
    return url_of_line(line) &&
                   (looks_like_url(line) || line.starts_with('{') || line.starts_with('"'))
               ? TextKind::kUrls
               : TextKind::kConfig;
  }
  return TextKind::kConfig;
}

UrlLines read_url_lines(std::string_view text) {
  UrlLines lines;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = content_of(take_line(text));
    if (line.empty()) continue;
    auto url = url_of_line(line);
    if (url) {
      lines.urls.push_back(std::move(*url));
    } else if (lines.wrong.size() < kMostWrong) {
      lines.wrong.push_back({number, std::move(url.error().message)});
    } else {
      ++lines.more_wrong;
    }
  }
  return lines;
}

std::string directory_name_of(std::string_view text) {
  const auto url = Url::parse(text);
  std::string name(url ? group_host(*url) : text);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  if (name.empty() || name.front() == '.' || name.front() == '-') name = fmt::format("_{}", name);
  name.resize(std::min(name.size(), kLongestName));
  return name;
}

}  // namespace trawl::cli
