// The options of `trawl frontier`.
#include <charconv>
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
#include "crawler/cli/filter_values.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/parsed_option.h"
#include "crawler/cli/state_names.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

constexpr const char* kFrontierFooter = R"(
STATE_DIR is the state directory of a crawl that does not run, or of a program that embeds the
frontier. Only load, retry and repair read the filter: the others need little memory, and work on a
state whose checkpoints are lost; stats and dump also without the MANIFEST.

Examples:
  trawl frontier stats example-state                   how it stands, with the longest queues
  trawl frontier dump example-state > waiting.jsonl    all URLs that wait, one a line
  trawl frontier dump example-state --host example.com | head
  trawl frontier load new-state waiting.jsonl          a frontier with these URLs
  echo '{"url":"https://example.com/","priority":5}' | trawl frontier load new-state --append
  trawl frontier retry example-state --status 5xx      ask again for what failed with such a status
  trawl frontier revive example-state example.com      ask a parked host again
  trawl frontier repair example-state                  if all checkpoints are damaged

Exit status: 0 done, 1 failed, 2 wrong usage, 3 out of space, 4 errors in the config.)";

constexpr const char* kDumpFooter = R"(
Prints a JSON object for each URL that waits, those queued host by host in the order in which they
would be leased, then those deferred; behind them those set aside, in no order:

  {"url":"...","host":"...","priority":0,"depth":1,"redirects":0,"attempts":0,"parent":"...",
   "state":"queued"}

parent is null for a seed; a URL whose state is "deferred" waits until "not_before", a time such as
"2026-11-21T08:40:00.123Z"; "recrawl":true is there if it was fetched before. A URL whose state is
"held" was passed over by a rule; one that is "failed" was asked for in vain, or could not be. Both
have "reason" and "since", and one that failed "status", 0 without an answer.

Examples:
  trawl frontier dump example-state --state queued --state deferred    only what waits
  trawl frontier dump example-state --state failed                     what retry would queue)";

constexpr const char* kRetryFooter = R"(
Queues URLs that failed, with all their tries; trawl resume then fetches them. All that is given must
hold; several --status are alternatives. Prints how many were queued, and how many are set aside still.

Examples:
  trawl frontier retry example-state
  trawl frontier retry example-state --status 5xx --status 429
  trawl frontier retry example-state --reason crashed --host example.com
  trawl frontier dump example-state --state failed     what there is, with its reasons)";

constexpr const char* kReviveFooter = R"(
A host that failed too often in a row is parked: its queue is kept, but it is not asked. Once revived it
is asked again, its failures forgotten, when the crawl goes on.

Exits with 1 if hosts were named and none of them was parked.

Examples:
  trawl frontier revive example-state                  all parked hosts
  trawl frontier revive example-state example.com example.org:8080)";

constexpr const char* kLoadFooter = R"(
Reads lines as `trawl frontier dump` prints them, from FILE or, without one or for -, from standard
input. All keys but url may be left out. Attempts and recrawl are not taken over: a URL begins anew.
Empty lines are passed over. Lines whose state is "held" or "failed" are left out and counted, unless
with --set-aside.

A new frontier is made as the config says: the one that --config names, else STATE_DIR's own
crawl.toml. Without either the rules for canonical keys are the lossless ones. A crawl goes on with
it: trawl resume CONFIG, with STATE_DIR as its crawl.state_dir.

A bad line is reported with its number. Nothing behind the first one is loaded, unless with
--skip-bad-lines; loading a file again does no harm.

Prints how many URLs were new, seen and invalid.)";

void add_state_dir(CLI::App* command, std::string& state_dir) {
  command->add_option("STATE_DIR", state_dir, "The state directory")->required();
}

// As hosts are named in the frontier: "Example.COM:80" is example.com.
std::string parse_host(const std::string& text, const std::string& option = "--host") {
  const auto url = Url::parse("http://" + text + "/");
  if (!url || url->href() != "http://" + std::string(url->host()) + "/")
    throw CLI::ValidationError(option, shown(text) + " is no host, such as example.com:8080");
  return politeness_group(*url);
}

WaitingState parse_state(const std::string& text) {
  const auto state = waiting_state_named(text);
  if (!state)
    throw CLI::ValidationError("--state", shown(text) + " is not queued, deferred, held or failed");
  return *state;
}

// 0 if it is no status code: those have three digits.
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
                               shown(text) + " is not an HTTP status: 404, 5xx and 500-503 are");
  }
  if (range.first > range.last)
    throw CLI::ValidationError("--status", shown(text) + " ends before it begins");
  return range;
}

// An option that may be given several times, once for each value.
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
          "Those of this host alone, such as example.com or example.com:8080")
      ->type_name("NAME");
}

void add_stats(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierStatsArguments>();
  auto* stats = frontier->add_subcommand("stats", "Tell how it stands");
  add_state_dir(stats, arguments->state_dir);
  stats->add_flag("--json", arguments->json, "Print a JSON object");
  stats
      ->add_option("--hosts", arguments->hosts,
                   "Show so many of the longest queues; 0 saves reading them")
      ->type_name("N")
      ->capture_default_str();
  stats->callback([arguments, &exit_code] { exit_code = run_frontier_stats(*arguments); });
}

