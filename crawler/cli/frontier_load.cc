// trawl frontier load
#include <span>
#include <string>

#include <fmt/format.h>

#include "trawl/embedded_frontier.h"

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/frontier_commands.h"
#include "crawler/cli/frontier_line_loader.h"
#include "crawler/cli/frontier_settings.h"
#include "crawler/cli/say.h"
#include "crawler/config/redis_place.h"
#include "crawler/state/state_contents.h"

namespace trawl::cli {

namespace {

void override_settings(const FrontierLoadArguments& arguments, EmbeddedOptions& options) {
  options.mode = arguments.append ? OpenMode::kResume : OpenMode::kCreate;
  if (arguments.expected_urls) options.seen.expected_urls = *arguments.expected_urls;
  if (arguments.false_positive_rate)
    options.seen.false_positive_rate = *arguments.false_positive_rate;
  if (arguments.exact) options.seen.mode = FilterMode::kExact;
  options.seen.ledger = options.seen.ledger || arguments.ledger;
}

int report_opening(const Error& error, const FrontierLoadArguments& arguments) {
  const int code = report(error);
  if (error.code == ErrorCode::kAlreadyExists) say(stderr, "trawl: to add to it, give --append\n");
  if (error.code == ErrorCode::kNotFound && arguments.append)
    say(stderr, "trawl: to create a new frontier, leave out --append\n");
  return code;
}

}  // namespace

int run_frontier_load(const FrontierLoadArguments& arguments) {
  if (is_redis_url(arguments.state_dir)) return run_shared_load(arguments);
  auto options = frontier_settings(arguments.state_dir, arguments.config);
  if (!options) return options.error();
  override_settings(arguments, *options);
  // Opened before anything is created.
  const auto file = FrontierLineLoader::open_input(arguments.input);
  if (!file) return report(file.error());
  CrawlConfig place;
  place.crawl.state_dir = options->directory;
  if (const auto usable = inspect_state(place); !usable) return report(usable.error());
  OpenReport opened;
  const auto frontier = EmbeddedFrontier::open(*options, &opened);
  if (!frontier) return report_opening(frontier.error(), arguments);
  for (const std::string& warning : opened.warnings)
    say(stderr, "trawl: warning: {}\n", warning);

  FrontierLineLoader loader(arguments, options->limits.max_url_length,
                            [&](std::span<const UrlRequest> requests) {
                              // The next lines are read while these become durable; closing waits
                              // for all.
                              return (*frontier)->offer(requests, OfferWait::kAnswer);
                            });
  const auto loaded = loader.load(*file);
  const auto closed = (*frontier)->close();
  loader.report_unshown();
  say("{}: {} {}, {} seen{}, {} invalid\n", arguments.state_dir, loader.fresh(),
      arguments.seen ? "marked as seen" : "new", loader.seen(), arguments.seen ? " before" : "",
      loader.bad());
  if (loader.passed_over() > 0) {
    say("{} held or failed URLs were not loaded; --set-aside {} them too\n", loader.passed_over(),
        arguments.seen ? "marks" : "queues");
  }
  if (!loaded) return report(loaded.error());
  if (!closed) return report(closed.error());
  if (loader.bad() == 0 || arguments.skip_bad_lines) return kDone;
  say(stderr,
      "trawl: nothing after the first bad line was loaded; correct the file or give "
      "--skip-bad-lines, and load it again with --append: URLs already loaded are counted as "
      "seen\n");
  return kFailed;
}

}  // namespace trawl::cli
