// The options of `trawl frontier`.
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/config/config_values.h"

namespace trawl::cli {

namespace {

constexpr const char* kFooter = R"(
STATE_DIR is the state directory of a crawl that does not run, or of a program that embeds the
frontier. No command here reads the filter but load and repair, so that the others need little
memory, and work on a state whose checkpoints or MANIFEST are lost.

Examples:
  trawl frontier stats example-state                   how it stands, with the longest queues
  trawl frontier dump example-state > waiting.jsonl    all URLs that wait, one a line
  trawl frontier dump example-state --host example.com | head
  trawl frontier load new-state waiting.jsonl          a frontier with these URLs
  echo '{"url":"https://example.com/","priority":5}' | trawl frontier load new-state --append
  trawl frontier repair example-state                  if all checkpoints are damaged

Exit status: 0 done, 1 failed, 2 wrong usage, 3 out of space, 4 errors in the config.)";

constexpr const char* kDumpFooter = R"(
Prints a JSON object for each URL that waits, those queued host by host in the order in which they
would be leased, then those deferred:

  {"url":"...","host":"...","priority":0,"depth":1,"redirects":0,"attempts":0,"parent":"...",
   "state":"queued"}

parent is null for a seed; a URL whose state is "deferred" waits until "not_before", a time such as
"2026-11-21T08:40:00.123Z"; "recrawl":true is there if it was fetched before.)";

constexpr const char* kLoadFooter = R"(
Reads lines as `trawl frontier dump` prints them, from FILE or, without one or for -, from standard
input. All keys but url may be left out. Attempts and recrawl are not taken over: a URL begins anew.
Empty lines are passed over.

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
std::string parse_host(const std::string& text) {
  const auto url = Url::parse("http://" + text + "/");
  if (!url || url->href() != "http://" + std::string(url->host()) + "/")
    throw CLI::ValidationError("--host", shown(text) + " is no host, such as example.com:8080");
  return politeness_group(*url);
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
  auto* dump = frontier->add_subcommand("dump", "Print the URLs that wait, one JSON object a line");
  add_state_dir(dump, arguments->state_dir);
  dump->add_option_function<std::string>(
          "--host",
          [arguments](const std::string& text) { arguments->options.host = parse_host(text); },
          "Those of this host alone, such as example.com or example.com:8080")
      ->type_name("NAME");
  dump->add_option_function<std::string>(
          "--state",
          [arguments](const std::string& text) {
            if (text != "queued" && text != "deferred")
              throw CLI::ValidationError("--state",
                                         shown(text) + " is neither queued nor deferred");
            arguments->options.state =
                text == "queued" ? WaitingState::kQueued : WaitingState::kDeferred;
          },
          "Those that are queued, or those that are deferred, alone")
      ->type_name("STATE");
  dump->footer(kDumpFooter);
  dump->callback([arguments, &exit_code] { exit_code = run_frontier_dump(*arguments); });
}

// An option whose text `parse` makes a value of; what it finds wrong is an error of usage.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App* command, const std::string& name, std::optional<Value>& value,
                        Parse parse, const std::string& help) {
  return command->add_option_function<std::string>(
      name,
      [name, &value, parse](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(name, parsed.error());
        value = *parsed;
      },
      help);
}

void add_load(CLI::App* frontier, int& exit_code) {
  const auto arguments = std::make_shared<FrontierLoadArguments>();
  auto* load = frontier->add_subcommand("load", "Queue URLs, one JSON object a line");
  add_state_dir(load, arguments->state_dir);
  load->add_option("FILE", arguments->input, "The lines (default: standard input)");
  auto* append = load->add_flag("--append", arguments->append, "Add to a frontier that is there");
  load->add_flag("--skip-bad-lines", arguments->skip_bad_lines, "Load the lines that are good");
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

void add_repair(CLI::App* frontier, int& exit_code) {
  const auto state_dir = std::make_shared<std::string>();
  auto* repair = frontier->add_subcommand(
      "repair", "Make the filter anew if every checkpoint is damaged, and tell what is lost");
  add_state_dir(repair, *state_dir);
  repair->callback([state_dir, &exit_code] { exit_code = run_frontier_repair(*state_dir); });
}

}  // namespace

void add_frontier_commands(CLI::App& app, int& exit_code) {
  auto* frontier =
      app.add_subcommand("frontier", "Inspect, dump, load and repair a stopped crawl's queues");
  frontier->require_subcommand(1);
  frontier->footer(kFooter);
  add_stats(frontier, exit_code);
  add_dump(frontier, exit_code);
  add_load(frontier, exit_code);
  add_repair(frontier, exit_code);
}

}  // namespace trawl::cli
