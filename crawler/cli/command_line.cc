#include "crawler/cli/command_line.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "crawler/cli/command_search.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/control_commands.h"
#include "crawler/cli/crawl_flags.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/help_reference.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/log/room_log.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_trawl() {
  return {
      .text = "`trawl help COMMAND` says more about a command.",
      .examples = {{"trawl crawl https://example.com/",
                    "begin a crawl; a directory is named after the host"},
                   {"trawl resume example.com", "continue after ^C, a crash or kill -9"},
                   {"trawl init https://example.com/ > my.toml", "a config to start from"},
                   {"trawl crawl my.toml --or-resume", "begin or continue: for services and cron"},
                   {"trawl explain my.toml https://example.com/a",
                    "would this URL be fetched, and why"},
                   {"trawl links https://example.com/",
                    "list a page's links; see also robots and sitemap"},
                   {"trawl demo", "crawl a built-in sample site"}},
      .exits = exits_of_crawls(),
      .signals =
          "the first SIGINT or SIGTERM finishes the requests in flight and prints the resume "
          "command;\n"
          "the second drops the requests in flight; the third quits at once.\n"
          "SIGUSR1 writes a checkpoint."};
}

VerbHelp help_of_crawl() {
  return {
      .text =
          R"(INPUT is one or more of: a URL, or a host such as example.com, which gets the scheme https
(localhost:8000, or another local host, address or port: http); a file with
a URL or a JSON object with "url" a line, such as a pages.jsonl; a config file; and - for any of these
on standard input. URLs next to a config are added to its seeds. A word that is the name of a file is
that file.

Without a config, all keys have their defaults except those given as options, and the directory is
named after the host of the first URL. --set has every key of docs/config.md.

With [cluster] in the config the frontier is in Redis, and shared: the same command on each machine begins the crawl,
joins it, and continues it after a crash, as trawl resume does. --fresh is refused then: another crawl has
another cluster.name, and directories of its own.)",
      .output =
          R"(The directory gets the state of the crawl, and below output/ its pages.jsonl, with a line for each page, and
what --save and --warc ask for. Progress and warnings go to standard error, a summary to standard output.
A crawl that cannot start leaves nothing behind.)",
      .examples = {{"trawl crawl https://example.com/", "into the directory example.com"},
                   {"trawl crawl example.com --depth 2 --save", "keep the pages as files"},
                   {"trawl crawl https://example.com/ -o news --max-pages 1000 --delay 2s"},
                   {"trawl crawl a.example b.example --scope domain",
                    "several sites, with their subdomains"},
                   {"trawl crawl urls.txt --scope page", "a list of pages, without their links"},
                   {"trawl crawl http://localhost:8000/ --allow-private", "a server of your own"},
                   {"trawl crawl my.toml", "as a config says"},
                   {"trawl crawl my.toml --set scope.max_pages=10k",
                    "with another value for a key"},
                   {"trawl crawl my.toml --fresh", "start over"}},
      .exits = exits_of_crawls()};
}

VerbHelp help_of_resume() {
  return {
      .text =
          "Takes the directory of a crawl, or the config it was begun with. Options hold for this "
          "run only.",
      .output = "As trawl crawl. Lines are appended to the output files.",
      .examples = {{"trawl resume example.com"},
                   {"trawl resume my.toml"},
                   {"trawl resume example.com --max-pages 5000", "with a higher limit"},
                   {"trawl resume example.com --retry-failed", "fetch failed URLs again first"}},
      .exits = exits_of_crawls()};
}

VerbHelp help_of_init() {
  return {
      .text = "Takes URLs as trawl crawl does, and its options, which are written into the config.",
      .output = "A config with comments, on standard output.",
      .examples = {{"trawl init https://example.com/ > my.toml"},
                   {"trawl init example.com --depth 5 --warc -o example-state > my.toml"},
                   {"trawl init example.com | trawl check-config -"}},
      .exits = common_exits("printed")};
}

VerbHelp help_of_check_config() {
  return {
      .text = "Reads the config and all files that it names, as a crawl does when it starts.",
      .output =
          "Every error with its line and column, and warnings, on standard error; \"ok\" and the "
          "number of\n"
          "seeds on standard output.",
      .examples = {{"trawl check-config my.toml"},
                   {"trawl check-config my.toml --set scope.type=domain"},
                   {"trawl check-config example.com", "the config stored in a crawl's directory"}},
      .exits = {{0, "valid"}, {1, "failed"}, {2, "wrong usage"}, {4, "errors in the config"}}};
}

