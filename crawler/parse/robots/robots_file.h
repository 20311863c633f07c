// RobotsFile: the meaningful lines of a robots.txt, by group and agent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/robots.h"

namespace trawl {

// A part of RobotsFile::text.
struct RobotsSpan {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};

// One Allow or Disallow line.
struct RobotsRule {
  RobotsSpan pattern;        // never empty
  RobotsSpan line;           // the whole line, trimmed
  std::uint32_t number = 0;  // line number, from 1
  bool allow = false;
};

// The rules after a run of User-agent lines.
struct RobotsGroup {
  std::uint32_t first_rule =
      0;  // index into RobotsFile::rules; the group ends where the next begins
  std::optional<std::chrono::milliseconds> delay;
};

// An (agent, group) pair. An agent may have several groups, and a group several agents.
struct RobotsAgent {
  std::uint64_t key = 0;  // robots_sort_key() of the token
  RobotsSpan token;       // in lower case; "*" for all crawlers
  std::uint32_t group = 0;
  // Set in the first entry of each token: a number below RobotsFile::rule_sets, equal for tokens
  // with the same groups.
  std::uint32_t rule_set = 0;
};

struct RobotsFile {
  RobotsFile(std::string_view bytes, RobotsOptions options);
  RobotsFile(const RobotsFile&) = delete;
  RobotsFile& operator=(const RobotsFile&) = delete;

  std::string_view view(RobotsSpan span) const {
    return std::string_view(text).substr(span.begin, span.size);
  }
  std::span<const RobotsRule> rules_of(std::uint32_t group) const;

  // The entries of `agents` that apply to a crawler with user agent `agent`: those with its product
  // token, else those with the longest prefix of the token that ends before a '-' or '_', else
  // those of "*".
  std::span<const RobotsAgent> agents_for(std::string_view agent) const;

  // The URLs of the Sitemap lines. May take some hundred milliseconds for hostile files.
  std::vector<std::string> sitemap_urls() const;

  std::size_t memory() const noexcept;  // allocated, in bytes

  // The lines of rules, the agents' tokens in lower case, and the values of Sitemap lines.
  std::string text;
  std::vector<RobotsRule> rules;
  std::vector<RobotsGroup> groups;
  std::vector<RobotsAgent> agents;   // sorted by token, then by group; without duplicates
  std::vector<RobotsSpan> sitemaps;  // the values of the first 1,000 Sitemap lines
  std::size_t rule_sets = 0;         // number of different sets of groups

 private:
  std::span<const RobotsAgent> agents_named(std::string_view token) const;
  void drop_unused_text();
  void sort_agents();
  void number_rule_sets();

  std::span<const RobotsAgent> for_all_;  // the entries of "*"
};

}  // namespace trawl
