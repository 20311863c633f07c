// parse_sitemap_date: parses dates of sitemaps and feeds.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace trawl {

// Parses a W3C datetime (https://www.w3.org/TR/NOTE-datetime, a superset of RFC 3339) or a date of
// RFC 822 and its successors: "2024-05", "2024-05-17T09:30:00.25+02:00", "Fri, 17 May 2024 09:30:00
// GMT". Fractions of seconds are dropped; a time without a zone is UTC. Also accepts a space for
// the 'T', a zone without ':', and in RFC 822 dates a missing day name and two-digit years.
std::optional<std::chrono::sys_seconds> parse_sitemap_date(std::string_view text);

}  // namespace trawl
