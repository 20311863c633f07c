// trawl demo
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <stdlib.h>

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_session.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/crawl_config.h"
#include "crawler/log/room_log.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

namespace {

Result<std::string> new_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "trawl-demo-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return tl::unexpected(system_error(errno, "cannot create " + path));
  }
  return path;
}

// Removes the temporary directory at the end of the demo.
class Cleanup {
 public:
  explicit Cleanup(std::string directory) : directory_(std::move(directory)) {}
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  ~Cleanup() {
    if (directory_.empty()) return;
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
    if (error) say(stderr, "trawl: cannot remove {}: {}\n", directory_, error.message());
  }

 private:
  const std::string directory_;  // empty: none
};

// The sample site needs no politeness: no delay, several requests at a time.
CrawlConfig demo_config(const std::vector<std::string>& seeds, const std::string& directory) {
  CrawlConfig config;
  config.crawl.seeds = seeds;
  config.crawl.state_dir = directory;
  config.politeness.delay = std::chrono::milliseconds(0);
  config.politeness.per_host_connections = 8;
  config.fetch.connections = 32;
  config.fetch.allow_private_addresses = true;
  config.filter.expected_urls = 100'000;
  config.status.listen = "127.0.0.1:0";
  return config;
}

void say_start(const CrawlConfig& config, std::uint64_t pages) {
  say("serving a sample site of {} pages; crawling it from\n", pages);
  for (const auto& seed : config.crawl.seeds)
    say("  {}\n", seed);
}

}  // namespace

int run_demo(const DemoArguments& arguments) {
  const SignalWaiter signals;
  auto directory = arguments.directory.empty() ? new_directory() : arguments.directory;
  if (!directory) return report(directory.error());
  const Cleanup cleanup(arguments.directory.empty() ? *directory : std::string());
  auto site = SampleSite::start({.pages = arguments.pages});
  if (!site) return report(site.error());
  const CrawlConfig config = demo_config((*site)->seeds(), *directory);
  if (auto logging = apply_log_settings(log_settings_of(arguments.verbosity, config.log)); !logging)
    return report(logging.error());

  const bool quiet = arguments.verbosity == Verbosity::kQuiet;
  if (!quiet) say_start(config, arguments.pages);
  const auto status = StatusServer::open(config);
  if (!status) return report(status.error());
  std::fflush(stdout);
  auto crawl = Crawl::open(config, {.mode = OpenMode::kCreate});
  if (!crawl) {
    const int failed = report(crawl.error());
    say(stderr, "trawl: demo needs a --directory that holds no crawl\n");
    return failed;
  }
  const int code = run_session(**crawl, signals, {.verbosity = arguments.verbosity}, **status);
  if (code == kDone && !quiet) {
    const std::size_t expected = (*site)->reachable_urls().size();
    say("a crawl can reach {} URLs of the site; {} were fetched\n", expected,
        (*crawl)->progress().fetched);
    if (arguments.directory.empty()) {
      say("state and output are removed; to keep them: trawl demo --directory DIR\n");
    } else {
      say("{} has a line for each of them; the state is in {}\n", (*crawl)->pages_path(),
          *directory);
    }
  }
  (*site)->stop();
  return code;
}

}  // namespace trawl::cli
