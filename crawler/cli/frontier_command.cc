// The options of `trawl frontier`.
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/parsed_option.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/config_values.h"
#include "crawler/config/redis_place.h"
#include "crawler/explain/state_names.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_frontier() {
  return {
      .text =
          R"(STATE_DIR is the state directory of a stopped crawl, or of a program that embeds the frontier; the
config of the crawl does as well. Only load, retry and repair load the filter. The other commands need little memory and do not need a
checkpoint; stats and dump do not need the MANIFEST either.

redis://HOST:PORT/NAME, or rediss:// for TLS, is the frontier of a crawl by many crawlers, with NAME as its cluster.name.
All commands except repair take it, whether the crawl runs or not: see trawl cluster, too.)",
      .output = R"(Of stats and dump: on standard output. The others print a line of counts.)",
      .examples = {{"trawl frontier stats example-state", "counts, hosts, filter, longest queues"},
                   {"trawl frontier dump example-state > waiting.jsonl",
                    "all waiting, held and failed URLs"},
                   {"trawl frontier dump example-state --host example.com | head"},
                   {"trawl frontier load new-state waiting.jsonl",
                    "a new frontier with these URLs"},
                   {"echo '{\"url\":\"https://example.com/\",\"priority\":5}' | trawl frontier "
                    "load new-state --append"},
                   {"trawl frontier retry example-state --status 5xx",
                    "queue URLs again that got such a status"},
                   {"trawl frontier revive example-state example.com",
                    "request URLs of a parked host again"},
                   {"trawl frontier repair example-state", "if all checkpoints are damaged"},
                   {"trawl frontier stats redis://10.0.0.1:6379/crawl1",
                    "of a crawl by many crawlers"}},
      .exits = {{0, "done"},
                {1, "failed"},
                {2, "wrong usage"},
                {3, "out of space"},
                {4, "errors in the config"}}};
}

VerbHelp help_of_dump() {
  return {
      .text =
          R"(Prints a JSON object for each URL: first queued URLs, host by host in the order in which they would
be fetched, then deferred URLs, then URLs set aside (held or failed) in no particular order:

  {"url":"...","host":"...","priority":0,"depth":1,"redirects":0,"attempts":0,"parent":"...",
   "state":"queued"}

"parent" is null for a seed. A "deferred" URL waits until "not_before", a time such as
"2026-11-21T08:40:00.123Z". "recrawl":true marks a URL that was fetched before. A "held" URL was
excluded by a rule; a "failed" URL could not be fetched. Both have "reason" and "since"; a failed URL
also has "status", which is 0 if there was no response. Without a readable MANIFEST, "depth" is the
depth that the URL was queued with.

A crawl in Redis (redis://HOST:PORT/NAME) is dumped bucket by bucket. That is exact once all its crawlers have
ended and the inboxes are empty. While it runs, URLs that move meanwhile may be missing or there twice,
and URLs that wait in inboxes are not in the dump. "depth" is the depth that the URL was queued with.)",
      .output = R"(A JSON object for each URL, on standard output.)",
      .examples = {{"trawl frontier dump example-state --state queued --state deferred",
                    "only waiting URLs"},
                   {"trawl frontier dump example-state --state failed", "what retry would queue"}},
      .exits = {{0, "done"},
                {1, "failed"},
                {2, "wrong usage"},
                {3, "out of space"},
                {4, "errors in the config"}}};
}

