#include "crawler/cli/config_reload.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace trawl::cli {

std::vector<std::string> reload_lines(const ReloadReport& report) {
  std::vector<std::string> lines;
  if (report.changed.empty() && report.needs_restart.empty())
    lines.emplace_back("the config is as before; blocklists and the log were opened again");
  for (const std::string& change : report.changed)
    lines.push_back("changed: " + change);
  for (const std::string& change : report.needs_restart)
    lines.push_back("needs a restart: " + change);
  if (report.requeued > 0)
    lines.push_back(fmt::format("queued {} held URLs that the rules now allow", report.requeued));
  return lines;
}

void ConfigReload::attend() {
  if (running_.valid()) {
    if (running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return;
    const auto report = running_.get();
    if (report) {
      for (const std::string& line : reload_lines(*report))
        spdlog::info("reload: {}", line);
      for (const std::string& warning : report->warnings)
        spdlog::warn("reload: {}", warning);
    } else {
      spdlog::error("reload: nothing is changed: {}", report.error().message);
    }
  }
  if (!std::exchange(asked_, false)) return;
  running_ = std::async(std::launch::async, [this] { return crawl_.reload(); });
}

}  // namespace trawl::cli