VerbHelp help_of_demo() {
  return {
      .text = "Serves a sample site on loopback, and crawls it.",
      .output =
          "A summary. The state and the output are removed at the end, except with --directory.",
      .examples = {{"trawl demo"}, {"trawl demo --pages 100000 --directory demo"}},
      .exits = exits_of_crawls()};
}

VerbHelp help_of_sample_site() {
  return {.text =
              "Serves a generated site, which is the same for the same options, until it is "
              "interrupted.",
          .output =
              "The URLs to crawl from; with --list, the keys of all URLs that a crawl reaches, a "
              "line each.",
          .examples = {{"trawl sample-site --pages 1000"},
                       {"trawl sample-site --port 0 --hosts 20 --access-log access.log"},
                       {"trawl sample-site --list | wc -l"}},
          .exits = {{0, "ended by a signal, or listed"}, {1, "failed"}, {2, "wrong usage"}}};
}

struct Arguments {
  CrawlArguments crawl;
  SampleSiteArguments sample_site;
  DemoArguments demo;
  bool markdown = false;  // of config-reference
};

void add_crawl_commands(CLI::App& app, Arguments& arguments, int& exit_code) {
  CrawlArguments& crawl = arguments.crawl;
  auto* start = app.add_subcommand("crawl", "Start a crawl from URLs or a config file");
  start
      ->add_option("INPUT", crawl.inputs,
                   "URLs, files of URLs, or a config file; - is standard input")
      ->required();
  start
      ->add_option("-o,--output", crawl.directory,
                   "The directory of the crawl, for state and output (default: the host, or as in "
                   "the config)")
      ->type_name("DIR");
  add_crawl_flags(start, crawl.overrides);
  auto* fresh = start->add_flag(
      "--fresh", crawl.fresh,
      "Start over: delete the state of the earlier crawl and rename its output files");
  start
      ->add_flag("--or-resume", crawl.or_resume,
                 "Continue the crawl in the state directory, if there is one")
      ->excludes(fresh);
  add_verbosity_flags(start, crawl.verbosity);
  describe(start, help_of_crawl());
  start->callback([&] { exit_code = run_crawl(crawl); });

  auto* resume = app.add_subcommand("resume", "Continue a crawl from its last checkpoint");
  resume
      ->add_option("CONFIG|STATE_DIR", crawl.target,
                   "The directory of the crawl, or its config file")
      ->required();
  add_crawl_flags(resume, crawl.overrides);
  resume->add_flag("--change-url-rules", crawl.change_url_rules,
                   "Continue although [url] has changed; URLs seen before may be fetched again");
  resume->add_flag("--retry-failed", crawl.retry_failed,
                   "First queue all failed URLs again; see also trawl frontier retry");
  add_verbosity_flags(resume, crawl.verbosity);
  describe(resume, help_of_resume());
  resume->callback([&] { exit_code = run_resume(crawl); });

  auto* init = app.add_subcommand("init", "Print a short config for a crawl of these URLs");
  init->add_option("URL", crawl.inputs, "URLs, or files of URLs; - is standard input")->required();
  init->add_option("-o,--output", crawl.directory,
                   "The directory of the crawl, for state and output (default: the host)")
      ->type_name("DIR");
  add_crawl_flags(init, crawl.overrides);
  describe(init, help_of_init());
  init->callback([&] { exit_code = run_init(crawl); });

  auto* check = app.add_subcommand("check-config", "Check a config file and print every error");
  check
      ->add_option("CONFIG", crawl.target,
                   "The config file, a crawl's directory, or - for standard input")
      ->required();
  add_crawl_flags(check, crawl.overrides);
  describe(check, help_of_check_config());
  check->callback([&] { exit_code = run_check_config(crawl.target, crawl.overrides); });

  // Not in --help: for scripts/config_reference.sh.
  auto* reference = app.add_subcommand("config-reference", "Print every config key with its text");
  reference->group("");
  reference->add_flag("--markdown", arguments.markdown, "As the table of docs/config.md");
  reference->callback([&] { exit_code = run_config_reference(arguments.markdown); });
}

