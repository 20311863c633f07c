#include "crawler/cli/verbosity.h"

#include <CLI/CLI.hpp>

namespace trawl::cli {

void add_verbosity_flags(CLI::App* command, Verbosity& verbosity) {
  auto* const quiet = command->add_flag_callback(
      "-q,--quiet", [&verbosity] { verbosity = Verbosity::kQuiet; },
      "Print warnings and errors only: no progress, no summary");
  command
      ->add_flag_callback(
          "-v,--verbose", [&verbosity] { verbosity = Verbosity::kVerbose; },
          "Log each page that fails; more in the summary, such as the filter")
      ->excludes(quiet);
}

CrawlConfig::Log log_settings_of(Verbosity verbosity, CrawlConfig::Log config) {
  if (verbosity == Verbosity::kQuiet && (config.level == "info" || config.level == "debug"))
    config.level = "warn";
  if (verbosity == Verbosity::kVerbose && config.level != "trace") config.level = "debug";
  return config;
}

}  // namespace trawl::cli
