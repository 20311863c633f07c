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

// The part of a text that messages show.
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

// Matches an optional user name and password.
constexpr std::string_view kUserInfo = "(?:[^/@]*@)?";

// The text before "://" if an authority follows: "http" in "http://h/*". Nothing if the glob has no
// scheme; in "h.test/?url=http://*" the "://" is part of a query.
std::optional<std::string_view> scheme_of(std::string_view glob) {
  const std::size_t end = glob.find("://");
  if (end == std::string_view::npos || glob.find('/') < end) return std::nullopt;
  return glob.substr(0, end);
}

// Appends the glob in RE2's syntax, without anchors.
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
    // Only after a literal scheme is it certain that the host follows.
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

// Says why no URL can have `authority`, the text between the scheme and the first '/' or wildcard;
// empty if a URL can. `scheme` is empty if the glob has none.
std::string why_no_url_has(std::string_view authority, std::string_view scheme, bool whole) {
  if (!whole) {
    // A wildcard follows, so this is the beginning of a host, or of a user name.
    const bool upper = std::ranges::any_of(authority, [](char c) { return c >= 'A' && c <= 'Z'; });
    return upper && authority.find('@') == std::string_view::npos
               ? "has a host with upper case letters; hosts of URLs are in lower case"
               : "";
  }
  std::string spelled;
  for (const std::string_view each : {std::string_view("http"), std::string_view("https")}) {
    if (!scheme.empty() && each != scheme) continue;
    const std::string text = fmt::format("{}://{}/", each, authority);
    const auto url = Url::parse(text);
    if (!url) return "has an invalid host: " + url.error().message;
    if (url->href() == text) return {};
    if (spelled.empty()) spelled = url->href().substr(each.size() + 3);
  }
  spelled.pop_back();
  return fmt::format("has a host that is not in canonical form: write \"{}\" instead of \"{}\"",
                     quoted_part(spelled), quoted_part(authority));
}

// True for globs such as "*.example.com": no file names end in these domains.
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
      return "has bytes that are not ASCII: write the host as \"xn--...\", and escapes such as "
             "\"%C3%A4\" elsewhere";
    if (byte <= 0x20 || byte == 0x7F)
      return "has a space or a control character, which URLs cannot have";
    if (byte == '#') return "has a '#', but URLs are matched without their fragment";
  }
  return {};
}

// Says why no URL, or no intended URL, can match the glob; empty if one can.
std::string why_no_url_matches(std::string_view glob) {
  if (auto why = why_no_byte_matches(glob); !why.empty()) return why;
  const std::string shown = quoted_part(glob);
  if (glob.starts_with('/'))
    return fmt::format(
        "begins with a '/', but patterns match whole URLs with scheme and host: write \"*{}\"",
        shown);
  if (looks_like_subdomains(glob))
    return fmt::format("has no path: write \"{}/*\" for all URLs of these hosts", shown);
  const auto scheme = scheme_of(glob);
  if (!scheme && glob.starts_with('*')) return {};
  if (scheme && !glob_matches(*scheme, "http") && !glob_matches(*scheme, "https"))
    return "has a scheme other than http and https, which no URL of a crawl has";
  std::string_view authority = glob.substr(scheme ? scheme->size() + 3 : 0);
  const std::size_t end = authority.find_first_of("/*?");
  if (end == std::string_view::npos)
    return fmt::format("has a host without a path: write \"{}/*\" for all URLs of that host",
                       shown);
  const bool whole = authority[end] == '/';
  authority = authority.substr(0, end);
  const bool open = !scheme || scheme->find_first_of("*?") != std::string_view::npos;
  if (whole && authority.empty()) return "has no host";
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
  if (!compiled->ok()) return bad(text, "is not a valid regular expression: " + compiled->error());
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
