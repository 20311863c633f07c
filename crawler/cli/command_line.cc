#include "crawler/cli/command_line.h"

#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <spdlog/spdlog.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/control_commands.h"
#include "crawler/cli/crawl_flags.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/help_reference.h"
#include "crawler/cli/safe_log.h"
#include "crawler/cli/say.h"

namespace trawl::cli {

namespace {

constexpr const char* kTrawlFooter = R"(Examples:
  trawl demo                               crawl a built-in sample site
  trawl crawl config/quickstart.toml       start a crawl
  trawl resume config/quickstart.toml      continue after ^C, a crash or kill -9
  trawl crawl my.toml --or-resume          start or continue: for services and cron
  trawl links https://example.com/         list a page's links; see also robots and sitemap

Exit status: 0 done, 1 failed, 2 wrong usage, 3 out of space, 4 errors in the config, 5 incomplete,
11 interrupted and resumable, 13 killed by a third interrupt, 14 scope.max_bytes reached,
15 scope.max_time reached.
Signals: the first SIGINT or SIGTERM finishes the requests in flight, writes a checkpoint and prints
the resume command; the second drops the requests in flight; the third quits without a checkpoint.
SIGUSR1 writes a checkpoint.)";

struct Arguments {
  CrawlArguments crawl;
  SampleSiteArguments sample_site;
  DemoArguments demo;
  bool markdown = false;  // of config-reference
};

void add_crawl_commands(CLI::App& app, Arguments& arguments, int& exit_code) {
  CrawlArguments& crawl = arguments.crawl;
  auto* start = app.add_subcommand("crawl", "Start a crawl from a config file");
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
  start->callback([&] { exit_code = run_crawl(crawl); });

  auto* resume = app.add_subcommand("resume", "Continue a crawl from its last checkpoint");
  resume->add_option("CONFIG|STATE_DIR", crawl.target, "The config file, or the state directory")
      ->required();
  add_crawl_flags(resume, crawl.overrides);
  resume->add_flag("--change-url-rules", crawl.change_url_rules,
                   "Continue although [url] has changed; URLs seen before may be fetched again");
  resume->add_flag("--retry-failed", crawl.retry_failed,
                   "First queue all failed URLs again; see also trawl frontier retry");
  resume->callback([&] { exit_code = run_resume(crawl); });

  auto* init = app.add_subcommand("init", "Print a short config for a crawl of these URLs");
  init->add_option("URL", crawl.inputs, "URLs, or files of URLs; - is standard input")->required();
  init->add_option("-o,--output", crawl.directory,
                   "The directory of the crawl, for state and output (default: the host)")
      ->type_name("DIR");
  add_crawl_flags(init, crawl.overrides);
  init->callback([&] { exit_code = run_init(crawl); });

  auto* check = app.add_subcommand("check-config", "Check a config file and print every error");
  check->add_option("CONFIG", crawl.target, "The config file (TOML)")->required();
  add_crawl_flags(check, crawl.overrides);
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
  site->add_option("--access-log", sample.site.access_log,
                   "File to append a line to for each request");
  site->add_flag("--list", sample.list,
                 "Print the canonical keys of the URLs that a crawl reaches, and exit");
  site->callback([&] { exit_code = run_sample_site(sample); });
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Trawl, a web crawler that fetches each URL once and survives kill -9", "trawl");
  app.set_version_flag("--version", "trawl " TRAWL_VERSION);
  app.require_subcommand(1);
  app.footer(kTrawlFooter);
  Arguments arguments;
  arguments.crawl.program = argv[0];
  int exit_code = kDone;
  add_crawl_commands(app, arguments, exit_code);
  add_sample_commands(app, arguments, exit_code);
  add_filter_commands(app, exit_code);
  add_control_commands(app, arguments.crawl.program, exit_code);
  add_frontier_commands(app, arguments.crawl.program, exit_code);
  add_normalize_command(app, exit_code);
  add_explain_command(app, exit_code);
  add_links_command(app, exit_code);
  add_robots_command(app, exit_code);
  add_sitemap_command(app, exit_code);
  // Not in --help: for manual pages and completions.
  auto* reference = app.add_subcommand("help-reference", "Print the help of all commands as JSON");
  reference->group("");
  reference->callback([&app] { say_lines(stdout, help_reference(app)); });
  spdlog::set_formatter(safe_log_formatter());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream complaint;
    const int code = app.exit(error, out, complaint);
    say_lines(stdout, out.str());
    say_lines(stderr, complaint.str());
    return code == 0 ? kDone : kUsage;
  } catch (const std::exception& error) {
    // For example standard output cannot be written to. Files on disk stay whole.
    std::fputs(("trawl: " + escape_unsafe(error.what()) + "\n").c_str(), stderr);
    return kFailed;
  }
  return exit_code;
}

}  // namespace trawl::cli