VerbHelp help_of_retry() {
  return {
      .text =
          R"(Queues failed URLs again, with all retries; trawl resume then fetches them. A URL must match all
options given; several --status are alternatives.

In a crawl in Redis (redis://HOST:PORT/NAME), the crawlers that own the URLs are asked to queue them.)",
      .output =
          R"(How many URLs were queued, how many are still set aside, and the command to resume with.)",
      .examples = {{"trawl frontier retry example-state"},
                   {"trawl frontier retry example-state --status 5xx --status 429"},
                   {"trawl frontier retry example-state --reason crashed --host example.com"},
                   {"trawl frontier dump example-state --state failed",
                    "list failed URLs with their reasons"}},
      .exits = {{0, "done"},
                {1, "failed"},
                {2, "wrong usage"},
                {3, "out of space"},
                {4, "errors in the config"}}};
}

VerbHelp help_of_revive() {
  return {
      .text =
          R"(A host with too many failures in a row is parked: its queue is kept, but no URL of it is requested.
revive resets the host's failures; when the crawl is resumed, its URLs are requested again.

In a crawl in Redis (redis://HOST:PORT/NAME), the crawlers that own the hosts are asked to do so.)",
      .output = R"(The hosts that were parked, and the command to resume with.)",
      .examples = {{"trawl frontier revive example-state", "all parked hosts"},
                   {"trawl frontier revive example-state example.com example.org:8080"}},
      .exits = {{0, "done"},
                {1, "failed, or none of the hosts given is parked"},
                {2, "wrong usage"},
                {3, "out of space"},
                {4, "errors in the config"}}};
}

VerbHelp help_of_load() {
  return {
      .text =
          R"(Reads lines as `trawl frontier dump` prints them, or a URL on each line, from FILE, or from standard
input if FILE is - or is not given. Of an object only "url" is required; "attempts" and "recrawl" are
ignored: each URL starts as new. Empty lines are ignored. Lines whose state is "held" or "failed" are counted and not loaded, except
with --set-aside.

A new frontier is created as a config says: the one given with --config, else crawl.toml in
STATE_DIR. Without a config, only lossless rules for canonical keys apply. To crawl with the new
frontier: trawl resume CONFIG, with STATE_DIR as crawl.state_dir.

A bad line is reported with its number. Lines after the first bad line are not loaded, except with
--skip-bad-lines. A file can be loaded again: URLs that are already known are counted as seen.

With --seen the URLs are not queued: the crawl takes them for seen, as if it had fetched them. That
carries what another crawl or program has fetched over to this one.

To a crawl in Redis (redis://HOST:PORT/NAME), which its first crawler has begun, URLs are sent as links
are: the crawlers that own them decide which are new. It may run meanwhile. That is how a crawl of one crawler
becomes one of many: load what dump prints of its directory and, with --seen, the URLs of its
pages.jsonl.)",
      .output =
          R"(How many URLs were new, seen and invalid. Bad lines are reported on standard error.)",
      .examples =
          {{"trawl frontier load new-state waiting.jsonl", "a new frontier with these URLs"},
           {"trawl frontier load example-state --append < urls.txt",
            "more URLs for a stopped crawl"},
           {"jq -r .url example-state/output/pages.jsonl | trawl frontier load new-state --seen",
            "do not fetch these again"},
           {"trawl frontier dump example-state | trawl frontier load redis://10.0.0.1:6379/crawl1",
            "into a crawl by many crawlers"}},
      .exits = {{0, "done"},
                {1, "failed"},
                {2, "wrong usage"},
                {3, "out of space"},
                {4, "errors in the config"}}};
}

void add_state_dir(CLI::App* command, std::string& state_dir) {
  command
      ->add_option("STATE_DIR", state_dir,
                   "The state directory, or the config, or redis://HOST:PORT/NAME of a crawl by "
                   "many crawlers")
      ->required();
}
void add_state_dir(CLI::App* command, std::string& state_dir, RedisLogin& login) {
  add_state_dir(command, state_dir);
  add_redis_login(command, login);
}

// Runs a command on the state directory that `state_dir` leads to: see CrawlInput. A directory
// stays as typed, for messages.
template <class Run>
int on_state_of(std::string& state_dir, Run run) {
  if (is_redis_url(state_dir)) return run();
  const auto found = CrawlInput::state_directory(state_dir);
  if (!found) return found.error();
  std::error_code error;
  if (!std::filesystem::equivalent(*found, state_dir, error) && *found != state_dir) {
    const bool named = std::filesystem::absolute(state_dir, error) == *found;
    if (!named) state_dir = found->string();
  }
  return run();
}

// Returns the host's name in the frontier: "Example.COM:80" becomes example.com.
std::string parse_host(const std::string& text, const std::string& option = "--host") {
  const auto url = Url::parse("http://" + text + "/");
  if (!url || url->href() != "http://" + std::string(url->host()) + "/")
    throw CLI::ValidationError(option, shown(text) + " is not a host such as example.com:8080");
  return politeness_group(*url);
}

WaitingState parse_state(const std::string& text) {
  const auto state = waiting_state_named(text);
  if (!state)
    throw CLI::ValidationError("--state", shown(text) + " is not queued, deferred, held or failed");
  return *state;
}

// Returns 0 if the text is not a status code, which has three digits.
int parse_status_code(std::string_view text) {
  int code = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, code);
  return parsed.ec == std::errc() && parsed.ptr == end && code >= 100 && code <= 999 ? code : 0;
}

// "404", "5xx", "500-503".
StatusRange parse_status(const std::string& text) {
  StatusRange range;
  const std::size_t dash = text.find('-');
  if (text.size() == 3 && text[0] >= '1' && text[0] <= '9' &&
      (text.ends_with("xx") || text.ends_with("XX"))) {
    range.first = (text[0] - '0') * 100;
    range.last = range.first + 99;
  } else if (dash != text.npos) {
    range.first = parse_status_code(std::string_view(text).substr(0, dash));
    range.last = parse_status_code(std::string_view(text).substr(dash + 1));
  } else {
    range.first = range.last = parse_status_code(text);
  }
  if (range.first == 0 || range.last == 0) {
    throw CLI::ValidationError("--status",
                               shown(text) + " is not an HTTP status such as 404, 5xx or 500-503");
  }
  if (range.first > range.last)
    throw CLI::ValidationError("--status", shown(text) + " ends before it begins");
  return range;
}

// An option that may be repeated, with one value each time.
template <class Value>
CLI::Option* add_repeated(CLI::App* command, const std::string& name, std::vector<Value>& values,
                          Value (*parse)(const std::string&), const std::string& help) {
  return command
      ->add_option_function<std::vector<std::string>>(
          name,
          [&values, parse](const std::vector<std::string>& texts) {
            for (const std::string& text : texts)
              values.push_back(parse(text));
          },
          help)
      ->allow_extra_args(false);
}

void add_host(CLI::App* command, std::string& host) {
  command
      ->add_option_function<std::string>(
          "--host", [&host](const std::string& text) { host = parse_host(text); },
          "Only URLs of this host, such as example.com or example.com:8080")
      ->type_name("NAME");
}

void add_stats(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierStatsArguments>();
  auto* stats = frontier->add_subcommand(
      "stats", "Print the state of a crawl: counts, hosts, filter, longest queues");
  add_state_dir(stats, arguments->state_dir, arguments->redis);
  stats->add_flag("--json", arguments->json, "Print a JSON object");
  stats
      ->add_option("--hosts", arguments->hosts,
                   "How many of the longest queues to show; 0 skips reading the queues")
      ->type_name("N")
      ->capture_default_str();
  describe(
      stats,
      {.text = "Reads the files of a stopped crawl, or its keys in Redis. The filter itself is not "
               "loaded.",
       .output = "A line for each count, checkpoint and long queue; with --json an object.",
       .examples = {{"trawl frontier stats example-state"},
                    {"trawl frontier stats my.toml --hosts 50", "more of the queues"},
                    {"trawl frontier stats example-state --json | jq .queued"}},
       .exits = common_exits()});
  stats->callback([arguments, &exit_code] {
    exit_code = on_state_of(arguments->state_dir, [&] { return run_frontier_stats(*arguments); });
  });
}

void add_dump(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierDumpArguments>();
  auto* dump = frontier->add_subcommand(
      "dump", "Print waiting, held and failed URLs, one JSON object per line");
  add_state_dir(dump, arguments->state_dir, arguments->redis);
  add_host(dump, arguments->host);
  add_repeated(dump, "--state", arguments->states, parse_state,
               "Only URLs in this state: queued, deferred, held or failed; may be repeated")
      ->type_name("STATE");
  describe(dump, help_of_dump());
  dump->callback([arguments, &exit_code] {
    exit_code = on_state_of(arguments->state_dir, [&] { return run_frontier_dump(*arguments); });
  });
}

void add_load(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierLoadArguments>();
  auto* load = frontier->add_subcommand("load", "Queue URLs: a URL or a JSON object on each line");
  add_state_dir(load, arguments->state_dir, arguments->redis);
  load->add_option("FILE", arguments->input, "File of lines (default: standard input)");
  auto* append = load->add_flag("--append", arguments->append, "Add to an existing frontier");
  load->add_flag("--skip-bad-lines", arguments->skip_bad_lines,
                 "Report bad lines and load the others");
  load->add_flag("--set-aside", arguments->set_aside,
                 "Also load URLs that were held or had failed");
  load->add_flag("--seen", arguments->seen,
                 "Queue nothing: these URLs count as seen, and are never fetched");
  load->add_option("--config", arguments->config, "Take filter and rules for keys from this config")
      ->type_name("CONFIG");
  add_parsed(load, "--expected-urls", arguments->expected_urls, parse_capacity,
             "URLs to size a new filter for (default 1M, or the config's)")
      ->type_name("N")
      ->excludes(append);
  add_parsed(load, "--false-positive-rate", arguments->false_positive_rate, parse_rate,
             "False-positive rate of a new filter (default 1e-6, or the config's)")
      ->type_name("P")
      ->excludes(append);
  load->add_flag("--exact", arguments->exact,
                 "New frontier: look up on disk what the filter takes for seen")
      ->excludes(append);
  load->add_flag("--ledger", arguments->ledger, "New frontier: keep a record of each URL on disk")
      ->excludes(append);
  describe(load, help_of_load());
  load->callback([arguments, &exit_code] {
    exit_code = on_state_of(arguments->state_dir, [&] { return run_frontier_load(*arguments); });
  });
}

void add_retry(CLI::App* frontier, const std::string& program, int& exit_code) {
  const auto arguments = std::make_shared<FrontierRetryArguments>();
  arguments->program = program;
  auto* retry = frontier->add_subcommand("retry", "Queue failed or held URLs again");
  add_state_dir(retry, arguments->state_dir, arguments->redis);
  add_repeated(retry, "--status", arguments->statuses, parse_status,
               "Only URLs with this HTTP status: 404, 5xx, 500-503; may be repeated")
      ->type_name("STATUS");
  retry
      ->add_option_function<std::string>(
          "--reason",
          [arguments](const std::string& text) {
            if (text.empty()) throw CLI::ValidationError("--reason", "is empty");
            arguments->reason = text;
          },
          "Only URLs with this reason, as printed by trawl frontier dump")
      ->type_name("WORD");
  add_host(retry, arguments->host);
  auto* held = retry->add_flag_callback(
      "--held", [arguments] { arguments->state = SetAsideState::kHeld; },
      "Held URLs instead of failed ones");
  retry
      ->add_flag_callback(
          "--all", [arguments] { arguments->state = std::nullopt; }, "Failed and held URLs")
      ->excludes(held);
  describe(retry, help_of_retry());
  retry->callback([arguments, &exit_code] {
    exit_code = on_state_of(arguments->state_dir, [&] { return run_frontier_retry(*arguments); });
  });
}

void add_revive(CLI::App* frontier, const std::string& program, int& exit_code) {
  const auto arguments = std::make_shared<FrontierReviveArguments>();
  arguments->program = program;
  auto* revive = frontier->add_subcommand("revive", "Request URLs of parked hosts again");
  add_state_dir(revive, arguments->state_dir, arguments->redis);
  revive->add_option_function<std::vector<std::string>>(
      "HOST",
      [arguments](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
          arguments->hosts.push_back(parse_host(text, "HOST"));
      },
      "The hosts, such as example.com or example.com:8080 (default: all parked hosts)");
  describe(revive, help_of_revive());
  revive->callback([arguments, &exit_code] {
    exit_code = on_state_of(arguments->state_dir, [&] { return run_frontier_revive(*arguments); });
  });
}

void add_repair(CLI::App* frontier, int& exit_code) {
  const auto state_dir = std::make_shared<std::string>();
  auto* repair = frontier->add_subcommand(
      "repair", "Rebuild the filter if all checkpoints are damaged, and print what is lost");
  add_state_dir(repair, *state_dir);
  describe(repair, {.text = "For a crawl that no longer opens since all its checkpoints are "
                            "damaged. With a ledger, the filter "
                            "is\nrebuilt from it; else from the URLs that wait, so that others may "
                            "be fetched again.",
                    .output = "What was rebuilt, and what is lost.",
                    .examples = {{"trawl frontier repair example-state"}},
                    .exits = common_exits()});
  repair->callback([state_dir, &exit_code] {
    exit_code = on_state_of(*state_dir, [&] { return run_frontier_repair(*state_dir); });
  });
}

}  // namespace

void add_frontier_commands(CLI::App& app, const std::string& program, int& exit_code) {
  auto* frontier = app.add_subcommand(
      "frontier", "Inspect, dump, load and repair a stopped crawl's queues; retry failed URLs");
  frontier->require_subcommand(1);
  describe(frontier, help_of_frontier());
  add_stats(frontier, exit_code);
  add_dump(frontier, exit_code);
  add_load(frontier, exit_code);
  add_retry(frontier, program, exit_code);
  add_revive(frontier, program, exit_code);
  add_repair(frontier, exit_code);
}

}  // namespace trawl::cli
