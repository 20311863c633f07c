// Parses and formats durations ("1.5s") and sizes ("10MiB"), and formats values for error messages
// and TOML.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "trawl/result.h"

namespace trawl {

// "500ms", "1.5s", "2m", "1h", "1d", and what else people write: "1 s", "90 sec", "1h 30m", "2
// weeks". Only 0 needs no unit. Case does not matter. The error says what is wrong with the text.
// At most 100 years.
tl::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text);
// Formats in the largest unit that gives a whole number: "90s", "2m".
std::string format_duration(std::chrono::milliseconds duration);

// "64KiB", "10MiB", "1GB", in bytes; "10 mb" is 10,000,000, "10M" is 10MiB, and a number without a
// unit is bytes. The error says what is wrong with the text.
tl::expected<std::uint64_t, std::string> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

// A number of things: "1000", "10k", "1.5M"; k, M, G and T are powers of 1000.
tl::expected<std::uint64_t, std::string> parse_count(std::string_view text);

// `text` as a TOML basic string, including the quotes.
std::string toml_string(std::string_view text);

// `text` for a message: quoted, with control characters escaped, and cut if it is long.
std::string shown(std::string_view text);

// Describes a value, for "found ...": `the integer 3`, `the string "abc"`, `an array`.
std::string describe(const toml::node& node);

}  // namespace trawl
