#include "crawler/cli/filter_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "crawler/config/config_values.h"
#include "frontier/percent_encoding.h"

namespace trawl::cli {

namespace {

constexpr std::uint64_t kMaxCapacity = 1'000'000'000'000'000'000;

tl::unexpected<std::string> wrong(std::string_view text, std::string_view why) {
  return tl::unexpected(fmt::format("{} {}", shown(text), why));
}

// The power of 1000 that a number's last letter stands for; cuts it off.
double take_multiplier(std::string_view& text) {
  constexpr std::string_view kLetters = "KMGT";
  const std::size_t power = text.empty() ? kLetters.npos : kLetters.find(text.back());
  if (power == kLetters.npos) return 1;
  text.remove_suffix(1);
  return std::pow(1000.0, static_cast<double>(power + 1));
}

// All of `text`; from_chars knows "inf" and "nan" too.
template <class Number>
bool to_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
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
  std::uint64_t exact = 0;
  if (!to_number(text, exact)) {
    std::string_view digits = text;
    const double multiplier = take_multiplier(digits);
    double number = 0;
    if (!to_number(digits, number) || std::isnan(number))
      return wrong(text, "is no number of keys; 1000000, 1e6, 10M and 2G are");
    number *= multiplier;
    if (number > static_cast<double>(kMaxCapacity))
      return wrong(text, "is more keys than any filter here can have; at most 1e18");
    if (number < 0 || number != std::floor(number))
      return wrong(text, "is not a whole number of keys");
    exact = static_cast<std::uint64_t>(number);
  }
  if (exact == 0) return wrong(text, "is too few keys; at least 1");
  if (exact > kMaxCapacity)
    return wrong(text, "is more keys than any filter here can have; at most 1e18");
  return exact;
}

tl::expected<double, std::string> parse_rate(std::string_view text) {
  double rate = 0;
  if (!to_number(text, rate) || std::isnan(rate))
    return wrong(text, "is no rate of false positives; 1e-6 and 0.01 are");
  if (rate <= 0 || rate >= 1)
    return wrong(text, "is no rate of false positives: it must be above 0 and below 1");
  return rate;
}

tl::expected<FilterKind, std::string> parse_filter_kind(std::string_view text) {
  if (const auto kind = filter_kind_named(text)) return *kind;
  return wrong(text, "is no kind of filter; blocked, growing, classic, counting and cuckoo are");
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
    if (high < 0 || low < 0) return wrong(text, "is not made of hexadecimal digits alone");
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
