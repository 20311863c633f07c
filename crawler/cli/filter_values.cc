#include "crawler/cli/filter_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "crawler/config/config_values.h"
#include "url/percent_encoding.h"

namespace trawl::cli {

namespace {

constexpr std::uint64_t kMaxCapacity = 1'000'000'000'000'000'000;
constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 62;
constexpr double kMaxBitsPerKey = 1e6;
constexpr unsigned kMaxHashesOfKey = 64;

tl::unexpected<std::string> wrong(std::string_view text, std::string_view why) {
  return tl::unexpected(fmt::format("{} {}", shown(text), why));
}

// Returns the power of 1000 that a trailing letter stands for, and removes the letter.
double take_multiplier(std::string_view& text) {
  constexpr std::string_view kLetters = "KMGT";
  const std::size_t power = text.empty() ? kLetters.npos : kLetters.find(text.back());
  if (power == kLetters.npos) return 1;
  text.remove_suffix(1);
  return std::pow(1000.0, static_cast<double>(power + 1));
}

// Parses all of `text`, including "inf" and "nan", which from_chars() accepts.
template <class Number>
bool to_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

tl::expected<std::uint64_t, std::string> parse_count(std::string_view text, std::string_view of,
                                                     std::uint64_t most,
                                                     std::string_view most_shown) {
  const auto too_many = [&] {
    return wrong(text,
                 fmt::format("is more {} than a filter can have; at most {}", of, most_shown));
  };
  std::uint64_t exact = 0;
  if (!to_number(text, exact)) {
    std::string_view digits = text;
    const double multiplier = take_multiplier(digits);
    double number = 0;
    if (!to_number(digits, number) || std::isnan(number))
      return wrong(text, fmt::format("is not a number of {}, such as 1000000, 1e6, 10M or 2G", of));
    number *= multiplier;
    if (number > static_cast<double>(most)) return too_many();
    if (number < 0 || number != std::floor(number))
      return wrong(text, fmt::format("is not a whole number of {}", of));
    exact = static_cast<std::uint64_t>(number);
  }
  if (exact == 0) return wrong(text, fmt::format("is too few {}; at least 1", of));
  if (exact > most) return too_many();
  return exact;
}

std::string scaled(double value, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  for (; value >= step && unit + 1 < units.size(); ++unit)
    value /= step;
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, units[unit]);
}

}  // namespace

tl::expected<std::uint64_t, std::string> parse_capacity(std::string_view text) {
  return parse_count(text, "keys", kMaxCapacity, "1e18");
}

tl::expected<std::uint64_t, std::string> parse_bits(std::string_view text) {
  return parse_count(text, "bits", kMaxBits, "4.6e18");
}

tl::expected<double, std::string> parse_bits_per_key(std::string_view text) {
  double bits = 0;
  if (!to_number(text, bits) || std::isnan(bits))
    return wrong(text, "is not a number of bits per key, such as 10 or 19.2");
  if (!(bits > 0) || bits > kMaxBitsPerKey) {
    return wrong(text, fmt::format("is not a number of bits per key above 0 and at most {}",
                                   kMaxBitsPerKey));
  }
  return bits;
}

tl::expected<unsigned, std::string> parse_hashes(std::string_view text) {
  unsigned hashes = 0;
  if (!to_number(text, hashes) || hashes == 0 || hashes > kMaxHashesOfKey) {
    return wrong(text,
                 fmt::format("is not a number of hashes: it must be a whole number from 1 to {}",
                             kMaxHashesOfKey));
  }
  return hashes;
}

tl::expected<double, std::string> parse_rate(std::string_view text) {
  double rate = 0;
  if (!to_number(text, rate) || std::isnan(rate))
    return wrong(text, "is not a false-positive rate, such as 1e-6 or 0.01");
  if (rate <= 0 || rate >= 1)
    return wrong(text, "is not a false-positive rate: it must be above 0 and below 1");
  return rate;
}

tl::expected<FilterKind, std::string> parse_filter_kind(std::string_view text) {
  if (const auto kind = filter_kind_named(text)) return *kind;
  return wrong(text, "is not a kind of filter: blocked, growing, classic, counting or cuckoo");
}

tl::expected<KeyedHash::Key, std::string> parse_hash_key(std::string_view text) {
  KeyedHash::Key key;
  if (text.size() != 2 * key.size()) {
    return wrong(
        text, fmt::format("has {} characters; a hash key is 32 hexadecimal digits", text.size()));
  }
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return wrong(text, "has characters other than hexadecimal digits");
    key[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return key;
}

std::string format_hash_key(const KeyedHash::Key& key) {
  std::string text;
  for (const auto byte : key)
    text += fmt::format("{:02x}", byte);
  return text;
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  return scaled(static_cast<double>(bytes), 1024, kUnits);
}

std::string readable_count(double count) {
  constexpr std::array<std::string_view, 5> kUnits{"", " k", " M", " G", " T"};
  return scaled(count, 1000, kUnits);
}

}  // namespace trawl::cli
