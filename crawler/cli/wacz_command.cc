// trawl wacz
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "trawl/url.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/crawl_report.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/interrupt_cleanup.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/output/output.h"
#include "crawler/state/output_checks.h"
#include "crawler/status/control_client.h"
#include "crawler/wacz/wacz_package.h"
#include "crawler/warc/warc_names.h"
#include "url/url_credentials.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_wacz() {
  return {
      .text =
          R"(Packages the WARC files of a crawl (output.warc) as a WACZ 1.1.1 file: the archives, their index, the
list of HTML pages, and the digest of each file. ReplayWeb.page and other programs show its pages.

The crawl must not be running. One that was stopped may be packaged: what it has so far is in the
file. A WARC file that a crash left open is closed first, as the next start would do.)",
      .output =
          "A line with what the file has. A file of that name is replaced once the new one is "
          "whole.",
      .examples = {{"trawl wacz example.com", "example.com.wacz"},
                   {"trawl wacz my.toml -o site.wacz --title \"Our site, 2026\""}},
      .exits = {
          {kDone, "done"},
          {kFailed, "there are no WARC files, the crawl is running, or a file cannot be read"},
          {kUsage, "wrong usage"},
          {kOutOfSpace, "out of space"},
          {kBadConfig, "errors in the config"}}};
}

struct WaczArguments {
  std::string target;
  std::string output;
  std::string title;
  std::string description;
};

constexpr std::string_view kEnding = ".wacz";

std::string default_name(const CrawlInput& input) {
  std::error_code ignored;
  auto directory = std::filesystem::weakly_canonical(input.state_dir(), ignored);
  if (!directory.has_filename()) directory = directory.parent_path();
  const std::string name = directory.filename().string();
  return (name.empty() ? "crawl" : name) + std::string(kEnding);
}

Result<void> expect_stopped(const CrawlInput& input, const std::filesystem::path& output) {
  auto nobody = check_nobody_writes(output);
  if (!nobody && nobody.error().code != ErrorCode::kInUse) return nobody;
  if (nobody && !ControlClient::connect(input.state_dir())) return {};
  return error(ErrorCode::kInUse,
               fmt::format("the crawl in {} is running: package it when it has ended, or end it "
                           "with: trawl stop {}",
                           input.state_dir().string(), input.name()));
}

// Closes what a crash left open. Errors: kNotFound if there will be no WARC files.
Result<void> close_archives(const CrawlConfig& config, const std::filesystem::path& output) {
  const auto open = open_warc_stems(output, warc_prefix(config));
  if (!open) return tl::unexpected(open.error());
  if (!open->empty() && config.output.warc) {
    const auto repairs = Output::repair_records(config, output);
    if (!repairs) return tl::unexpected(repairs.error());
    for (const std::string& repair : *repairs)
      say(stderr, "trawl: {}\n", repair);
  }
  const auto closed = closed_warc_stems(output);
  if (!closed) return tl::unexpected(closed.error());
  if (!closed->empty()) return {};
  return error(
      ErrorCode::kNotFound,
      fmt::format("there are no WARC files in {}: crawl with output.warc = true, or --warc",
                  output.string()));
}

// What of the crawl is not in the file, if anything.
void say_what_is_missing(const CrawlInput& input) {
  const auto made = CrawlReport::of_stopped(input.config(), 1);
  if (!made) return say(stderr, "trawl: warning: {}\n", made.error().message);
  const auto& status = made->json()["status"];
  const auto waiting = status.value("queued", std::uint64_t{0});
  if (waiting == 0) return;
  say(stderr,
      "trawl: the crawl is not finished, {} URLs are queued; the file has what was fetched so far. "
      "To go on with it: trawl resume {}\n",
      waiting, input.name());
}

std::string first_seed(const CrawlConfig& config) {
  for (const std::string& seed : config.crawl.seeds) {
    std::string scratch;
    if (const auto url = Url::parse(seed))
      return std::string(without_credentials(url->href(), scratch));
  }
  return {};
}

int run_wacz(WaczArguments arguments) {
  InterruptCleanup cleanup;
  const auto input = CrawlInput::resolve(arguments.target);
  if (!input) return input.error();
  if (arguments.output.empty()) arguments.output = default_name(*input);
  if (!arguments.output.ends_with(kEnding) || arguments.output.ends_with("/.wacz"))
    return usage_error(
        fmt::format("-o {}: the name of a WACZ file ends with .wacz", arguments.output));
  if (const auto holds = expect_crawl(input->state_dir()); !holds) return report(holds.error());
  const CrawlConfig& config = input->config();
  const auto output = output_directory(config);
  if (const auto stopped = expect_stopped(*input, output); !stopped) return report(stopped.error());
  if (const auto closed = close_archives(config, output); !closed) return report(closed.error());
  cleanup.arm();
  const std::string seed = first_seed(config);
  const auto summary =
      write_wacz({.directory = output,
                  .title = !arguments.title.empty() ? arguments.title
                           : seed.empty()           ? input->name()
                                                    : seed,
                  .description = !arguments.description.empty() ? arguments.description
                                                                : config.output.warc_description,
                  .main_page = seed},
                 arguments.output);
  if (!summary) return report(summary.error());
  say("{}: {} pages, {} records in {} WARC files, {} bytes\n", arguments.output, summary->pages,
      summary->records, summary->warc_files, summary->bytes);
  say_what_is_missing(*input);
  return kDone;
}

}  // namespace

void add_wacz_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<WaczArguments>();
  auto* command = app.add_subcommand("wacz", "Package what a crawl archived as a WACZ file");
  command
      ->add_option("CONFIG|STATE_DIR", arguments->target,
                   "The config file (TOML) or the directory of a crawl")
      ->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "The file to write (default: the crawl's directory with .wacz)")
      ->type_name("FILE");
  command->add_option("--title", arguments->title, "Title of the archive (default: the first seed)")
      ->type_name("TEXT");
  command
      ->add_option("--description", arguments->description,
                   "What it is, in Markdown (default: output.warc_description)")
      ->type_name("TEXT");
  describe(command, help_of_wacz());
  command->callback([arguments, &exit_code] { exit_code = run_wacz(*arguments); });
}

}  // namespace trawl::cli