void add_dump(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierDumpArguments>();
  auto* dump = frontier->add_subcommand(
      "dump", "Print the URLs that wait or are set aside, one JSON object a line");
  add_state_dir(dump, arguments->state_dir);
  add_host(dump, arguments->host);
  add_repeated(dump, "--state", arguments->states, parse_state,
               "Those in this state alone: queued, deferred, held or failed; may be repeated")
      ->type_name("STATE");
  dump->footer(kDumpFooter);
  dump->callback([arguments, &exit_code] { exit_code = run_frontier_dump(*arguments); });
}

void add_load(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierLoadArguments>();
  auto* load = frontier->add_subcommand("load", "Queue URLs, one JSON object a line");
  add_state_dir(load, arguments->state_dir);
  load->add_option("FILE", arguments->input, "The lines (default: standard input)");
  auto* append = load->add_flag("--append", arguments->append, "Add to a frontier that is there");
  load->add_flag("--skip-bad-lines", arguments->skip_bad_lines, "Load the lines that are good");
  load->add_flag("--set-aside", arguments->set_aside,
                 "Queue URLs, too, that were held or had failed");
  load->add_option("--config", arguments->config, "Filter and rules for keys as a crawl's config")
      ->type_name("CONFIG");
  add_parsed(load, "--expected-urls", arguments->expected_urls, parse_capacity,
             "URLs to size a new filter for (default 1M, or the config's)")
      ->type_name("N")
      ->excludes(append);
  add_parsed(load, "--false-positive-rate", arguments->false_positive_rate, parse_rate,
             "Share of new URLs wrongly taken for seen (default 1e-6, or the config's)")
      ->type_name("P")
      ->excludes(append);
  load->add_flag("--exact", arguments->exact, "Look up on disk what the filter takes for seen")
      ->excludes(append);
  load->add_flag("--ledger", arguments->ledger, "Keep a record of each URL on disk")
      ->excludes(append);
  load->footer(kLoadFooter);
  load->callback([arguments, &exit_code] { exit_code = run_frontier_load(*arguments); });
}

void add_retry(CLI::App* frontier, const std::string& program, int& exit_code) {
  const auto arguments = std::make_shared<FrontierRetryArguments>();
  arguments->program = program;
  auto* retry = frontier->add_subcommand("retry", "Queue URLs again that failed, or are held");
  add_state_dir(retry, arguments->state_dir);
  add_repeated(retry, "--status", arguments->statuses, parse_status,
               "Those with this HTTP status: 404, 5xx, 500-503; may be repeated")
      ->type_name("STATUS");
  retry
      ->add_option_function<std::string>(
          "--reason",
          [arguments](const std::string& text) {
            if (text.empty()) throw CLI::ValidationError("--reason", "is empty");
            arguments->reason = text;
          },
          "Those with this reason, as trawl frontier dump has it")
      ->type_name("WORD");
  add_host(retry, arguments->host);
  auto* held = retry->add_flag_callback(
      "--held", [arguments] { arguments->state = SetAsideState::kHeld; },
      "Those that are held, instead of those that failed");
  retry
      ->add_flag_callback(
          "--all", [arguments] { arguments->state = std::nullopt; },
          "Those that failed, and those that are held")
      ->excludes(held);
  retry->footer(kRetryFooter);
  retry->callback([arguments, &exit_code] { exit_code = run_frontier_retry(*arguments); });
}

void add_revive(CLI::App* frontier, const std::string& program, int& exit_code) {
  const auto arguments = std::make_shared<FrontierReviveArguments>();
  arguments->program = program;
  auto* revive = frontier->add_subcommand("revive", "Ask parked hosts again");
  add_state_dir(revive, arguments->state_dir);
  revive->add_option_function<std::vector<std::string>>(
      "HOST",
      [arguments](const std::vector<std::string>& texts) {
        for (const std::string& text : texts)
          arguments->hosts.push_back(parse_host(text, "HOST"));
      },
      "The hosts, such as example.com or example.com:8080 (default: all that are parked)");
  revive->footer(kReviveFooter);
  revive->callback([arguments, &exit_code] { exit_code = run_frontier_revive(*arguments); });
}

void add_repair(CLI::App* frontier, int& exit_code) {
  const auto state_dir = std::make_shared<std::string>();
  auto* repair = frontier->add_subcommand(
      "repair", "Make the filter anew if every checkpoint is damaged, and tell what is lost");
  add_state_dir(repair, *state_dir);
  repair->callback([state_dir, &exit_code] { exit_code = run_frontier_repair(*state_dir); });
}

}  // namespace

void add_frontier_commands(CLI::App& app, const std::string& program, int& exit_code) {
  auto* frontier = app.add_subcommand(
      "frontier", "Inspect, dump, load and repair a stopped crawl's queues; retry what failed");
  frontier->require_subcommand(1);
  frontier->footer(kFrontierFooter);
  add_stats(frontier, exit_code);
  add_dump(frontier, exit_code);
  add_load(frontier, exit_code);
  add_retry(frontier, program, exit_code);
  add_revive(frontier, program, exit_code);
  add_repair(frontier, exit_code);
}

}  // namespace trawl::cli
