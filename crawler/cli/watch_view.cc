#include "crawler/cli/watch_view.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/live_screen.h"
#include "crawler/cli/say.h"
#include "crawler/cli/status_view.h"

namespace trawl::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kWidestSummary = 120;

json asked(const ControlClient& client, const std::string& target) {
  const auto text = client.get(target);
  return text ? json::parse(*text, nullptr, false) : json::object();
}

std::vector<std::string> screen(const RunningCrawl& crawl, const json& status, TerminalSize size) {
  StatusView view(size.columns, wants_colour(STDOUT_FILENO));
  view.status(status);
  view.history(asked(crawl.client, "/api/v1/history"));
  const std::size_t used = view.lines().size() + 3;
  if (used + 2 < size.rows) {
    const std::size_t room = size.rows - used;
    view.line("");
    view.hosts(asked(crawl.client, fmt::format("/api/v1/hosts?limit={}", room)),
               room > 8 ? room * 2 / 3 : room);
  }
  const std::size_t now = view.lines().size() + 2;
  if (now + 2 < size.rows) {
    view.line("");
    view.errors(asked(crawl.client, "/api/v1/errors?limit=20"), size.rows - now);
  }
  std::vector<std::string> lines = view.lines();
  lines.resize(std::min(lines.size(), size.rows - 1));
  lines.push_back(status.value("state", "") == "paused" ? "q quit  p go on" : "q quit  p pause");
  return lines;
}

int say_end(const RunningCrawl& crawl, const Error& failure) {
  if (failure.code != ErrorCode::kClosed && failure.code != ErrorCode::kNotFound)
    return report(failure);
  say("the crawl in {} has ended\n", crawl.state_dir.string());
  return kDone;
}

// Without a terminal, or on one without escapes: a summary at each interval.
int watch_plainly(const RunningCrawl& crawl, std::chrono::milliseconds interval) {
  for (;;) {
    const auto text = crawl.client.get("/api/v1/status");
    if (!text) return say_end(crawl, text.error());
    for (const std::string& line : status_lines(crawl, *text))
      say_escaped(line);
    say_escaped("");
    std::fflush(stdout);
    std::this_thread::sleep_for(interval);
  }
}

}  // namespace

std::vector<std::string> status_lines(const RunningCrawl&, const std::string& status) {
  const std::size_t width = std::min(terminal_size(STDOUT_FILENO).columns, kWidestSummary);
  StatusView view(width, wants_colour(STDOUT_FILENO));
  view.status(json::parse(status, nullptr, false));
  return view.lines();
}

int watch_crawl(const RunningCrawl& crawl, std::chrono::milliseconds interval) {
  if (!is_full_terminal(STDOUT_FILENO)) return watch_plainly(crawl, interval);
  Error failure{ErrorCode::kClosed, {}};
  {
    LiveScreen live;
    for (;;) {
      const auto text = crawl.client.get("/api/v1/status");
      if (!text) {
        failure = text.error();
        break;
      }
      const json status = json::parse(*text, nullptr, false);
      live.draw(screen(crawl, status, live.size()));
      const auto event = live.wait(interval);
      if (event == LiveScreen::Event::kQuit) return kDone;
      if (event == LiveScreen::Event::kPause) {
        const bool paused = status.value("state", "") == "paused";
        (void)crawl.client.post(paused ? "/api/v1/unpause" : "/api/v1/pause");
      }
    }
  }
  return say_end(crawl, failure);
}

}  // namespace trawl::cli
