#include "crawler/cli/report_text.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crawler/cli/filter_values.h"
#include "crawler/cli/printable_text.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kRows = 10;

const ordered_json& part(const ordered_json& json, const char* key) {
  static const ordered_json none;
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

std::uint64_t number(const ordered_json& json, const char* key) {
  const ordered_json& value = part(json, key);
  return value.is_number() ? static_cast<std::uint64_t>(std::max(value.get<double>(), 0.0)) : 0;
}

double real(const ordered_json& json, const char* key) {
  const ordered_json& value = part(json, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::string words(const ordered_json& json, const char* key) {
  const ordered_json& value = part(json, key);
  return value.is_string() ? printable(value.get<std::string>()) : "";
}

std::string milliseconds(const ordered_json& json, const char* key) {
  if (!part(json, key).is_number()) return "-";
  return fmt::format("{} ms", number(json, key));
}

class ReportLines {
 public:
  void heading(std::string_view title) { text_ += fmt::format("\n{}\n", title); }
  void line(std::string_view name, std::string_view value) {
    text_ += fmt::format("  {:<16}{}\n", name, value);
  }
  void row(std::string_view text) { text_ += fmt::format("  {}\n", text); }
  void first(std::string_view text) { text_ += fmt::format("{}\n", text); }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_pages(const ordered_json& status, ReportLines& lines) {
  lines.line("pages", fmt::format("{}, {}", number(status, "pages"),
                                  readable_bytes(number(status, "bytes"))));
  const ordered_json& classes = part(status, "by_class");
  std::string text;
  for (const char* name : {"2xx", "3xx", "4xx", "5xx", "1xx", "none"}) {
    const std::uint64_t count = number(classes, name);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                        std::string_view(name) == "none" ? "without a response" : name);
  }
  if (!text.empty()) lines.line("by status", text);
  if (const auto elapsed = number(status, "elapsed_ms"); elapsed > 0) {
    const std::uint64_t whole = elapsed < 10'000 ? elapsed : elapsed / 1000 * 1000;
    lines.line("time",
               fmt::format("{}, {:.1f} pages/s", format_duration(std::chrono::milliseconds(whole)),
                           real(status, "pages_per_second")));
  } else {
    lines.line("time", "unknown");
  }
  lines.line("redirects", std::to_string(number(status, "redirects")));
  lines.line("duplicates", std::to_string(number(status, "duplicates")));
  if (const auto n = number(status, "truncated"); n > 0) lines.line("truncated", std::to_string(n));
  if (const auto n = number(status, "recrawls"); n > 0) lines.line("recrawls", std::to_string(n));
  if (const ordered_json& cluster = part(status, "cluster"); cluster.is_object()) {
    lines.line("crawl", fmt::format("{}, in Redis, by the crawler {}", words(cluster, "name"),
                                    words(cluster, "member")));
  }
  if (part(status, "queued").is_number()) {
    lines.line("queued", fmt::format("{}, and {} for later", number(status, "queued"),
                                     number(status, "deferred")));
    lines.line("set aside", fmt::format("{} held, {} failed", number(status, "held"),
                                        number(status, "set_aside_failed")));
    const ordered_json& hosts = part(status, "hosts");
    lines.line("hosts",
               fmt::format("{} with URLs queued, {} blocked, {} parked", number(hosts, "known"),
                           number(hosts, "blocked"), number(hosts, "parked")));
  }
  if (const auto peak = number(part(status, "memory"), "peak"); peak > 0)
    lines.line("peak memory", readable_bytes(peak));
  const ordered_json& disk = part(status, "disk");
  if (part(disk, "state").is_number()) {
    std::string text = readable_bytes(number(disk, "state")) + " of state";
    if (part(disk, "free").is_number())
      text += ", " + readable_bytes(number(disk, "free")) + " free";
    lines.line("disk", text);
  }
  if (const auto last = words(part(status, "checkpoint"), "last"); !last.empty())
    lines.line("checkpoint", last);
  if (const auto file = words(part(status, "output"), "pages"); !file.empty())
    lines.line("output", file);
}

void add_failures(const ordered_json& status, ReportLines& lines) {
  lines.heading(fmt::format("Errors: {}", number(status, "failed")));
  const ordered_json& failures = part(status, "failures");
  if (!failures.is_array()) return;
  for (const ordered_json& failure : failures) {
    const std::string error = words(failure, "error");
    lines.row(fmt::format("{:>8}  {}, such as {}{}{}", number(failure, "count"),
                          words(failure, "reason"), words(failure, "url"),
                          error.empty() ? "" : ": ", error));
  }
}

void add_skips(const ordered_json& status, ReportLines& lines) {
  const ordered_json& skipped = part(status, "skipped");
  if (!skipped.is_object() || skipped.empty()) return;
  lines.heading("Links skipped");
  for (const auto& [reason, count] : skipped.items()) {
    if (count.is_number())
      lines.row(fmt::format("{:>8}  {}", count.get<std::uint64_t>(), printable(reason)));
  }
}

void add_hosts(const ordered_json& report, const char* list, std::string_view title,
               bool (*wanted)(const ordered_json&), ReportLines& lines) {
  const ordered_json& hosts = part(part(report, list), "hosts");
  if (!hosts.is_array()) return;
  std::size_t shown = 0;
  for (const ordered_json& host : hosts) {
    if (!wanted(host)) continue;
    if (shown == 0) {
      lines.heading(title);
      lines.row(fmt::format("{:>8} {:>8} {:>10} {:>9} {:>8}  {:<9} {}", "pages", "errors", "bytes",
                            "mean", "queued", "state", "host"));
    }
    if (++shown > kRows) break;
    lines.row(fmt::format("{:>8} {:>8} {:>10} {:>9} {:>8}  {:<9} {}", number(host, "fetched"),
                          number(host, "failed"), readable_bytes(number(host, "bytes")),
                          milliseconds(host, "mean_ms"), number(host, "queued"),
                          words(host, "state"), words(host, "host")));
  }
}

void add_kept_back(const ordered_json& report, ReportLines& lines) {
  const ordered_json& hosts = part(part(report, "waiting_hosts"), "hosts");
  if (!hosts.is_array()) return;
  std::size_t shown = 0;
  for (const ordered_json& host : hosts) {
    const std::string state = words(host, "state");
    if (state != "parked" && state != "blocked" && state != "at limit") continue;
    if (++shown == 1) lines.heading("Hosts that are kept back");
    if (shown > kRows) break;
    const std::string until = words(host, "blocked_until"), reason = words(host, "reason");
    lines.row(fmt::format("{}: {}{}{}, {} URLs queued", words(host, "host"), state,
                          until.empty() ? "" : " until " + until,
                          reason.empty() ? "" : ", " + reason, number(host, "queued")));
  }
}

void add_politeness(const ordered_json& report, ReportLines& lines) {
  const ordered_json& hosts = part(part(report, "hosts"), "hosts");
  if (!hosts.is_array()) return;
  std::size_t shown = 0;
  for (const ordered_json& host : hosts) {
    if (!part(host, "smallest_gap_ms").is_number()) continue;
    if (shown == 0) {
      lines.heading("Politeness: the smallest gap between two requests, and the delay");
      lines.row(fmt::format("{:>11} {:>11}  {}", "gap", "delay", "host"));
    }
    if (++shown > kRows) break;
    lines.row(fmt::format("{:>11} {:>11}  {}", milliseconds(host, "smallest_gap_ms"),
                          milliseconds(host, "delay_ms"), words(host, "host")));
  }
}

void add_filter(const ordered_json& filter, ReportLines& lines) {
  if (!filter.is_object()) return;
  lines.heading("Filter of seen URLs");
  lines.line("URLs", fmt::format("{} of {}, in {} layer{}, {}", number(filter, "items"),
                                 number(filter, "capacity"), number(filter, "layers"),
                                 number(filter, "layers") == 1 ? "" : "s",
                                 readable_bytes(number(filter, "memory"))));
  lines.line("rate", fmt::format("{:.2g} of new URLs taken for seen now; the target is {:.2g}",
                                 real(filter, "rate"), real(filter, "target_rate")));
  if (part(filter, "expected_lost").is_number()) {
    std::string text = fmt::format("{:.2g} expected so far", real(filter, "expected_lost"));
    if (part(filter, "measured_lost").is_number())
      text += fmt::format(", {} found among those checked", number(filter, "measured_lost"));
    lines.line("URLs lost", text);
  }
  if (const auto warning = words(filter, "warning"); !warning.empty())
    lines.line("warning", warning);
}

}  // namespace

std::string report_text(const ordered_json& report) {
  const ordered_json& status = part(report, "status");
  ReportLines lines;
  lines.first(
      fmt::format("The crawl in {} ({})", words(status, "state_dir"), words(status, "state")));
  add_pages(status, lines);
  add_failures(status, lines);
  add_skips(status, lines);
  const auto any = [](const ordered_json& host) { return number(host, "fetched") > 0; };
  add_hosts(report, "largest_hosts", "Largest hosts", any, lines);
  add_hosts(report, "slowest_hosts", "Slowest hosts", any, lines);
  add_hosts(
      report, "failing_hosts", "Hosts with errors",
      [](const ordered_json& host) { return number(host, "failed") > 0; }, lines);
  add_kept_back(report, lines);
  add_politeness(report, lines);
  add_filter(part(status, "filter"), lines);
  return lines.take();
}

}  // namespace trawl::cli
