// trawl explain
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "trawl/canonicalizer.h"
#include "trawl/url_groups.h"

#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/config_errors.h"
#include "crawler/cli/document.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/explanation.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/host_politeness.h"
#include "crawler/config/user_agent.h"
#include "crawler/decide/parked_patterns.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/url_decider.h"
#include "crawler/decide/url_shape.h"

namespace trawl::cli {

namespace {

constexpr const char* kExplainFooter = R"(
Prints what a crawl with this config would do with a URL, and why: its canonical key and host queue,
each limit, the blocklists, the rule that decides, its priority. If the state directory holds a
stopped crawl, also what the crawl knows: whether it has seen the URL, why it holds it (robots.txt,
a limit of the host, a parked pattern), how its last fetch ended (with frontier.ledger = true), and
the state of its host.

A seed has depth 0, a URL that the crawl holds the depth at which it was found, any other URL depth
1. --depth sets another depth, --hops how many pages in a row, up to the one with the link, were out
of scope. A link in skipped.jsonl has the depth of its page plus one, the target of a redirect the
depth of the redirect.

  --robots FILE   also check it against this robots.txt: a file, - for standard input, or a URL
  --fetch-robots  also check it against the robots.txt of its site, which is fetched
  --json          one JSON object

Examples:
  trawl explain config.toml https://example.com/calendar/2031/07
  trawl explain config.toml --json --depth 5 https://example.com/a | jq .reason

Exit status: 0 it would be fetched, 1 a rule, a limit or robots.txt forbids it, 2 wrong usage, 4 errors in the config.)";

struct ExplainArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string url;
  std::optional<std::uint32_t> depth;
  std::optional<std::uint32_t> hops;
  std::string robots;
  bool fetch_robots = false;
  bool json = false;
};

// RFC 9309, section 2.3.1: how a status decides. A file has the status 0.
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

// The rules by which a crawl with this config decides.
struct Rules {
  Profile profile;
  Canonicalizer canonicalizer;
  std::vector<Url> seeds;
  UrlDecider decider;
  Priorities priorities;

  static Result<Rules> create(const CrawlConfig& config) {
    auto profile = Profile::from_text(config.url.text, config.url.hosts);
    if (!profile) return tl::unexpected(std::move(profile.error()));
    const Canonicalizer canonicalizer(*profile);
    std::vector<Url> seeds;
    for (const std::string& seed : config.crawl.seeds) {
      auto url = Url::parse(seed);
      if (!url) return tl::unexpected(std::move(url.error()));
      seeds.push_back(std::move(*url));
    }
    auto decider = UrlDecider::create(config, seeds, canonicalizer);
    if (!decider) return tl::unexpected(std::move(decider.error()));
    auto priorities = Priorities::create(config.crawl);
    if (!priorities) return tl::unexpected(std::move(priorities.error()));
    return Rules{std::move(*profile), canonicalizer, std::move(seeds), std::move(*decider),
                 std::move(*priorities)};
  }

  bool is_seed(std::string_view key) const {
    for (const Url& seed : seeds)
      if (canonicalizer.key(seed) == key) return true;
    return false;
  }
};

// What a stopped crawl knows of a URL, read from its files. Facts that depend on a config key are
// used only if the key still has the value that the crawl ran with.
class StoppedFacts final : public CrawlFacts {
 public:
  StoppedFacts(const CrawlConfig& config, const UrlDecider& decider, const StoredUrlState& state)
      : config_(config), decider_(decider), state_(state) {}

  bool is_held_for(SkipReason reason) const {
    const auto& it = state_.set_aside;
    return it && it->reason == to_string(reason) && it->rules == decider_.held_by(reason);
  }
  PatternState pattern(const Url& url) override {
    if (is_held_for(SkipReason::kPatternParked)) return PatternState::kParked;
    if (config_.crawl.state_dir.empty()) return PatternState::kOk;
    const auto parked =
        ParkedPatterns::read(config_.crawl.state_dir, config_.scope.park_pattern_after);
    return parked && std::ranges::count(*parked, url_pattern_of(url)) > 0 ? PatternState::kParked
                                                                          : PatternState::kOk;
  }
  bool host_has_room(const Url&) override { return !is_held_for(SkipReason::kTooManyUrlsOfHost); }
  bool robots_allow(const Url& url) override {
    return !HostPoliteness(config_.politeness).respects_robots(politeness_group(url)) ||
           !is_held_for(SkipReason::kRobots);
  }

 private:
  const CrawlConfig& config_;
  const UrlDecider& decider_;
  const StoredUrlState& state_;
};

