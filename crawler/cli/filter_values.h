// Parses the option values of `trawl filter` and formats the numbers it prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trawl/filter.h"
#include "trawl/result.h"

namespace trawl::cli {

// The parsers return an error text that says what is wrong. "1000000", "1e6", "10M", "2.5G": a
// whole number from 1 to 10^18; K, M, G and T are powers of 1000.
tl::expected<std::uint64_t, std::string> parse_capacity(std::string_view text);
// A number of bits, written the same way, from 1 to 2^62.
tl::expected<std::uint64_t, std::string> parse_bits(std::string_view text);
// Above 0 and at most 10^6.
tl::expected<double, std::string> parse_bits_per_key(std::string_view text);
// From 1 to 64.
tl::expected<unsigned, std::string> parse_hashes(std::string_view text);
// Above 0 and below 1.
tl::expected<double, std::string> parse_rate(std::string_view text);
tl::expected<FilterKind, std::string> parse_filter_kind(std::string_view text);
// 32 hexadecimal digits, the key's first byte first.
tl::expected<KeyedHash::Key, std::string> parse_hash_key(std::string_view text);
std::string format_hash_key(const KeyedHash::Key& key);

// "512 B", "4.7 MiB".
std::string readable_bytes(std::uint64_t bytes);
// "940", "12.3 k", "4.56 M".
std::string readable_count(double count);

}  // namespace trawl::cli
