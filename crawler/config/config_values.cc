#include "crawler/config/config_values.h"

#include <array>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"

namespace trawl {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// In ascending order, on which the formatters rely.
constexpr std::array kDurationUnits = {Unit{"ms", 1}, Unit{"s", 1'000}, Unit{"m", 60'000},
                                       Unit{"h", 3'600'000}, Unit{"d", 86'400'000}};
constexpr std::array kSizeUnits = {
    Unit{"B", 1},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
    Unit{"TiB", 1ull << 40},
};
// Other names that people write, in lower case.
constexpr Unit kOtherDurationUnits[] = {
    {"msec", 1},          {"millisecond", 1},  {"milliseconds", 1},   {"sec", 1'000},
    {"secs", 1'000},      {"second", 1'000},   {"seconds", 1'000},    {"min", 60'000},
    {"mins", 60'000},     {"minute", 60'000},  {"minutes", 60'000},   {"hr", 3'600'000},
    {"hrs", 3'600'000},   {"hour", 3'600'000}, {"hours", 3'600'000},  {"day", 86'400'000},
    {"days", 86'400'000}, {"w", 604'800'000},  {"week", 604'800'000}, {"weeks", 604'800'000}};
// "10M" is a power of two, as with wget, curl and dd; "10MB" is not.
constexpr Unit kOtherSizeUnits[] = {{"byte", 1},       {"bytes", 1},      {"k", 1ull << 10},
                                    {"m", 1ull << 20}, {"g", 1ull << 30}, {"t", 1ull << 40}};
constexpr std::array kCountUnits = {Unit{"k", 1'000}, Unit{"M", 1'000'000},
                                    Unit{"G", 1'000'000'000}, Unit{"T", 1'000'000'000'000}};

// So many digits times the largest factor fit 64 bits.
constexpr std::size_t kMaxFractionDigits = 6;
constexpr std::uint64_t kMaxDurationMs = 100ull * 366 * 86'400'000;

// What the number of a kind may be followed by.
struct Units {
  std::span<const Unit> units;
  std::span<const Unit> others = {};
  bool needed = true;  // a number without a unit is wrong, unless it is 0
};
constexpr Units kDurations{kDurationUnits, kOtherDurationUnits};
constexpr Units kSizes{kSizeUnits, kOtherSizeUnits, false};
constexpr Units kCounts{kCountUnits, {}, false};

tl::unexpected<std::string> wrong(std::string why) {
  return tl::unexpected(std::move(why));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
}

std::string_view without_blanks(std::string_view text) {
  skip_blanks(text);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

// Removes and returns the digits at the front of `text`.
std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length]))
    ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// Returns false if the number does not fit.
bool to_number(std::string_view digits, std::uint64_t& number) {
  number = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, static_cast<std::uint64_t>(c - '0'), &number)) {
      return false;
    }
  }
  return true;
}

tl::expected<std::uint64_t, std::string> find_factor(std::string_view name, const Units& units,
                                                     bool is_zero) {
  std::string known;
  for (const Unit& unit : units.units) {
    if (equal_in_any_case(unit.name, name)) return unit.factor;
    known += known.empty() ? "" : ", ";
    known += unit.name;
  }
  for (const Unit& unit : units.others) {
    if (equal_in_any_case(unit.name, name)) return unit.factor;
  }
  if (name.empty() && (is_zero || !units.needed)) return 1;
  if (name.empty()) return wrong("the unit is missing: one of " + known);
  return wrong(fmt::format("unknown unit {}: one of {}", shown(name), known));
}

// Parses "<digits>[.<digits>][ ][<unit>]" at the front of `text` into a whole number of the
// smallest unit, without rounding.
tl::expected<std::uint64_t, std::string> take_quantity(std::string_view& text, const Units& units) {
  const std::string_view whole_digits = take_digits(text);
  std::string_view fraction_digits;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction_digits = take_digits(text);
    if (fraction_digits.empty()) return wrong("no digits after the point");
  }
  if (whole_digits.empty()) return wrong("it does not start with a digit");
  while (fraction_digits.ends_with('0'))
    fraction_digits.remove_suffix(1);
  std::uint64_t value = 0;
  const bool fits = to_number(whole_digits, value);
  skip_blanks(text);
  std::size_t length = 0;
  while (length < text.size() && !is_digit(text[length]) && !is_blank(text[length]))
    ++length;
  const auto factor =
      find_factor(text.substr(0, length), units, fits && value == 0 && fraction_digits.empty());
  if (!factor) return factor;
  text.remove_prefix(length);
  if (!fits || __builtin_mul_overflow(value, *factor, &value)) return wrong("too large");
  if (fraction_digits.size() > kMaxFractionDigits) {
    return wrong(fmt::format("more than {} digits after the point", kMaxFractionDigits));
  }
  std::uint64_t fraction = 0;
  to_number(fraction_digits, fraction);
  fraction *= *factor;
  for (std::size_t i = 0; i < fraction_digits.size(); ++i) {
    if (fraction % 10 != 0) return wrong(fmt::format("finer than 1 {}", units.units[0].name));
    fraction /= 10;
  }
  if (__builtin_add_overflow(value, fraction, &value)) return wrong("too large");
  return value;
}

