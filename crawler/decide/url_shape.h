// The shape of a URL: how deep it is, how it repeats itself, and what pattern it is made by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/url.h"

namespace trawl {

// Segments of a path, which begins with '/': those between slashes, empty ones too, but not the
// empty one behind a slash at the end. "/a/b" and "/a/b/" have two, "/" none.
std::uint32_t count_path_segments(std::string_view path);

// The longest run of segments looked at as one.
inline constexpr std::uint32_t kMaxRepeatedRun = 16;

// True if a segment, or a run of up to kMaxRepeatedRun segments, comes more than `max_times` times
// in a row: "/a/b/a/b/a/b/x" repeats a run of two three times. `segments` is
// count_path_segments(path). Linear in the path.
bool has_repeated_segments(std::string_view path, std::uint32_t segments, std::uint32_t max_times);

// Parameters of a query: one more than it has '&', none if it is empty.
std::uint32_t count_query_parameters(std::string_view query);

// The pattern of a URL, which pages made by one program share: its politeness group; its path with
// each run of digits as "0" and each identifier as "{id}"; the sorted names of its parameters, each
// once. "http://h.test/cal/2024/11?day=3&x" has "h.test/cal/0/0?day&x". An identifier is a run of
// eight or more hexadecimal digits and hyphens with two decimal ones and a letter among them, that
// no other letter or digit touches: a digest, a UUID.
std::string url_pattern_of(const Url& url);
// The same into a buffer the caller reuses.
void url_pattern_into(const Url& url, std::string& out);

}  // namespace trawl
