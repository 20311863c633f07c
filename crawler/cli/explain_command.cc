// trawl explain
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "trawl/canonicalizer.h"
#include "trawl/url_groups.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/config_errors.h"
#include "crawler/cli/document_source.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/explain_report.h"
#include "crawler/cli/normalize_output.h"
#include "crawler/config/config.h"
#include "crawler/config/user_agent.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/url_shape.h"

namespace trawl::cli {

namespace {

constexpr const char* kExplainFooter = R"(
Tells what a crawl with this config would do with a URL, and why: its canonical key and host queue,
each limit, the blocklists, the rule that decides, its priority. If the state directory holds a
crawl that nobody has open, also whether the crawl has seen the URL and how its host stands.

A URL that is a seed is taken to have depth 0, any other to be linked from a seed. --depth tells
another depth, --hops how many pages in a row, up to the one with the link, were out of scope.

  --robots FILE   what this robots.txt says of it: a file, - for standard input, or a URL
  --fetch-robots  the same of the site's own, which is fetched
  --json          one JSON object

Examples:
  trawl explain config.toml https://example.com/calendar/2031/07
  trawl explain config.toml --json --depth 5 https://example.com/a | jq .reason

Exit status: 0 it would be fetched, 1 it is out of scope or, where that was asked, disallowed by
robots.txt, 2 wrong usage, 4 errors in the config.)";

struct ExplainArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string url;
  std::optional<std::uint32_t> depth;
  std::uint32_t hops = 0;
  std::string robots;
  bool fetch_robots = false;
  bool json = false;
};

// RFC 9309, section 2.3.1: what a server's answer means. A file has the status 0.
Robots robots_of(const Document& document) {
  if (document.status == 429 || document.status >= 500) return Robots::disallow_all();
  if (document.status >= 300) return Robots::allow_all();
  return Robots::parse(document.bytes);
}

Result<RobotsCheck> check_robots(const std::string& source, const std::string& agent,
                                 const Url& url) {
  const auto document = read_document(source, kRobotsTxtOptions);
  if (!document) return tl::unexpected(document.error());
  return RobotsCheck{.source = document->name, .decision = robots_of(*document).decide(agent, url)};
}

// All that a crawl decides by.
struct Decider {
  Profile profile;
  Canonicalizer canonicalizer;
  std::vector<Url> seeds;
  std::unique_ptr<Scope> scope;
  Priorities priorities;

  static Result<Decider> create(const CrawlConfig& config) {
    auto profile = Profile::from_text(config.url.text, config.url.hosts);
    if (!profile) return tl::unexpected(std::move(profile.error()));
    const Canonicalizer canonicalizer(*profile);
    std::vector<Url> seeds;
    for (const std::string& seed : config.crawl.seeds) {
      auto url = Url::parse(seed);
      if (!url) return tl::unexpected(std::move(url.error()));
      seeds.push_back(std::move(*url));
    }
    auto scope = Scope::create(config.scope, seeds, canonicalizer);
    if (!scope) return tl::unexpected(std::move(scope.error()));
    auto priorities = Priorities::create(config.crawl);
    if (!priorities) return tl::unexpected(std::move(priorities.error()));
    return Decider{std::move(*profile), canonicalizer, std::move(seeds), std::move(*scope),
                   std::move(*priorities)};
  }

  bool is_seed(std::string_view key) const {
    for (const Url& seed : seeds)
      if (canonicalizer.key(seed) == key) return true;
    return false;
  }
};

void check_limits(const CrawlConfig::Scope& limits, Explanation& it) {
  const Url& url = *it.url;
  const std::uint32_t segments = count_path_segments(url.path());
  it.limits = {
      {.name = "depth", .key = "scope.max_depth", .value = it.depth, .limit = limits.max_depth},
      {.name = "length",
       .key = "scope.max_url_length",
       .value = url.href_without_fragment().size(),
       .limit = limits.max_url_length},
      {.name = "segments",
       .key = "scope.max_path_segments",
       .value = segments,
       .limit = limits.max_path_segments},
      {.name = "parameters",
       .key = "scope.max_query_parameters",
       .value = count_query_parameters(url.query()),
       .limit = limits.max_query_parameters},
  };
  it.max_repeated = limits.max_repeated_segments;
  if (it.max_repeated != 0)
    it.repeated = has_repeated_segments(url.path(), segments, it.max_repeated);
}

