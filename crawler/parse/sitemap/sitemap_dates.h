// parse_sitemap_date: the dates of sitemaps and feeds.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace trawl {

// Reads a W3C datetime (https://www.w3.org/TR/NOTE-datetime, of which RFC 3339 is a part) or a date
// of RFC 822 and its successors: "2024-05", "2024-05-17T09:30:00.25+02:00", "Fri, 17 May 2024
// 09:30:00 GMT". Fractions of seconds are cut off; a time without a zone is UTC. Lenient: a space
// for the 'T', no ':' in the zone, no name of the day, years of two digits in RFC 822 dates.
std::optional<std::chrono::sys_seconds> parse_sitemap_date(std::string_view text);

}  // namespace trawl
