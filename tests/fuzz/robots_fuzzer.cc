// The first line of the input is a path, the rest a robots.txt: no crash, sane answers, and of
// small inputs those that the plainest reading gives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/robots.h"

#include "crawler/parse/robots/robots_file.h"
#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/robots_rule_set.h"
#include "tests/crawler/parse/robots_reference.h"

namespace {

using trawl::Robots;
using trawl::RobotsDecision;
using trawl::RobotsReason;

constexpr std::string_view kAgent = "trawl-news";

void require(bool holds) {
  if (!holds) std::abort();
}

void check_public(const Robots& robots, const trawl::Url& url) {
  const RobotsDecision decision = robots.decide(kAgent, url);
  require(decision.allowed == robots.allowed(kAgent, url));
  require(decision.allowed == robots.allowed("TRAWL-News/1.0", url));
  robots.allowed("other", url);
  require(decision.allowed == robots.allowed(kAgent, url));
  require((decision.line > 0) == (decision.reason == RobotsReason::kRule));
  require(decision.text.empty() == (decision.line == 0));
  require(decision.allowed || decision.reason == RobotsReason::kRule);
  if (url.path() == "/robots.txt" && !url.has_query()) require(decision.allowed);
  const auto delay = robots.crawl_delay(kAgent);
  require(!delay || (delay->count() >= 0 && delay->count() <= 24 * 3600 * 1000));
  require(robots.sitemaps().size() <= 1000);
  for (const std::string& sitemap : robots.sitemaps()) {
    require(trawl::Url::parse(sitemap).has_value());
  }
}

void check_matching(std::string_view text, const Robots& robots, const trawl::Url& url) {
  const trawl::RobotsFile file(text, {});
  const auto agents = file.agents_for(kAgent);
  const trawl::RobotsRuleSet compiled(file, agents);
  const trawl::RobotsPath target(url);
  trawl::RobotsMatchCost direct;
  trawl::RobotsMatchCost indexed{.direct_steps = 0};
  const std::size_t found = compiled.find(target, direct);
  require(found == compiled.find(target, indexed));
  if (text.size() > 1'000 || target.text().size() > 200) return;

  std::vector<trawl::ReferenceRule> rules;
  std::vector<std::size_t> indices;
  for (const trawl::RobotsAgent& agent : agents) {
    for (const trawl::RobotsRule& rule : file.rules_of(agent.group)) {
      rules.push_back({.pattern = std::string(file.view(rule.pattern)), .allow = rule.allow});
      indices.push_back(static_cast<std::size_t>(&rule - file.rules.data()));
    }
  }
  std::string path(url.path());
  if (url.has_query()) path.append("?").append(url.query());
  const std::size_t expected = trawl::reference_decision(rules, path);
  require(found == (expected == rules.size() ? trawl::RobotsRuleSet::kNone : indices[expected]));
  const RobotsDecision decision = robots.decide(kAgent, url);
  if (decision.reason == RobotsReason::kRule) require(decision.line == file.rules[found].number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const auto url = trawl::Url::parse("http://site.example/" + std::string(input.substr(0, end)));
  if (!url) return 0;
  const std::string_view text = input.substr(end);
  const Robots robots = Robots::parse(text);
  check_public(robots, *url);
  check_public(Robots::parse(text, {.accept_typos = false}), *url);
  check_matching(text, robots, *url);
  return 0;
}
