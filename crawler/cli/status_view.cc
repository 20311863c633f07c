#include "crawler/cli/status_view.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/safe_text.h"
#include "base/utf8.h"

namespace trawl::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kLabelWidth = 11;

std::uint64_t count_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::uint64_t>() : 0;
}

double number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& part_of(const json& object, const char* key) {
  static const json kNone = json::object();
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : kNone;
}

// "1,234,567".
std::string grouped(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string size_words(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit)
    bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string time_words(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  const auto s = static_cast<std::uint64_t>(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

// How far a time is in the future, in seconds.
std::optional<double> seconds_until(const std::string& time) {
  const auto parsed = parse_rfc3339(time);
  if (!parsed) return std::nullopt;
  return std::chrono::duration<double>(*parsed - std::chrono::system_clock::now()).count();
}

// Cut to `width` characters; all are taken to be one column wide, except that those of East Asian
// scripts, which take two, are counted so.
std::string fitted(std::string_view text, std::size_t width) {
  const std::string safe = escape_unsafe(text);
  std::size_t columns = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < safe.size();) {
    std::size_t next = i + 1;
    while (next < safe.size() && (static_cast<unsigned char>(safe[next]) & 0xC0) == 0x80)
      ++next;
    columns += next - i >= 3 ? 2 : 1;
    if (columns > width) return safe.substr(0, end);
    end = i = next;
  }
  return safe;
}

// The end of a path that is too long: it says more than the beginning.
std::string fitted_path(const std::string& path, std::size_t width) {
  const std::string safe = escape_unsafe(path);
  if (safe.size() <= width || width < 8) return safe;
  std::size_t begin = safe.size() - (width - 3);
  while (begin < safe.size() && (static_cast<unsigned char>(safe[begin]) & 0xC0) == 0x80)
    ++begin;
  return "..." + safe.substr(begin);
}

std::vector<std::string> counts_of(const json& counts, std::size_t most) {
  std::vector<std::pair<std::uint64_t, std::string>> sorted;
  for (const auto& [name, value] : counts.items()) {
    if (value.is_number() && value.get<std::uint64_t>() > 0)
      sorted.emplace_back(value.get<std::uint64_t>(), name);
  }
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           &std::pair<std::uint64_t, std::string>::first);
  std::vector<std::string> parts;
  for (const auto& [count, name] : sorted) {
    if (parts.size() == most) {
      parts.push_back(fmt::format("{} more", sorted.size() - most));
      break;
    }
    parts.push_back(fmt::format("{} {}", name, grouped(count)));
  }
  return parts;
}

std::vector<std::string> class_parts(const json& status) {
  std::vector<std::string> parts;
  for (const char* name : {"2xx", "3xx", "4xx", "5xx", "1xx", "none"}) {
    const std::uint64_t n = count_in(part_of(status, "by_class"), name);
    if (n == 0) continue;
    const bool none = std::string_view(name) == "none";
    parts.push_back(fmt::format("{} {}", none ? "no response" : name, grouped(n)));
  }
  return parts;
}

std::vector<std::string> host_parts(const json& status) {
  const json& hosts = part_of(status, "hosts");
  std::vector<std::string> parts = {grouped(count_in(hosts, "active")) + " active"};
  for (const char* state : {"waiting", "blocked", "parked"}) {
    if (const auto n = count_in(hosts, state); n > 0)
      parts.push_back(fmt::format("{} {}", grouped(n), state));
  }
  if (const auto wait = seconds_until(text_in(status, "next_start")); wait && *wait > 0)
    parts.push_back("next start in " + time_words(*wait));
  return parts;
}

std::vector<std::string> filter_parts(const json& status) {
  const json& filter = part_of(status, "filter");
  std::vector<std::string> parts = {
      fmt::format("{} URLs", grouped(count_in(filter, "items"))),
      fmt::format("room for {}", grouped(count_in(filter, "capacity"))),
      fmt::format("{:.2g} false positives, {:.2g} allowed", number_in(filter, "rate"),
                  number_in(filter, "target_rate"))};
  if (const double lost = number_in(filter, "expected_lost"); lost >= 0.01)
    parts.push_back(fmt::format("{:.2f} URLs lost", lost));
  if (const auto warning = text_in(filter, "warning"); !warning.empty()) parts.push_back(warning);
  return parts;
}

std::vector<std::string> checkpoint_parts(const json& status) {
  const json& checkpoint = part_of(status, "checkpoint");
  std::vector<std::string> parts = {grouped(count_in(checkpoint, "count")) + " in this run"};
  if (const auto last = seconds_until(text_in(checkpoint, "last")); last)
    parts.push_back("newest " + time_words(-*last) + " ago");
  return parts;
}

std::vector<std::string> error_parts(const json& status) {
  std::vector<std::string> parts;
  if (!status.contains("failures") || !status["failures"].is_array()) return parts;
  for (const json& failure : status["failures"])
    parts.push_back(
        fmt::format("{} {}", text_in(failure, "reason"), grouped(count_in(failure, "count"))));
  return parts;
}

}  // namespace

// "label      part, part,", with the parts that do not fit on lines of their own.
void StatusView::entry(std::string_view label, const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  const std::size_t indent = std::min(kLabelWidth, width_ / 3);
  const std::size_t room = width_ - std::min(indent, width_);
  const std::string shown = fmt::format("{:<{}}", fitted(label, indent - 1), indent);
  std::string head = colour_ ? fmt::format("\x1b[1m{}\x1b[0m", shown) : shown;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string part = fitted(parts[i], room - 1);
    if (i + 1 < parts.size()) part += ',';
    if (!text.empty() && text.size() + 1 + part.size() > room) {
      lines_.push_back(head + text);
      head.assign(indent, ' ');
      text.clear();
    }
    if (!text.empty()) text += ' ';
    text += part;
  }
  lines_.push_back(head + text);
}

