#include "crawler/parse/sitemap/sitemap_dates.h"

#include <array>
#include <cstddef>
#include <string>

#include "base/ascii.h"

namespace trawl {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

// Reads a date from the front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) { skip_spaces(); }

  bool done() const { return rest_.empty(); }
  char peek() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_spaces() { skip_white_space(rest_); }
  // Reads a number of `least` to `most` digits; -1 if there is none.
  int number(std::size_t least, std::size_t most) {
    int value = 0;
    std::size_t digits = 0;
    for (; digits < most && digits < rest_.size() && is_ascii_digit(rest_[digits]); ++digits)
      value = value * 10 + (rest_[digits] - '0');
    if (digits < least) return -1;
    digits_ = digits;
    rest_.remove_prefix(digits);
    return value;
  }
  std::size_t digits() const { return digits_; }  // number of digits of the last number
  std::string word() {
    std::string taken;
    while (!rest_.empty() && is_ascii_alpha(rest_.front())) {
      if (taken.size() < 16) taken += ascii_lower(rest_.front());
      rest_.remove_prefix(1);
    }
    return taken;
  }

 private:
  std::string_view rest_;
  std::size_t digits_ = 0;
};

std::optional<sys_seconds> make_date(int year, int month, int day) {
  if (year < 1 || month < 1 || day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return sys_seconds(std::chrono::sys_days(date));
}

// "+02:00", "+0200", "+02".
std::optional<minutes> offset(Cursor& in) {
  const bool east = in.peek() == '+';
  if (!in.take('+') && !in.take('-')) return std::nullopt;
  const int hours = in.number(2, 2);
  if (hours < 0 || hours > 23) return std::nullopt;
  int rest = 0;
  if (in.take(':') || is_ascii_digit(in.peek())) rest = in.number(2, 2);
  if (rest < 0 || rest > 59) return std::nullopt;
  const minutes distance(hours * 60 + rest);
  return east ? distance : -distance;
}

// A zone name (RFC 822, section 5); unknown names are UTC, as in RFC 2822.
minutes named_zone(const std::string& name) {
  struct Zone {
    std::string_view name;
    int hours;
  };
  constexpr std::array<Zone, 8> kZones = {{{"est", -5},
                                           {"edt", -4},
                                           {"cst", -6},
                                           {"cdt", -5},
                                           {"mst", -7},
                                           {"mdt", -6},
                                           {"pst", -8},
                                           {"pdt", -7}}};
  for (const Zone& zone : kZones) {
    if (zone.name == name) return std::chrono::hours(zone.hours);
  }
  return minutes(0);
}

// Reads "09:30", "09:30:05" or "09:30:05.25" and a zone, after the date `day`. Nothing may follow.
std::optional<sys_seconds> with_time(sys_seconds day, Cursor& in) {
  const int hour = in.number(1, 2);
  if (hour < 0 || hour > 23 || !in.take(':')) return std::nullopt;
  const int minute = in.number(2, 2);
  if (minute < 0 || minute > 59) return std::nullopt;
  int second = 0;
  if (in.take(':')) second = in.number(2, 2);
  if (second < 0 || second > 60) return std::nullopt;
  if (in.take('.') || in.take(',')) {
    while (is_ascii_digit(in.peek()))
      in.take(in.peek());
  }
  const sys_seconds time = day + std::chrono::hours(hour) + minutes(minute) + seconds(second);
  in.skip_spaces();
  minutes zone{0};
  if (in.peek() == '+' || in.peek() == '-') {
    const auto written = offset(in);
    if (!written) return std::nullopt;
    zone = *written;
    in.skip_spaces();
    if (in.take('(')) return time - zone;  // a comment with the zone's name
  } else {
    zone = named_zone(in.word());
  }
  in.skip_spaces();
  if (!in.done()) return std::nullopt;
  return time - zone;
}

std::optional<sys_seconds> w3c_date(Cursor in) {
  const int year = in.number(4, 4);
  if (year < 0) return std::nullopt;
  int month = 1;
  int day = 1;
  if (in.take('-')) {
    month = in.number(1, 2);
    if (month < 0) return std::nullopt;
    if (in.take('-')) {
      day = in.number(1, 2);
      if (day < 0) return std::nullopt;
    }
  }
  const auto date = make_date(year, month, day);
  if (!date) return std::nullopt;
  if (in.take('T') || in.take('t')) return with_time(*date, in);
  in.skip_spaces();
  if (in.done()) return date;
  return with_time(*date, in);
}

std::optional<sys_seconds> rfc822_date(Cursor in) {
  if (is_ascii_alpha(in.peek())) {
    in.word();
    in.take('.');
    in.take(',');
    in.skip_spaces();
  }
  const int day = in.number(1, 2);
  in.take('-');
  in.skip_spaces();
  const std::string name = in.word();
  constexpr std::string_view kMonths = "janfebmaraprmayjunjulaugsepoctnovdec";
  const std::size_t at = name.size() < 3 ? kMonths.npos : kMonths.find(name.substr(0, 3));
  if (day < 0 || at == kMonths.npos || at % 3 != 0) return std::nullopt;
  in.take('.');
  in.take('-');
  in.skip_spaces();
  int year = in.number(2, 4);
  if (year < 0 || in.digits() == 3) return std::nullopt;
  // RFC 2822, section 4.3.
  if (in.digits() == 2) year += year < 50 ? 2000 : 1900;
  const auto date = make_date(year, static_cast<int>(at / 3) + 1, day);
  in.skip_spaces();
  if (!date || in.done()) return date;
  return with_time(*date, in);
}

}  // namespace

std::optional<sys_seconds> parse_sitemap_date(std::string_view text) {
  const Cursor in(text);
  const auto date = w3c_date(in);
  return date ? date : rfc822_date(in);
}

}  // namespace trawl
