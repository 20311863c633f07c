#include "crawler/cli/frontier_counts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "crawler/cli/printable_text.h"
#include "crawler/config/config_values.h"
#include "crawler/explain/state_names.h"

namespace trawl::cli {

using nlohmann::ordered_json;

namespace {

std::string details_of(const HostInfo& host) {
  std::string text(to_string(host.state));
  if (host.settings.blocked_until)
    text += fmt::format(", until {}", to_rfc3339(*host.settings.blocked_until));
  if (host.failures > 0) text += fmt::format(", failed {} times in a row", host.failures);
  if (host.settings.delay) text += fmt::format(", delay {}", format_duration(*host.settings.delay));
  if (host.settings.leases) text += fmt::format(", {} requests at a time", *host.settings.leases);
  if (host.settings.limit) text += fmt::format(", {} more to be fetched", *host.settings.limit);
  return text;
}

}  // namespace

std::string stats_line(std::string_view name, std::string_view value) {
  return fmt::format("{:<16}{}\n", name, value);
}

std::string counts_text(const FrontierStats& stats, std::uint64_t truncated) {
  std::string text;
  const auto line = [&text](std::string_view name, std::string_view value) {
    text += stats_line(name, value);
  };
  const auto count = [&line](std::string_view name, std::uint64_t n, std::string_view what = "") {
    line(name, fmt::format("{}{}{}", n, what.empty() ? "" : " ", what));
  };
  count("admitted", stats.admitted, "URLs");
  if (stats.seen_only > 0) count("seen only", stats.seen_only, "of these, never queued");
  count("completed", stats.completed);
  count("succeeded", stats.succeeded, "of these");
  count("failed", stats.failed, "of these");
  if (truncated > 0) count("truncated", truncated, "of these");
  count("skipped", stats.skipped, "of these");
  count("dropped", stats.dropped);
  count("queued", stats.queued);
  count("deferred", stats.deferred);
  count("held", stats.held, "set aside");
  count("failed, kept", stats.set_aside_failed, "set aside");
  count("requeued", stats.requeued, "that were set aside");
  if (stats.not_set_aside > 0)
    count("not set aside", stats.not_set_aside, "dropped for lack of room, held or failed");
  count("retried", stats.retried);
  count("recrawls", stats.recrawls);
  count("seen", stats.seen, "offers");
  count("invalid", stats.invalid, "offers");
  count("depths lowered", stats.depth_repairs);
  count("deepest", stats.deepest);
  line("hosts", fmt::format("{} with URLs queued, {} blocked, {} given up", stats.hosts,
                            stats.hosts_blocked, stats.hosts_parked));
  return text;
}

std::string queue_line(const HostInfo& host) {
  return fmt::format("{:>12}  {}  {}\n", host.queued, printable(host.host), details_of(host));
}

void add_counts(const FrontierStats& stats, ordered_json& json) {
  json["admitted"] = stats.admitted;
  json["seen_only"] = stats.seen_only;
  json["completed"] = stats.completed;
  json["failed"] = stats.failed;
  json["skipped"] = stats.skipped;
  json["succeeded"] = stats.succeeded;
  json["held"] = stats.held;
  json["set_aside_failed"] = stats.set_aside_failed;
  json["requeued"] = stats.requeued;
  json["not_set_aside"] = stats.not_set_aside;
  json["dropped"] = stats.dropped;
  json["queued"] = stats.queued;
  json["deferred"] = stats.deferred;
  json["retried"] = stats.retried;
  json["recrawls"] = stats.recrawls;
  json["seen"] = stats.seen;
  json["invalid"] = stats.invalid;
  json["depth_repairs"] = stats.depth_repairs;
  json["deepest"] = stats.deepest;
  json["hosts"] = stats.hosts;
  json["hosts_blocked"] = stats.hosts_blocked;
  json["hosts_given_up"] = stats.hosts_parked;
}

ordered_json json_of(const HostInfo& host) {
  ordered_json json{{"host", host.host},
                    {"queued", host.queued},
                    {"state", to_string(host.state)},
                    {"failures", host.failures}};
  if (host.settings.blocked_until) json["blocked_until"] = to_rfc3339(*host.settings.blocked_until);
  if (host.settings.delay) json["delay_ms"] = host.settings.delay->count();
  if (host.settings.leases) json["max_leases"] = *host.settings.leases;
  if (host.settings.limit) json["remaining"] = *host.settings.limit;
  return json;
}

}  // namespace trawl::cli