void StatusView::heading(std::string_view text) {
  const std::string shown = fitted(text, width_);
  lines_.push_back(colour_ ? "\x1b[1m" + shown + "\x1b[0m" : shown);
}

StatusView& StatusView::line(std::string_view text) {
  lines_.push_back(fitted(text, width_));
  return *this;
}

StatusView& StatusView::status(const json& status) {
  const std::string state = text_in(status, "state");
  const char* const tint = state == "running" ? "\x1b[32m" : "\x1b[33m";
  const std::string title =
      fitted(fmt::format("trawl {}: {} for {}", text_in(status, "version"), state,
                         time_words(number_in(status, "elapsed_ms") / 1000)),
             width_);
  lines_.push_back(colour_ ? tint + title + "\x1b[0m" : title);
  const std::size_t room = width_ - std::min(width_, std::min(kLabelWidth, width_ / 3) + 1);
  entry("in", {fitted_path(text_in(status, "state_dir"), room),
               fmt::format("process {}", count_in(status, "pid"))});
  entry("pages", {grouped(count_in(status, "pages")),
                  fmt::format("{:.1f} a second", number_in(status, "pages_per_second"))});
  entry("bytes", {size_words(number_in(status, "bytes")),
                  size_words(number_in(status, "bytes_per_second")) + " a second"});
  entry("status", class_parts(status));
  entry("failures", error_parts(status));
  std::vector<std::string> queue = {grouped(count_in(status, "queued")) + " queued",
                                    grouped(count_in(status, "in_flight")) + " in flight"};
  const std::array<std::pair<const char*, const char*>, 3> kinds = {
      {{"deferred", "deferred"}, {"held", "held"}, {"set_aside_failed", "failed"}}};
  for (const auto& [key, word] : kinds) {
    if (const auto n = count_in(status, key); n > 0)
      queue.push_back(fmt::format("{} {}", grouped(n), word));
  }
  entry("queue", queue);
  entry("hosts", host_parts(status));
  entry("skipped", counts_of(part_of(status, "skipped"), 6));
  entry("filter", filter_parts(status));
  entry("checkpoint", checkpoint_parts(status));
  const json& memory = part_of(status, "memory");
  entry("memory",
        {size_words(number_in(memory, "rss")), "peak " + size_words(number_in(memory, "peak"))});
  std::vector<std::string> disk = {size_words(number_in(part_of(status, "disk"), "free")) +
                                   " free"};
  if (const double state = number_in(part_of(status, "disk"), "state"); state > 0)
    disk.push_back("state " + size_words(state));
  entry("disk", disk);
  if (const double left = number_in(status, "eta_ms"); left > 0)
    entry("limit", {"reached in about " + time_words(left / 1000)});
  const json& output = part_of(status, "output");
  const std::string pages = text_in(output, "pages");
  entry("output", {fitted_path(pages.empty() ? text_in(output, "directory") : pages, room)});
  return *this;
}

StatusView& StatusView::history(const json& history) {
  constexpr std::array kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (!history.contains("samples") || !history["samples"].is_array()) return *this;
  const json& samples = history["samples"];
  const std::size_t indent = std::min(kLabelWidth, width_ / 3);
  const std::size_t room = width_ - std::min(indent, width_);
  const double interval = std::max(number_in(history, "interval_ms"), 1.0) / 1000;
  std::vector<double> rates;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const auto before = count_in(samples[i - 1], "pages");
    const auto now = count_in(samples[i], "pages");
    rates.push_back(static_cast<double>(now - std::min(now, before)) / interval);
  }
  if (rates.size() < 2) return *this;
  if (rates.size() > room) rates.erase(rates.begin(), rates.end() - static_cast<long>(room));
  const double most = std::max(*std::ranges::max_element(rates), 1e-9);
  std::string bars;
  for (const double rate : rates)
    bars += kBars[static_cast<std::size_t>(std::lround(rate / most * (kBars.size() - 1)))];
  lines_.push_back(fmt::format("{:<{}}", "pages/s", indent) + bars);
  return *this;
}

StatusView& StatusView::hosts(const json& hosts, std::size_t rows) {
  if (!hosts.contains("hosts") || !hosts["hosts"].is_array() || hosts["hosts"].empty() || rows < 2)
    return *this;
  const std::size_t name = width_ - std::min<std::size_t>(width_, 28);
  heading(fmt::format("{:<{}} {:>9} {:>7} {:>8}", fitted("host", name), name, "state", "queued",
                      "delay"));
  for (const json& host : hosts["hosts"]) {
    if (--rows == 0) break;
    const std::string shown = fitted(text_in(host, "host"), name);
    lines_.push_back(fitted(
        fmt::format("{:<{}} {:>9} {:>7} {:>8}", shown, name, text_in(host, "state"),
                    count_in(host, "queued"), time_words(number_in(host, "delay_ms") / 1000)),
        width_));
  }
  return *this;
}

StatusView& StatusView::errors(const json& errors, std::size_t rows) {
  if (!errors.contains("errors") || !errors["errors"].is_array() || errors["errors"].empty() ||
      rows < 2)
    return *this;
  heading("newest errors");
  for (const json& failure : errors["errors"]) {
    if (--rows == 0) break;
    const std::string time = text_in(failure, "time");
    const auto status = count_in(failure, "status");
    const std::string reason = text_in(failure, "reason");
    line(fmt::format("{} {} {}", time.size() >= 19 ? time.substr(11, 8) : time,
                     !reason.empty() ? reason : std::to_string(status), text_in(failure, "url")));
  }
  return *this;
}

}  // namespace trawl::cli
