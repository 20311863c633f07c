#include "base/rfc3339.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/ascii.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Reads parts from the front of a text. After a missing part it has failed for good.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  int number(std::size_t digits) {
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char digit = any();
      failed_ = failed_ || !is_ascii_digit(digit);
      if (!failed_) value = value * 10 + (digit - '0');
    }
    return value;
  }
  char any() {
    failed_ = failed_ || rest_.empty();
    if (failed_) return '\0';
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  char one_of(std::string_view allowed) {
    const char c = any();
    failed_ = failed_ || allowed.find(c) == allowed.npos;
    return c;
  }
  bool next_is(char c) const { return rest_.starts_with(c); }
  bool next_is_digit() const { return !rest_.empty() && is_ascii_digit(rest_.front()); }
  void fail_unless(bool holds) { failed_ = failed_ || !holds; }
  bool done() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

milliseconds scan_fraction(Scanner& in) {
  if (!in.next_is('.')) return milliseconds(0);
  in.any();
  in.fail_unless(in.next_is_digit());
  milliseconds fraction(0);
  for (int unit = 100; in.next_is_digit(); unit /= 10)
    fraction += milliseconds(unit * in.number(1));
  return fraction;
}

std::chrono::minutes scan_offset(Scanner& in) {
  const char sign = in.one_of("Zz+-");
  if (sign != '+' && sign != '-') return std::chrono::minutes(0);
  const int hours = in.number(2);
  in.one_of(":");
  const int minutes = in.number(2);
  in.fail_unless(hours < 24 && minutes < 60);
  const std::chrono::minutes offset(hours * 60 + minutes);
  return sign == '-' ? -offset : offset;
}

void append_padded(std::string& out, std::uint64_t value, int digits) {
  char text[20];
  for (int i = digits; i-- > 0; value /= 10)
    text[i] = static_cast<char>('0' + value % 10);
  out.append(text, static_cast<std::size_t>(digits));
}

}  // namespace

void append_rfc3339(std::string& out, SystemMicroseconds time, int digits) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const auto of_day = static_cast<std::uint64_t>((time - day).count());
  append_padded(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, of_day / 3'600'000'000, 2);
  out += ':';
  append_padded(out, of_day / 60'000'000 % 60, 2);
  out += ':';
  append_padded(out, of_day / 1'000'000 % 60, 2);
  if (digits > 0) {
    std::uint64_t unit = 1'000'000;
    for (int i = 0; i < digits; ++i)
      unit /= 10;
    out += '.';
    append_padded(out, of_day % 1'000'000 / unit, digits);
  }
  out += 'Z';
}

std::optional<SystemTime> parse_rfc3339(std::string_view text) {
  Scanner in(text);
  const std::chrono::year year(in.number(4));
  in.one_of("-");
  const std::chrono::month month(static_cast<unsigned>(in.number(2)));
  in.one_of("-");
  const std::chrono::day day(static_cast<unsigned>(in.number(2)));
  in.one_of("Tt ");
  const int hours = in.number(2);
  in.one_of(":");
  const int minutes = in.number(2);
  in.one_of(":");
  const int seconds = in.number(2);
  const milliseconds fraction = scan_fraction(in);
  const std::chrono::minutes offset = scan_offset(in);
  // 60: a leap second.
  if (!in.done() || !(year / month / day).ok() || hours > 23 || minutes > 59 || seconds > 60)
    return std::nullopt;
  const auto time =
      std::chrono::time_point_cast<milliseconds>(std::chrono::sys_days(year / month / day)) +
      std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds) +
      fraction - offset;
  constexpr std::chrono::year_month_day kFirst{std::chrono::year(1678) / 1 / 1};
  constexpr std::chrono::year_month_day kEnd{std::chrono::year(2262) / 1 / 1};
  if (time < std::chrono::sys_days(kFirst) || time >= std::chrono::sys_days(kEnd))
    return std::nullopt;
  return SystemTime(time);
}

}  // namespace trawl
