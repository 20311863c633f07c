#include "crawler/config/cookies_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/ascii.h"
#include "base/text_file.h"
#include "base/utf8.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxCookieBytes = 64u << 20;
constexpr std::size_t kMaxListed = 100;
constexpr std::size_t kMaxLine = 6u << 10;
constexpr std::string_view kHttpOnly = "#HttpOnly_";

enum Field { kDomain, kSubdomains, kPath, kSecure, kExpires, kName, kValue, kFields };

struct Line {
  std::array<std::string_view, kFields> fields;
};

// An error in a line; none of its text, which may be a secret.
struct WrongCookie {
  std::uint32_t column;
  std::string message;
};

std::string_view next_line(std::string_view& text) {
  const std::size_t length = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_flag(std::string_view text) {
  return equal_in_any_case(text, "TRUE") || equal_in_any_case(text, "FALSE");
}

// The fields; fewer than kFields if the line has fewer. A missing value is an empty one, since some
// programs leave out the tab.
std::size_t split(std::string_view line, Line& out) {
  std::size_t count = 0;
  while (count < kFields) {
    const std::size_t tab = count + 1 == kFields ? line.npos : line.find('\t');
    out.fields[count++] = line.substr(0, tab);
    if (tab == line.npos) break;
    line.remove_prefix(tab + 1);
  }
  if (count == kValue) out.fields[count++] = {};
  return count;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  text = text.substr(0, text.find('.'));  // some programs write parts of a second
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

// "example.com", in lower case, from ".example.com" or "#HttpOnly_.example.com".
std::string host_of(std::string_view domain) {
  if (domain.starts_with(kHttpOnly)) domain.remove_prefix(kHttpOnly.size());
  if (domain.starts_with('.')) domain.remove_prefix(1);
  return to_lower(domain);
}

// Where the first one is, except tabs.
std::optional<std::size_t> control_character(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return i;
  }
  return std::nullopt;
}

std::optional<WrongCookie> check(std::string_view line, Line& parts) {
  const auto column = [&](std::string_view part) {
    return static_cast<std::uint32_t>(part.data() - line.data() + 1);
  };
  if (const auto at = control_character(line)) {
    return WrongCookie{static_cast<std::uint32_t>(*at + 1),
                       line[*at] == 0 ? "has a NUL byte" : "has a control character"};
  }
  if (line.size() > kMaxLine)
    return WrongCookie{1, fmt::format("has more than {} bytes", kMaxLine)};
  if (const std::size_t count = split(line, parts); count < kFields) {
    return WrongCookie{1, fmt::format("has {} of the 7 fields of a cookie, which have tabs between "
                                      "them: domain, TRUE or FALSE, path, TRUE or FALSE, time of "
                                      "expiry, name, value",
                                      count)};
  }
  const auto& fields = parts.fields;
  const auto host = Url::parse(fmt::format("http://{}/", host_of(fields[kDomain])));
  if (!host || host->hostname() != host_of(fields[kDomain]))
    return WrongCookie{column(fields[kDomain]), "the domain of the cookie is not a host name"};
  for (const Field flag : {kSubdomains, kSecure}) {
    if (!is_flag(fields[flag])) return WrongCookie{column(fields[flag]), "expected TRUE or FALSE"};
  }
  if (!fields[kPath].starts_with('/'))
    return WrongCookie{column(fields[kPath]), "expected a path, which begins with /"};
  if (!number(fields[kExpires])) {
    return WrongCookie{column(fields[kExpires]),
                       "expected when the cookie expires, in seconds since 1970, or 0"};
  }
  if (fields[kName].empty()) return WrongCookie{column(fields[kName]), "the cookie has no name"};
  return std::nullopt;
}

class Reader {
 public:
  Reader(const std::filesystem::path& file, std::chrono::system_clock::time_point now)
      : name_(file.string()), now_(std::chrono::system_clock::to_time_t(now)) {}

  void read(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    for (std::uint32_t number = 1; !text.empty(); ++number) {
      const std::string_view line = next_line(text);
      if (!is_cookie_comment(line)) take(line, number);
    }
  }

  FileErrors& errors() { return errors_; }
  CookiesFile take_cookies() {
    result_.sites.reserve(sites_.size());
    while (!sites_.empty()) {  // what was moved is freed, since there may be millions
      auto site = sites_.extract(sites_.begin());
      CookiesOfSite& added = result_.sites.emplace_back(CookiesOfSite{std::move(site.key()), {}});
      added.lines.reserve(site.mapped().lines.size());
      for (auto& [key, line] : site.mapped().lines)
        added.lines.push_back(std::move(line));
      result_.cookies += added.lines.size();
    }
    return std::move(result_);
  }

 private:
  struct Site {
    std::map<std::string, std::string> lines;  // by cookie_key()
    std::size_t bytes = 0;
  };

  void take(std::string_view line, std::uint32_t line_number) {
    Line parts;
    if (auto wrong = check(line, parts)) return report(line_number, *std::move(wrong));
    const std::int64_t expires = *number(parts.fields[kExpires]);
    if (expires != 0 && expires <= now_) {
      ++result_.expired;
      return;
    }
    const std::string host = host_of(parts.fields[kDomain]);
    Site& site = sites_[std::string(cookie_site(host))];
    const std::string key = cookie_key(line);
    const auto same = site.lines.find(key);
    std::string kept = normal(parts, expires);
    const std::size_t bytes =
        site.bytes + kept.size() - (same == site.lines.end() ? 0 : same->second.size());
    if (bytes <= CookiesOfSite::kMaxBytes) {
      site.bytes = bytes;
      site.lines[key] = std::move(kept);
      return;
    }
    report(line_number,
           {1, fmt::format("the cookies of {} have more than {} KiB up to here: more than a server "
                           "takes; keep those that are needed",
                           cookie_site(host), CookiesOfSite::kMaxBytes >> 10)});
  }

  // In the form that libcurl reads: it takes a domain with subdomains by its '.'.
  static std::string normal(const Line& parts, std::int64_t expires) {
    const auto& fields = parts.fields;
    const bool subdomains = equal_in_any_case(fields[kSubdomains], "TRUE");
    return fmt::format(
        "{}{}{}\t{}\t{}\t{}\t{}\t{}\t{}", fields[kDomain].starts_with(kHttpOnly) ? kHttpOnly : "",
        subdomains ? "." : "", host_of(fields[kDomain]), subdomains ? "TRUE" : "FALSE",
        fields[kPath], equal_in_any_case(fields[kSecure], "TRUE") ? "TRUE" : "FALSE", expires,
        fields[kName], fields[kValue]);
  }

  void report(std::uint32_t line, WrongCookie wrong) {
    errors_.add({name_, line, wrong.column, "fetch.cookies_file: " + std::move(wrong.message)},
                kMaxListed);
  }

  const std::string name_;
  const std::int64_t now_;
  std::map<std::string, Site> sites_;
  CookiesFile result_;
  FileErrors errors_;
};

}  // namespace