// How the crawl found the URL, if known; --depth and --hops take precedence.
UrlOrigin origin_of(const ExplainArguments& arguments, bool seed, const StoppedFacts& facts,
                    const StoredUrlState& state) {
  UrlOrigin origin{.depth = seed ? 0u : 1u};
  if (state.set_aside) {
    const SetAsideUrl& held = *state.set_aside;
    origin = UrlOrigin::of(held.depth, held.redirects, UrlNote::decode(held.note));
    origin.nofollow = facts.is_held_for(SkipReason::kNofollow);
  }
  if (arguments.depth) origin.depth = *arguments.depth;
  if (arguments.hops) origin.hops_off_scope = *arguments.hops;
  return origin;
}

void check_limits(const CrawlConfig::Scope& scope, Explanation& it) {
  it.limits = {
      {.name = "depth", .key = "scope.max_depth", .value = it.depth, .limit = scope.max_depth}};
  for (const UrlLimit& each : url_limits()) {
    const std::uint32_t limit = scope.*each.limit;
    const std::uint64_t value = each.measure(*it.url, limit);
    if (each.reason == SkipReason::kRepeatedSegments) {
      it.max_repeated = limit;
      it.repeated = value > limit;
    } else {
      it.limits.push_back({each.name, config_key_of(each.reason), value, limit});
    }
  }
}

Explanation explain(const CrawlConfig& config, const Rules& rules,
                    const ExplainArguments& arguments) {
  Explanation it{.text = arguments.url, .url = {}, .error = {}, .verdict = {}};
  auto url = Url::parse(arguments.url);
  if (!url) {
    it.error = std::move(url.error().message);
    it.verdict = UrlDecider::decide(url.error());
    return it;
  }
  it.url = std::move(*url);
  it.key = rules.canonicalizer.key(*it.url);
  it.group = politeness_group(*it.url);
  it.domain = registrable_domain(it.url->hostname());
  it.pattern = url_pattern_of(*it.url);
  it.seed = rules.is_seed(it.key);
  if (!config.crawl.state_dir.empty()) {
    it.directory = config.crawl.state_dir.string();
    it.state = look_up_state(config.crawl.state_dir, *it.url, rules.profile);
  }
  StoppedFacts facts(config, rules.decider, it.state);
  const UrlOrigin origin = origin_of(arguments, it.seed, facts, it.state);
  it.depth = origin.depth;
  it.hops = origin.hops_off_scope;
  it.verdict = rules.decider.decide(*it.url, origin, facts);
  it.priority = rules.priorities.of(*it.url, it.depth);
  check_limits(config.scope, it);
  BlockCandidates candidates;
  candidates.set(*it.url, rules.canonicalizer);
  for (const Blocklist& list : rules.decider.scope().blocklists()) {
    BlocklistCheck check{.file = list.name(), .blocked_by = {}};
    if (const auto found = list.find(candidates)) check.blocked_by = std::string(*found);
    it.blocklists.push_back(std::move(check));
  }
  return it;
}

int run_explain(const ExplainArguments& arguments) {
  const auto config = load_config(arguments.config, arguments.overrides);
  if (!config) return report_config_errors(config.error());
  const auto rules = Rules::create(*config);
  if (!rules) {
    report(rules.error());
    return kBadConfig;
  }
  Explanation it = explain(*config, *rules, arguments);
  if (it.url && (arguments.fetch_robots || !arguments.robots.empty())) {
    const std::string source =
        arguments.fetch_robots ? it.url->origin() + "/robots.txt" : arguments.robots;
    auto robots = check_robots(source, robots_token_of(config->crawl), *it.url);
    if (!robots) {
      report(robots.error());
      return kUsage;
    }
    robots->obeyed = HostPoliteness(config->politeness).respects_robots(politeness_group(*it.url));
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
  auto* command = app.add_subcommand("explain", "Show what a crawl would do with a URL, and why");
  command->add_option("CONFIG", arguments->config, "The config file (TOML)")->required();
  command->add_option("URL", arguments->url, "The URL to explain")->required();
  command->add_option("--set", arguments->overrides, "Override a config key")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--depth", arguments->depth,
                      "Links from a seed (default: as the crawl found it, else 0 or 1)");
  command->add_option("--hops", arguments->hops,
                      "Pages out of scope in a row that lead to the URL");
  auto* robots =
      command->add_option("--robots", arguments->robots, "Check the URL against this robots.txt")
          ->type_name("FILE");
  command
      ->add_flag("--fetch-robots", arguments->fetch_robots,
                 "Fetch the site's robots.txt and check the URL against it")
      ->excludes(robots);
  command->add_flag("--json", arguments->json, "One JSON object");
  command->footer(kExplainFooter);
  command->callback([arguments, &exit_code] { exit_code = run_explain(*arguments); });
}

}  // namespace trawl::cli
