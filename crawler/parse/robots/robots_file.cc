#include "crawler/parse/robots/robots_file.h"

#include <algorithm>

#include "base/ascii.h"
#include "crawler/parse/headers/product_token.h"
#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/robots_reader.h"

namespace trawl {

RobotsFile::RobotsFile(std::string_view bytes, RobotsOptions options) {
  RobotsReader(*this, options).read(bytes);
  drop_unused_text();
  rules.shrink_to_fit();
  groups.shrink_to_fit();
  sitemaps.shrink_to_fit();
  sort_agents();
  number_rule_sets();
  for_all_ = agents_named("*");
}

std::span<const RobotsRule> RobotsFile::rules_of(std::uint32_t group) const {
  const std::size_t first = groups[group].first_rule;
  const std::size_t last = group + 1 < groups.size() ? groups[group + 1].first_rule : rules.size();
  return std::span(rules).subspan(first, last - first);
}

std::vector<std::string> RobotsFile::sitemap_urls() const {
  std::vector<std::string> urls;
  for (const RobotsSpan& value : sitemaps)
    if (const auto url = Url::parse(view(value))) urls.emplace_back(url->href());
  urls.shrink_to_fit();
  return urls;
}

std::size_t RobotsFile::memory() const noexcept {
  return text.capacity() + rules.capacity() * sizeof(RobotsRule) +
         groups.capacity() * sizeof(RobotsGroup) + agents.capacity() * sizeof(RobotsAgent) +
         sitemaps.capacity() * sizeof(RobotsSpan);
}

// Removes comments and unknown lines; often the file is an HTML page. Requires that `rules`,
// `agents` and `sitemaps` are in the order of the text, with at most one per line.
void RobotsFile::drop_unused_text() {
  std::size_t used = 0;
  for (const RobotsRule& rule : rules)
    used += rule.line.size;
  for (const RobotsAgent& agent : agents)
    used += agent.token.size;
  for (const RobotsSpan& sitemap : sitemaps)
    used += sitemap.size;
  if (used > text.size() / 4 * 3) return;  // not worth the time

  std::size_t size = 0;
  const auto keep = [&](RobotsSpan& span) {
    std::copy_n(text.begin() + span.begin, span.size, text.begin() + size);
    span.begin = static_cast<std::uint32_t>(size);
    size += span.size;
  };
  auto agent = agents.begin();
  auto sitemap = sitemaps.begin();
  const auto keep_before = [&](std::size_t end) {
    for (;;) {
      const std::size_t token = agent == agents.end() ? end : agent->token.begin;
      const std::size_t value = sitemap == sitemaps.end() ? end : sitemap->begin;
      if (std::min(token, value) >= end) return;
      keep(token < value ? (agent++)->token : *sitemap++);
    }
  };
  for (RobotsRule& rule : rules) {
    keep_before(rule.line.begin);
    const std::uint32_t offset = rule.pattern.begin - rule.line.begin;
    keep(rule.line);
    rule.pattern.begin = rule.line.begin + offset;
  }
  keep_before(text.size());
  text.resize(size);
  text.shrink_to_fit();
}

void RobotsFile::sort_agents() {
  const auto same_token = [&](const RobotsAgent& a, const RobotsAgent& b) {
    return a.key == b.key && view(a.token) == view(b.token);
  };
  std::sort(agents.begin(), agents.end(), [&](const RobotsAgent& a, const RobotsAgent& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = view(a.token).compare(view(b.token));
    return order != 0 ? order < 0 : a.group < b.group;
  });
  const auto same = [&](const RobotsAgent& a, const RobotsAgent& b) {
    return a.group == b.group && same_token(a, b);
  };
  agents.erase(std::unique(agents.begin(), agents.end(), same), agents.end());
  agents.shrink_to_fit();
}

// A token with a single group gets the number of the group, so that only tokens with several groups
// need sorting.
void RobotsFile::number_rule_sets() {
  const auto less = [](std::span<const RobotsAgent> a, std::span<const RobotsAgent> b) {
    return std::ranges::lexicographical_compare(a, b, {}, &RobotsAgent::group, &RobotsAgent::group);
  };
  std::vector<std::span<RobotsAgent>> several;
  for (auto first = agents.begin(); first != agents.end();) {
    const auto last = std::find_if(first + 1, agents.end(), [&](const RobotsAgent& agent) {
      return agent.key != first->key || view(agent.token) != view(first->token);
    });
    first->rule_set = first->group;
    if (last - first > 1) several.emplace_back(first, last);
    first = last;
  }
  std::sort(several.begin(), several.end(), less);
  rule_sets = groups.size();
  for (std::size_t i = 0; i < several.size(); ++i) {
    if (i == 0 || less(several[i - 1], several[i])) ++rule_sets;
    several[i].front().rule_set = static_cast<std::uint32_t>(rule_sets - 1);
  }
}

std::span<const RobotsAgent> RobotsFile::agents_named(std::string_view token) const {
  const std::uint64_t key = robots_sort_key(token);
  const auto before = [&](const RobotsAgent& agent) {
    return agent.key != key ? agent.key < key : view(agent.token) < token;
  };
  const auto same = [&](const RobotsAgent& agent) {
    return agent.key == key && view(agent.token) == token;
  };
  const auto first = std::partition_point(agents.begin(), agents.end(), before);
  const auto last = std::partition_point(first, agents.end(), same);
  return {first, last};
}

std::span<const RobotsAgent> RobotsFile::agents_for(std::string_view agent) const {
  const std::string lower = to_lower(robots_token(agent));
  std::string_view token = lower;
  while (!token.empty()) {
    if (const auto found = agents_named(token); !found.empty()) return found;
    const std::size_t end = token.find_last_of("-_");
    token = token.substr(0, end == std::string_view::npos ? 0 : end);
  }
  return for_all_;
}

}  // namespace trawl