tl::expected<CookiesFile, FileErrors> read_cookies_file(const std::filesystem::path& file,
                                                        std::chrono::system_clock::time_point now) {
  const auto text = read_text_file(file, kMaxCookieBytes);
  if (!text) {
    FileErrors errors;
    std::error_code unknown;
    const auto size = std::filesystem::file_size(file, unknown);
    std::string message = text.error();
    if (!unknown && size > kMaxCookieBytes) {
      message = fmt::format(
          "has {} MiB, more than the limit of {} MiB; keep the cookies of the "
          "sites that are crawled",
          size >> 20, kMaxCookieBytes >> 20);
    }
    errors.listed.push_back({file.string(), 0, 0, "fetch.cookies_file: " + message});
    return tl::unexpected(std::move(errors));
  }
  Reader reader(file, now);
  reader.read(*text);
  if (!reader.errors().listed.empty()) return tl::unexpected(std::move(reader.errors()));
  return reader.take_cookies();
}

bool is_cookie_comment(std::string_view line) {
  return line.find_first_not_of(" \t") == line.npos ||
         (line.starts_with('#') && !line.starts_with(kHttpOnly));
}

std::optional<std::int64_t> cookie_expiry(std::string_view line) {
  Line parts;
  if (control_character(line) || split(line, parts) < kFields) return std::nullopt;
  return number(parts.fields[kExpires]);
}

std::string cookie_key(std::string_view line) {
  Line parts;
  split(line, parts);
  return fmt::format("{}\t{}\t{}", host_of(parts.fields[kDomain]), parts.fields[kPath],
                     parts.fields[kName]);
}

std::string_view cookie_site(std::string_view host) {
  if (host.starts_with('.')) host.remove_prefix(1);
  return registrable_domain(host);
}

}  // namespace trawl
