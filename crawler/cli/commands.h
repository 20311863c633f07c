// The commands of `trawl`; each returns an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crawler/cli/verbosity.h"
#include "crawler/sample_site/sample_site.h"

namespace CLI {
class App;
}

namespace trawl::cli {

struct CrawlArguments {
  std::string program = "trawl";       // argv[0]
  std::vector<std::string> inputs;     // of crawl: a config, URLs, files of URLs
  std::string directory;               // of crawl: another state directory
  std::string target;                  // of resume: see CrawlInput
  std::vector<std::string> overrides;  // --set
  bool fresh = false;
  bool or_resume = false;
  bool change_url_rules = false;
  bool retry_failed = false;
  Verbosity verbosity = Verbosity::kNormal;
};
int run_crawl(const CrawlArguments& arguments);
int run_resume(const CrawlArguments& arguments);

// Prints a config for the URLs of `arguments`.
int run_init(const CrawlArguments& arguments);

int run_check_config(const std::string& config, const std::vector<std::string>& overrides);
// Prints config/quickstart.toml or, as Markdown, the table of docs/config.md.
int run_config_reference(bool markdown);

struct SampleSiteArguments {
  SampleSiteOptions site{.port = 8099};
  bool list = false;  // print the reachable URLs instead of serving
};
int run_sample_site(const SampleSiteArguments& arguments);

struct DemoArguments {
  std::uint64_t pages = 1000;
  std::string directory;  // state directory; empty: a new temporary one
  Verbosity verbosity = Verbosity::kNormal;
};
int run_demo(const DemoArguments& arguments);

// Adds `trawl filter` and its commands, which set `exit_code`.
void add_filter_commands(CLI::App& app, int& exit_code);

// Adds `trawl frontier` and its commands. `program`: argv[0].
void add_frontier_commands(CLI::App& app, const std::string& program, int& exit_code);

// Adds `trawl cluster` and its commands.
void add_cluster_command(CLI::App& app, int& exit_code);

// Adds `trawl normalize`.
void add_normalize_command(CLI::App& app, int& exit_code);

// Adds `trawl explain`.
void add_explain_command(CLI::App& app, int& exit_code);

// Adds `trawl report`.
void add_report_command(CLI::App& app, int& exit_code);

// Adds `trawl serve`.
void add_serve_command(CLI::App& app, int& exit_code);

// Add the commands that read one document: `trawl links`, `trawl robots`, `trawl sitemap`.
void add_links_command(CLI::App& app, int& exit_code);
void add_robots_command(CLI::App& app, int& exit_code);
void add_sitemap_command(CLI::App& app, int& exit_code);

// Adds `trawl warc` and its commands.
void add_warc_command(CLI::App& app, int& exit_code);

// Adds `trawl wacz`.
void add_wacz_command(CLI::App& app, int& exit_code);

}  // namespace trawl::cli