tl::expected<std::uint64_t, std::string> parse_quantity(std::string_view text, const Units& units) {
  text = without_blanks(text);
  const auto value = take_quantity(text, units);
  if (value && !text.empty()) return wrong("one number with one unit is expected");
  return value;
}

std::string format_quantity(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units[0];
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0 && unit.factor > best->factor) best = &unit;
  }
  return fmt::format("{}{}", value / best->factor, best->name);
}

}  // namespace

// "1h 30m" is the sum of its parts.
tl::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text) {
  text = without_blanks(text);
  std::uint64_t sum = 0;
  do {
    const auto value = take_quantity(text, kDurations);
    if (!value) return tl::unexpected(value.error());
    if (*value > kMaxDurationMs || (sum += *value) > kMaxDurationMs) return wrong("too large");
    skip_blanks(text);
  } while (!text.empty());
  return std::chrono::milliseconds(static_cast<std::int64_t>(sum));
}

std::string format_duration(std::chrono::milliseconds duration) {
  if (duration.count() == 0) return "0s";
  return format_quantity(static_cast<std::uint64_t>(duration.count()), kDurationUnits);
}

tl::expected<std::uint64_t, std::string> parse_size(std::string_view text) {
  return parse_quantity(text, kSizes);
}

tl::expected<std::uint64_t, std::string> parse_count(std::string_view text) {
  return parse_quantity(text, kCounts);
}

std::string format_size(std::uint64_t bytes) {
  return format_quantity(bytes, kSizeUnits);
}

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  if (text.size() <= kLongest) return toml_string(text);
  std::size_t end = kLongest;
  // Does not cut within a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return toml_string(text.substr(0, end)) + "...";
}

std::string describe(const toml::node& node) {
  return node.visit([](const auto& value) -> std::string {
    using Node = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Node, toml::table>) {
      return "a table";
    } else if constexpr (std::is_same_v<Node, toml::array>) {
      return value.empty() ? "an empty array" : "an array";
    } else if constexpr (std::is_same_v<Node, toml::value<std::string>>) {
      return "the string " + shown(value.get());
    } else if constexpr (std::is_same_v<Node, toml::value<std::int64_t>>) {
      return fmt::format("the integer {}", value.get());
    } else if constexpr (std::is_same_v<Node, toml::value<double>>) {
      return fmt::format("the number {}", value.get());
    } else if constexpr (std::is_same_v<Node, toml::value<bool>>) {
      return value.get() ? "true" : "false";
    } else {
      return "a date or time";
    }
  });
}

}  // namespace trawl
