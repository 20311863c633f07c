// trawl check-config, trawl config-reference
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trawl/canonicalizer.h"

#include "crawler/cli/commands.h"
#include "crawler/cli/crawl_input.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/cluster_config.h"
#include "crawler/config/config_reference.h"
#include "crawler/config/config_values.h"
#include "crawler/config/config_warnings.h"
#include "crawler/config/cookies_file.h"
#include "crawler/config/crawl_config.h"
#include "crawler/config/user_agent.h"
#include "crawler/decide/blocklist.h"
#include "crawler/decide/fetch_memory_plan.h"
#include "crawler/decide/priorities.h"
#include "crawler/decide/scope.h"

namespace trawl::cli {

namespace {

// What is wrong with fetch.cookies_file, a line each.
std::vector<std::string> check_cookies(const std::filesystem::path& file) {
  if (file.empty()) return {};
  const auto cookies = read_cookies_file(file);
  if (cookies) return {};
  std::vector<std::string> errors;
  for (const ConfigError& error : cookies.error().listed)
    errors.push_back(error.to_string());
  if (cookies.error().unlisted > 0)
    errors.push_back(fmt::format("and {} more errors", cookies.error().unlisted));
  return errors;
}

// Checks what a crawl checks when it starts: blocklists, patterns and rules for keys.
std::vector<std::string> check_rules(const CrawlConfig& config) {
  std::vector<std::string> errors;
  const auto profile = Profile::from_text(config.url.text, config.url.hosts);
  if (!profile) return {profile.error().message};
  const Canonicalizer canonicalizer(*profile);
  for (const auto& file : config.scope.blocklist) {
    const auto list = Blocklist::open(file, canonicalizer);
    if (!list) {
      errors.push_back("scope.blocklist: " + list.error().message);
    } else if (!list->warning().empty()) {
      say(stderr, "trawl: warning: scope.blocklist: {}\n", list->warning());
    }
  }
  CrawlConfig::Scope rules = config.scope;
  rules.blocklist.clear();
  if (const auto scope = Scope::create(rules, {}); !scope) errors.push_back(scope.error().message);
  if (const auto order = Priorities::create(config.crawl); !order)
    errors.push_back("crawl.priorities: " + order.error().message);
  return errors;
}

// Prints how much of fetch.max_memory the tables of cookies and host limits may take from bodies.
void say_memory(const CrawlConfig& config, const FetchMemoryPlan& tables) {
  const std::uint64_t most = config.fetch.max_memory - tables.for_bodies;
  say("memory: cookies and host limits take at most {} of fetch.max_memory = {}\n",
      format_size(std::min(tables.most, most)), format_size(config.fetch.max_memory));
  if (tables.most > most) {
    say(stderr,
        "trawl: warning: fetch.max_memory: cookies and host limits may take {}, more than the {} "
        "that pages leave; raise fetch.max_memory or lower fetch.threads\n",
        format_size(tables.most), format_size(most));
  }
}

// Prints where the frontier is, if crawlers share it; whether the password can be read.
bool say_cluster(const CrawlConfig& config) {
  const ClusterConfig& cluster = config.cluster;
  const auto place = redis_place(cluster);
  const auto password = read_redis_password(cluster.password_file);
  if (!password) say(stderr, "cluster.password_file: {}\n", password.error().message);
  if (!place || !password) return false;
  std::string nodes;
  for (const RedisNode& node : place->nodes)
    nodes += (nodes.empty() ? "" : ", ") + node.text();
  say("cluster: the crawl {} in Redis at {}{}, {} buckets; this crawler is {}\n", cluster.name,
      nodes, place->tls == RedisPlace::Tls::kYes ? " with TLS" : "", cluster.buckets,
      cluster_member(cluster, config.crawl.state_dir));
  return true;
}

}  // namespace

int run_check_config(const std::string& file, const std::vector<std::string>& overrides) {
  const auto input = CrawlInput::resolve(file, overrides);
  if (!input) return input.error();
  const CrawlConfig* const config = &input->config();
  const auto errors = check_rules(*config);
  for (const std::string& error : errors)
    say(stderr, "{}: {}\n", file, error);
  const auto wrong_cookies = check_cookies(config->fetch.cookies_file);
  for (const std::string& error : wrong_cookies)
    say(stderr, "{}\n", error);
  if (!errors.empty() || !wrong_cookies.empty()) return kBadConfig;
  for (const std::string& warning : config_warnings(*config))
    say(stderr, "trawl: warning: {}\n", warning);
  if (const std::string warning = user_agent_warning(config->crawl.user_agent); !warning.empty())
    say(stderr, "trawl: warning: crawl.user_agent {}\n", warning);
  say("{}: ok, {} seed{}\n", file, config->crawl.seeds.size(),
      config->crawl.seeds.size() == 1 ? "" : "s");
  const std::string token = robots_token_of(config->crawl);
  say("robots.txt token: {}\n", token.empty() ? "none; the rules for all crawlers apply" : token);
  if (config->cluster.enabled() && !say_cluster(*config)) return kBadConfig;
  if (const FetchMemoryPlan tables = FetchMemoryPlan::of(*config); tables.most > 0)
    say_memory(*config, tables);
  return kDone;
}

int run_config_reference(bool markdown) {
  const std::string text = markdown ? config_reference_table() : commented_config();
  return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? kDone : kFailed;
}

}  // namespace trawl::cli