void add_sample_commands(CLI::App& app, Arguments& arguments, int& exit_code) {
  DemoArguments& demo = arguments.demo;
  auto* demo_command = app.add_subcommand("demo", "Crawl the built-in sample site");
  demo_command->add_option("--pages", demo.pages, "Number of HTML pages")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  demo_command->add_option(
      "--directory", demo.directory,
      "Where to keep state and output (default: a temporary directory, removed at the end)");
  add_verbosity_flags(demo_command, demo.verbosity);
  describe(demo_command, help_of_demo());
  demo_command->callback([&] { exit_code = run_demo(demo); });

  SampleSiteArguments& sample = arguments.sample_site;
  auto* site = app.add_subcommand("sample-site", "Serve a deterministic web on loopback");
  site->add_option("--port", sample.site.port, "Port of all hosts; 0 picks a free one")
      ->capture_default_str();
  site->add_option("--pages", sample.site.pages, "Number of HTML pages, over all hosts")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  site->add_option("--seed", sample.site.seed,
                   "Seed of the generator: another seed gives another web")
      ->capture_default_str();
  site->add_option("--hosts", sample.site.hosts, "Number of hosts: 127.0.0.1, 127.0.0.2, ...")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  site->add_option("--slow-ms", sample.site.slow_ms, "Delay of slow pages, in milliseconds")
      ->check(CLI::Range(0, 60'000))
      ->capture_default_str();
  site->add_option("--page-bytes", sample.site.page_bytes,
                   "Fill HTML pages up with text to about this size")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  site->add_option("--access-log", sample.site.access_log,
                   "File to append a line to for each request");
  site->add_flag("--list", sample.list,
                 "Print the canonical keys of the URLs that a crawl reaches, and exit");
  describe(site, help_of_sample_site());
  site->callback([&] { exit_code = run_sample_site(sample); });
}

// Not a command of its own, but "--help" of another: see as_help_option().
void add_help_command(CLI::App& app) {
  auto* help = app.add_subcommand("help", "Say more about a command");
  const auto words = std::make_shared<std::vector<std::string>>();
  help->add_option_function<std::vector<std::string>>(
      "COMMAND", [words](const std::vector<std::string>& given) { *words = given; },
      "The command, such as: frontier dump");
  describe(help, {.output = "The help of the command, or of trawl itself.",
                  .examples = {{"trawl help crawl"}, {"trawl help frontier dump"}},
                  .exits = {{0, "printed"}, {2, "an unknown command"}}});
}

// "help frontier dump" as "frontier dump --help".
std::vector<std::string> as_help_option(std::vector<std::string> words) {
  if (words.empty()) return {"--help"};
  if (words.front() != "help" || (words.size() > 1 && words[1].starts_with('-'))) return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// The innermost command that was named.
const CLI::App& command_of(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? app : command_of(*named.back());
}

int point_to_help(const CLI::App& app, const CLI::App& command) {
  const std::string path = path_of(command).substr(app.get_name().size());
  say(stderr, "trawl: see: {} help{}\n", app.get_name(), path);
  return kUsage;
}

int parse_and_run(CLI::App& app, const std::vector<std::string>& given, const int& exit_code) {
  std::vector<std::string> words = as_help_option(given);
  if (const auto wrong = find_misspelling(app, words)) {
    usage_error(wrong->message);
    return point_to_help(app, *wrong->command);
  }
  try {
    std::ranges::reverse(words);  // as parse() takes them
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help or version
      std::ostringstream out;
      app.exit(error, out, out);
      say_lines(stdout, out.str());
      return kDone;
    }
    const CLI::App& command = command_of(app);
    say(stderr, "{}: {}\n", path_of(command), error.what());
    return point_to_help(app, command);
  }
  return exit_code;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Trawl, a web crawler that fetches each URL once and survives kill -9", "trawl");
  app.set_version_flag("--version", "trawl " TRAWL_VERSION);
  app.require_subcommand(1);
  describe(&app, help_of_trawl());
  Arguments arguments;
  arguments.crawl.program = argv[0];
  int exit_code = kDone;
  add_crawl_commands(app, arguments, exit_code);
  add_sample_commands(app, arguments, exit_code);
  add_filter_commands(app, exit_code);
  add_control_commands(app, arguments.crawl.program, exit_code);
  add_frontier_commands(app, arguments.crawl.program, exit_code);
  add_cluster_command(app, exit_code);
  add_normalize_command(app, exit_code);
  add_explain_command(app, exit_code);
  add_report_command(app, exit_code);
  add_links_command(app, exit_code);
  add_robots_command(app, exit_code);
  add_sitemap_command(app, exit_code);
  add_warc_command(app, exit_code);
  add_wacz_command(app, exit_code);
  add_serve_command(app, exit_code);
  add_help_command(app);
  // Not in --help: for manual pages and completions.
  auto* reference = app.add_subcommand("help-reference", "Print the help of all commands as JSON");
  reference->group("");
  reference->callback([&app] { say_lines(stdout, help_reference(app)); });
  if (auto logging = apply_log_settings({}); !logging) return report(logging.error());
  try {
    return parse_and_run(app, {argv + 1, argv + argc}, exit_code);
  } catch (const std::exception& error) {
    // For example standard output cannot be written to. Files on disk stay whole.
    std::fputs(("trawl: " + escape_unsafe(error.what()) + "\n").c_str(), stderr);
    return kFailed;
  }
}

}  // namespace trawl::cli