Explanation explain(const CrawlConfig& config, const Decider& decider,
                    const ExplainArguments& arguments) {
  Explanation it{.text = arguments.url, .url = {}, .error = {}, .verdict = {}};
  auto url = Url::parse(arguments.url);
  if (!url) {
    it.error = std::move(url.error().message);
    it.verdict.reason = url.error().code == ErrorCode::kUnsupportedScheme ? SkipReason::kOtherScheme
                                                                          : SkipReason::kInvalidUrl;
    return it;
  }
  it.url = std::move(*url);
  it.key = decider.canonicalizer.key(*it.url);
  it.group = politeness_group(*it.url);
  it.domain = registrable_domain(it.url->hostname());
  it.pattern = url_pattern_of(*it.url);
  it.seed = decider.is_seed(it.key);
  it.depth = arguments.depth.value_or(it.seed ? 0 : 1);
  it.hops = arguments.hops;
  it.verdict = decider.scope->check(*it.url, it.depth, it.hops);
  it.priority = decider.priorities.of(*it.url, it.depth);
  check_limits(config.scope, it);
  BlockCandidates candidates;
  candidates.set(*it.url, decider.canonicalizer);
  for (const Blocklist& list : decider.scope->blocklists()) {
    BlocklistCheck check{.file = list.name(), .blocked_by = {}};
    if (const auto found = list.find(candidates)) check.blocked_by = std::string(*found);
    it.blocklists.push_back(std::move(check));
  }
  if (!config.crawl.state_dir.empty()) {
    it.directory = config.crawl.state_dir.string();
    it.state = look_up_state(config.crawl.state_dir, *it.url, decider.profile);
  }
  return it;
}

int run_explain(const ExplainArguments& arguments) {
  const auto config = load_config(arguments.config, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  const auto decider = Decider::create(*config);
  if (!decider) {
    report(decider.error());
    return kBadConfig;
  }
  Explanation it = explain(*config, *decider, arguments);
  if (it.url && (arguments.fetch_robots || !arguments.robots.empty())) {
    const std::string source =
        arguments.fetch_robots ? it.url->origin() + "/robots.txt" : arguments.robots;
    auto robots = check_robots(source, robots_token_of(config->crawl), *it.url);
    if (!robots) {
      report(robots.error());
      return kUsage;
    }
    it.robots = std::move(*robots);
  }
  BufferedOutput out;
  out << (arguments.json ? as_json(it) : as_text(it));
  if (const auto written = out.flush(); !written) {
    report(written.error());
    return kUsage;
  }
  return it.followed() ? kDone : kFailed;
}

}  // namespace

void add_explain_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ExplainArguments>();
  auto* command = app.add_subcommand("explain", "Tell what a crawl would do with a URL, and why");
  command->add_option("CONFIG", arguments->config, "The config file (TOML)")->required();
  command->add_option("URL", arguments->url, "The URL to decide on")->required();
  command->add_option("--set", arguments->overrides, "Override a config key")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--depth", arguments->depth, "Links from a seed (default: 0 or 1)");
  command->add_option("--hops", arguments->hops, "Pages out of scope before it, in a row");
  auto* robots =
      command->add_option("--robots", arguments->robots, "A robots.txt to ask")->type_name("FILE");
  command->add_flag("--fetch-robots", arguments->fetch_robots, "Fetch the site's robots.txt")
      ->excludes(robots);
  command->add_flag("--json", arguments->json, "One JSON object");
  command->footer(kExplainFooter);
  command->callback([arguments, &exit_code] { exit_code = run_explain(*arguments); });
}

}  // namespace trawl::cli
