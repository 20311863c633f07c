#include "crawler/patterns/url_pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "trawl/url.h"

#include "crawler/patterns/url_pattern_options.h"

namespace trawl {

namespace {

constexpr std::string_view kRegexMark = "re:";

// What messages show of a text.
std::string quoted_part(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string out;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return out + (text.size() > kShown ? "..." : "");
}

tl::unexpected<Error> bad(std::string_view text, std::string_view what) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("the pattern \"{}\" {}", quoted_part(text), what));
}

void append_literal(std::string_view literal, std::string& out) {
  out += re2::RE2::QuoteMeta(re2::StringPiece(literal.data(), literal.size()));
}

// Where a name and a password may stand.
constexpr std::string_view kUserInfo = "(?:[^/@]*@)?";

// What stands before "://" where that begins the authority: "http" of "http://h/*"; nothing if the
// glob leaves the scheme open. That of "h.test/?url=http://*" is part of a query.
std::optional<std::string_view> scheme_of(std::string_view glob) {
  const std::size_t end = glob.find("://");
  if (end == std::string_view::npos || glob.find('/') < end) return std::nullopt;
  return glob.substr(0, end);
}

// The glob in RE2's syntax, without anchors.
void append_glob(std::string_view glob, std::string& out) {
  while (!glob.empty()) {
    const std::size_t literal = std::min(glob.find_first_of("*?"), glob.size());
    append_literal(glob.substr(0, literal), out);
    glob.remove_prefix(literal);
    if (glob.starts_with('?')) {
      out += '.';
      glob.remove_prefix(1);
    } else if (!glob.empty()) {
      out += ".*";
      glob.remove_prefix(std::min(glob.find_first_not_of('*'), glob.size()));
    }
  }
}

std::string expression_of_glob(std::string_view glob) {
  std::string out = "\\A";
  const auto scheme = scheme_of(glob);
  if (scheme == "http" || scheme == "https") {
    // Only a glob that spells its scheme out is known to have its host right behind it.
    append_literal(glob.substr(0, scheme->size() + 3), out);
    out += kUserInfo;
    glob.remove_prefix(scheme->size() + 3);
  } else if (!scheme && !glob.starts_with('*')) {
    out += "https?://";
    out += kUserInfo;
  }
  append_glob(glob, out);
  return out + "\\z";
}

bool glob_matches(std::string_view glob, std::string_view text) {
  std::string expression;
  append_glob(glob, expression);
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()),
                             re2::RE2(expression, url_pattern_options()));
}

// Why no URL has what stands between the scheme and the first '/' or wildcard; empty if one may.
// `scheme` is empty where it is open.
std::string why_no_url_has(std::string_view authority, std::string_view scheme, bool whole) {
  if (!whole) {
    // The rest of it is not known: of a host it is the beginning, if it is not of a user's name.
    const bool upper = std::ranges::any_of(authority, [](char c) { return c >= 'A' && c <= 'Z'; });
    return upper && authority.find('@') == std::string_view::npos
               ? "has a host with upper case letters, which URLs have in lower case"
               : "";
  }
  std::string spelled;
  for (const std::string_view each : {std::string_view("http"), std::string_view("https")}) {
    if (!scheme.empty() && each != scheme) continue;
    const std::string text = fmt::format("{}://{}/", each, authority);
    const auto url = Url::parse(text);
    if (!url) return "has a host that no URL has: " + url.error().message;
    if (url->href() == text) return {};
    if (spelled.empty()) spelled = url->href().substr(each.size() + 3);
  }
  spelled.pop_back();
  return fmt::format("names a host as no URL spells it: write \"{}\" instead of \"{}\"",
                     quoted_part(spelled), quoted_part(authority));
}

// "*.example.com": under these no files' names end.
bool looks_like_subdomains(std::string_view glob) {
  constexpr std::string_view kEnds[] = {".com", ".net", ".org", ".edu", ".gov"};
  if (!glob.starts_with("*.")) return false;
  const std::string_view host = glob.substr(1);
  const auto is_in_hosts = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return std::ranges::all_of(host, is_in_hosts) &&
         std::ranges::any_of(kEnds, [host](std::string_view end) {
           return host.ends_with(end) && host.size() > end.size();
         });
}

std::string why_no_byte_matches(std::string_view glob) {
  for (const char c : glob) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80)
      return "has bytes that are not ASCII: write them as URLs do, in the host as \"xn--...\", "
             "elsewhere as \"%C3%A4\"";
    if (byte <= 0x20 || byte == 0x7F) return "has a space or a control character; URLs have none";
    if (byte == '#') return "has a '#', and URLs are matched without their fragment";
  }
  return {};
}

// Why no URL can match the glob, or none that is meant; empty if one may.
std::string why_no_url_matches(std::string_view glob) {
  if (auto why = why_no_byte_matches(glob); !why.empty()) return why;
  const std::string shown = quoted_part(glob);
  if (glob.starts_with('/'))
    return fmt::format("begins with a '/', and URLs do with a scheme and a host: write \"*{}\"",
                       shown);
  if (looks_like_subdomains(glob))
    return fmt::format("has no path, and URLs have: write \"{}/*\" for all of these hosts", shown);
  const auto scheme = scheme_of(glob);
  if (!scheme && glob.starts_with('*')) return {};
  if (scheme && !glob_matches(*scheme, "http") && !glob_matches(*scheme, "https"))
    return "has another scheme than http and https, and no URL of a crawl has";
  std::string_view authority = glob.substr(scheme ? scheme->size() + 3 : 0);
  const std::size_t end = authority.find_first_of("/*?");
  if (end == std::string_view::npos)
    return fmt::format(
        "has a host without a path, and URLs have at least a '/' there: write "
        "\"{}/*\" for all of that host",
        shown);
  const bool whole = authority[end] == '/';
  authority = authority.substr(0, end);
  const bool open = !scheme || scheme->find_first_of("*?") != std::string_view::npos;
  if (whole && authority.empty()) return "has no host, and all URLs have one";
  return why_no_url_has(authority, open ? std::string_view() : *scheme, whole);
}

}  // namespace

Result<UrlPattern> UrlPattern::parse(std::string_view text) {
  const bool is_regex = text.starts_with(kRegexMark);
  const std::string_view body = is_regex ? text.substr(kRegexMark.size()) : text;
  if (body.empty()) return bad(text, "is empty: write a glob, or \"re:\" and a regular expression");
  if (text.size() > kMaxLength)
    return bad(text, fmt::format("is longer than {} bytes", kMaxLength));
  if (!is_regex) {
    if (const auto why = why_no_url_matches(body); !why.empty()) return bad(text, why);
  }
  const std::string expression = is_regex ? std::string(body) : expression_of_glob(body);
  auto compiled = std::make_shared<const re2::RE2>(expression, url_pattern_options());
  if (!compiled->ok()) return bad(text, "is no regular expression: " + compiled->error());
  return UrlPattern(std::make_shared<const std::string>(text), std::move(compiled));
}

bool UrlPattern::matches(std::string_view href) const {
  return expression_->Match(re2::StringPiece(href.data(), href.size()), 0, href.size(),
                            re2::RE2::UNANCHORED, nullptr, 0);
}

const std::string& UrlPattern::expression() const {
  return expression_->pattern();
}

}  // namespace trawl
