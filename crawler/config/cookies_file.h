// read_cookies_file: reads a cookies.txt, as browsers' extensions and other crawlers write it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

// Cookies of a site, which is a registrable domain, or a host that has none. Each is a line of the
// Netscape format, which has been checked.
struct CookiesOfSite {
  // Of one site; the most that is sent in a request is less.
  static constexpr std::size_t kMaxBytes = 8u << 10;

  std::string site;
  std::vector<std::string> lines;
};

struct CookiesFile {
  std::vector<CookiesOfSite> sites;  // sorted by their names
  std::size_t cookies = 0;
  std::size_t expired = 0;  // which are left out
};

// A line of the file: domain, TRUE if its subdomains get the cookie too, path, TRUE if it is for
// https only, seconds since 1970 when it expires (0: at the end of the session), name and value,
// with tabs between them. "#HttpOnly_" may stand before the domain; other lines that begin with '#'
// are comments. The file may have at most 64 MiB. Of two cookies with the same name, domain and
// path the later one counts. Values are not in messages; 100
// errors are listed. Thread-safe.
tl::expected<CookiesFile, FileErrors> read_cookies_file(
    const std::filesystem::path& file,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());

// Of lines that were written before, with no more checks than that they are lines of cookies: when
// it expires, none if it is damaged; and whether it has none at all.
std::optional<std::int64_t> cookie_expiry(std::string_view line);
bool is_cookie_comment(std::string_view line);

// What makes two such lines the same cookie: domain, path and name.
std::string cookie_key(std::string_view line);
// The site of a host, or of a cookie's domain, with or without a '.' before it.
std::string_view cookie_site(std::string_view host);

}  // namespace trawl
