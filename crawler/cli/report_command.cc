// trawl report
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/crawl_report.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/report_text.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/status/page/status_page.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_report() {
  return {
      .text =
          R"(Says what a crawl did, over all its runs: pages by status, bytes and time; errors by reason, each with
an example; skipped links by reason; duplicates; the largest and slowest hosts; hosts that are parked or
blocked; the smallest gap between two requests to a host next to its delay; and the filter of seen URLs.
The numbers of pages add up to the lines of pages.jsonl.

A crawl that is running is asked through its control socket. Nothing is changed.)",
      .output =
          "A text; with --json, an object with the answers of docs/api.md by their names. --html "
          "writes a file\nthat needs no others.",
      .examples = {{"trawl report example.com"},
                   {"trawl report my.toml --html report.html", "the status page with its charts"},
                   {"trawl report example.com --json | jq .status.by_status"}},
      .exits = {{kDone, "done"},
                {kFailed, "there is no crawl, or its state cannot be read"},
                {kUsage, "wrong usage"},
                {kBadConfig, "errors in the config"}}};
}

struct ReportArguments {
  std::string target;
  std::size_t hosts = 50;
  std::string html;
  bool json = false;
};

Result<CrawlReport> make_report(const CrawlInput& input, std::size_t hosts) {
  if (auto holds = expect_crawl(input.state_dir()); !holds) return tl::unexpected(holds.error());
  if (const auto running = ControlClient::connect(input.state_dir()))
    return CrawlReport::of_running(*running, hosts);
  return CrawlReport::of_stopped(input.config(), hosts);
}

int run_report(const ReportArguments& arguments) {
  const auto input = CrawlInput::resolve(arguments.target);
  if (!input) return input.error();
  const auto made = make_report(*input, arguments.hosts);
  if (!made) return report(made.error());
  if (!arguments.html.empty()) {
    if (const auto written = replace_file(arguments.html, report_page(made->json_text())); !written)
      return report(written.error());
    if (!arguments.json) say("written: {}\n", arguments.html);
  }
  if (arguments.html.empty() || arguments.json) {
    const std::string text = arguments.json ? made->json_text() : report_text(made->json());
    if (const auto written = write_all(STDOUT_FILENO, text, "standard output"); !written)
      return report(written.error());
  }
  const auto& status = made->json()["status"];
  if (!status.contains("warnings")) return kDone;
  for (const auto& warning : status["warnings"])
    if (warning.is_string()) say(stderr, "trawl: warning: {}\n", warning.get<std::string>());
  return kDone;
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ReportArguments>();
  auto* command = app.add_subcommand("report", "Say what a crawl did");
  command
      ->add_option("CONFIG|STATE_DIR", arguments->target,
                   "The config file (TOML) or the directory of a crawl")
      ->required();
  command->add_flag("--json", arguments->json, "One JSON object");
  command->add_option("--html", arguments->html, "Write the report as a page with charts")
      ->type_name("FILE");
  command
      ->add_option("--hosts", arguments->hosts, "The most hosts in each list of --json and --html")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  describe(command, help_of_report());
  command->callback([arguments, &exit_code] { exit_code = run_report(*arguments); });
}

}  // namespace trawl::cli
