#include "crawler/cli/control_commands.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "crawler/cli/control_target.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/offered_lines.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/cli/watch_view.h"

namespace trawl::cli {

namespace {

using nlohmann::json;

struct ControlArguments {
  std::string program;
  std::string target;
  bool as_json = false;
  bool watch = false;
  double interval = 1;
  bool now = false;
  std::vector<std::string> urls;
};

int run_status(const ControlArguments& arguments) {
  const auto crawl = find_running_crawl(arguments.target, arguments.program);
  if (!crawl) return crawl.error();
  if (arguments.watch) {
    return watch_crawl(
        *crawl, std::chrono::milliseconds(static_cast<std::int64_t>(arguments.interval * 1000)));
  }
  const auto text = crawl->client.get("/api/v1/status");
  if (!text) return report(text.error());
  if (arguments.as_json) {
    say_lines(stdout, *text);
    return kDone;
  }
  for (const std::string& line : status_lines(*crawl, *text))
    say_escaped(line);
  return kDone;
}

// A call without arguments; prints what the crawl does now.
int run_call(const ControlArguments& arguments, const std::string& route, const std::string& body,
             std::string_view done) {
  auto crawl = find_running_crawl(arguments.target, arguments.program);
  if (!crawl) return crawl.error();
  const auto text = crawl->client.post(route, body);
  if (!text) return report(text.error());
  if (arguments.as_json) {
    say_lines(stdout, *text);
  } else {
    say("{}\n", done);
  }
  return kDone;
}

int run_reload(const ControlArguments& arguments) {
  auto crawl = find_running_crawl(arguments.target, arguments.program);
  if (!crawl) return crawl.error();
  crawl->client.set_timeout(std::chrono::minutes(10));  // lists and held URLs may be many
  const auto text = crawl->client.post("/api/v1/reload");
  if (!text) {
    const int code = report(text.error());
    // Otherwise it is not known what has become of it.
    if (text.error().code != ErrorCode::kClosed)
      say(stderr, "trawl: the crawl goes on with its former config\n");
    return code;
  }
  if (arguments.as_json) {
    say_lines(stdout, *text);
    return kDone;
  }
  const json answer = json::parse(*text, nullptr, false);
  const auto list = [&answer](const char* key) {
    std::vector<std::string> lines;
    for (const json& line : answer.value(key, json::array()))
      lines.push_back(line.is_string() ? line.get<std::string>() : line.dump());
    return lines;
  };
  const auto changed = list("changed");
  const auto later = list("needs_restart");
  for (const std::string& line : changed)
    say("changed: {}\n", line);
  for (const std::string& line : later)
    say("needs a restart: {}\n", line);
  for (const std::string& line : list("warnings"))
    say(stderr, "trawl: warning: {}\n", line);
  if (changed.empty() && later.empty()) say("nothing has changed\n");
  if (const auto n = answer.value("requeued", std::uint64_t{0}); n > 0)
    say("{} held URLs are queued again\n", n);
  return kDone;
}

int run_offer(const ControlArguments& arguments) {
  auto crawl = find_running_crawl(arguments.target, arguments.program);
  if (!crawl) return crawl.error();
  crawl->client.set_timeout(std::chrono::minutes(10));
  return offer_lines(crawl->client, arguments.urls, arguments.as_json);
}

struct Verb {
  const char* name;
  const char* summary;
  VerbHelp help;
  int (*run)(const ControlArguments&);
};

int run_pause(const ControlArguments& a) {
  return run_call(a, "/api/v1/pause", "",
                  "paused: requests in flight finish, no others start; to go on: trawl unpause");
}
int run_unpause(const ControlArguments& a) {
  return run_call(a, "/api/v1/unpause", "", "the crawl goes on");
}
int run_checkpoint(const ControlArguments& a) {
  return run_call(a, "/api/v1/checkpoint", "", "a checkpoint is being written");
}
int run_stop(const ControlArguments& a) {
  return a.now ? run_call(a, "/api/v1/stop", R"({"now": true})",
                          "stopping: the requests in flight are dropped")
               : run_call(a, "/api/v1/stop", "",
                          "stopping: the requests in flight finish first; --now drops them");
}

std::vector<VerbExit> exits_of_control(std::string_view done, std::string_view failed) {
  return {{0, done}, {1, failed}, {2, "wrong usage"}, {4, "CONFIG has errors"}};
}

std::vector<Verb> control_verbs() {
  constexpr std::string_view kNotRunning = "no crawl is running there, or it does not answer";
  return {
      {"status",
       "Show what a running crawl does",
       {.output =
            "A summary; with --json, the JSON of docs/api.md. Without a terminal, --watch prints a "
            "summary at each\ninterval.",
        .examples = {{"trawl status example.com", "the crawl in that directory"},
                     {"trawl status my.toml --watch", "a live view: p pauses, q quits"},
                     {"trawl status example.com --json | jq .queued"}},
        .exits = exits_of_control("done", kNotRunning)},
       &run_status},
      {"pause",
       "Let a running crawl start no more requests",
       {.output = "A line that says what happens; with --json, the answer of the crawl.",
        .examples = {{"trawl pause example.com"}, {"trawl pause my.toml --json"}},
        .exits = exits_of_control("paused", kNotRunning)},
       &run_pause},
      {"unpause",
       "Let a paused crawl go on",
       {.output = "A line that says what happens; with --json, the answer of the crawl.",
        .examples = {{"trawl unpause example.com"}},
        .exits = exits_of_control("it goes on", kNotRunning)},
       &run_unpause},
      {"checkpoint",
       "Let a running crawl write a checkpoint",
       {.output = "A line that says what happens; with --json, the answer of the crawl.",
        .examples = {{"trawl checkpoint example.com"}},
        .exits = exits_of_control("asked for", kNotRunning)},
       &run_checkpoint},
      {"stop",
       "End a running crawl, which can be resumed",
       {.text = "Returns at once. The crawl ends with exit status 11, as after SIGINT.",
        .output = "A line that says what happens; with --json, the answer of the crawl.",
        .examples = {{"trawl stop example.com", "the requests in flight finish"},
                     {"trawl stop example.com --now", "they are dropped, and sent again later"}},
        .exits = exits_of_control("asked for", kNotRunning)},
       &run_stop},
      {"offer",
       "Add URLs to a running crawl",
       {.text = "Takes URLs, and files with a URL or a JSON object on each line. An object has "
                "\"url\" and "
                "may have\n\"priority\" and \"depth\". URLs out of the crawl's scope are skipped.",
        .output = "How many URLs were new, seen before, invalid and skipped; with --json, as JSON.",
        .examples = {{"trawl offer example.com https://example.com/new"},
                     {"trawl offer my.toml urls.txt"},
                     {"trawl frontier dump old-state | trawl offer example.com -"}},
        .exits = exits_of_control("done", "failed, or some lines were wrong")},
       &run_offer},
      {"reload",
       "Let a running crawl read its config again",
       {.text = "Scope, politeness, limits and log settings change at once, as after SIGHUP. A "
                "config with "
                "errors\nchanges nothing.",
        .output = "Each key that has changed, and those that need a restart.",
        .examples = {{"trawl reload my.toml"}},
        .exits = exits_of_control("done", "failed: nothing has changed")},
       &run_reload},
  };
}

}  // namespace

void add_control_commands(CLI::App& app, const std::string& program, int& exit_code) {
  for (const Verb& verb : control_verbs()) {
    auto arguments = std::make_shared<ControlArguments>();
    arguments->program = program;
    auto* command = app.add_subcommand(verb.name, verb.summary);
    command
        ->add_option("CONFIG|STATE_DIR", arguments->target,
                     "The directory of the crawl, or its config file")
        ->required();
    command->add_flag("--json", arguments->as_json, "Print the answer as JSON");
    const std::string_view name = verb.name;
    if (name == "status") {
      command->add_flag("-w,--watch", arguments->watch, "Show it live, until q is pressed");
      command->add_option("--interval", arguments->interval, "Seconds between two views")
          ->check(CLI::Range(0.1, 86400.0))
          ->capture_default_str();
    }
    if (name == "stop") command->add_flag("--now", arguments->now, "Drop the requests in flight");
    if (name == "offer") {
      command
          ->add_option("URL|FILE", arguments->urls,
                       "URLs, and files with a URL or a JSON object on each line; - is standard "
                       "input")
          ->required();
    }
    describe(command, verb.help);
    command->callback([arguments, run = verb.run, &exit_code] { exit_code = run(*arguments); });
  }
}

}  // namespace trawl::cli
