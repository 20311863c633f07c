// What two link engines should say alike of a page.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "trawl/links.h"

namespace trawl {

// All of it, a line for each fact.
inline std::vector<std::string> facts(const PageLinks& page) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view name, const std::optional<Url>& url) {
    lines.push_back(fmt::format("{} {}", name, url ? url->href() : "-"));
  };
  add("base", page.base);
  add("canonical", page.canonical);
  add("refresh", page.refresh ? page.refresh->url : std::nullopt);
  lines.push_back("title " + page.title);
  lines.push_back("language " + page.language);
  lines.push_back(fmt::format("noindex {} nofollow {}, {} invalid, {} of another scheme",
                              page.robots.noindex, page.robots.nofollow, page.invalid,
                              page.other_scheme));
  for (const Link& link : page.links) {
    lines.push_back(fmt::format("{} {} {} rel={} follow={} {} text={}", to_string(link.kind),
                                link.element, link.attribute, link.rel, link.follow,
                                link.url.href(), link.text));
  }
  return lines;
}

inline std::string first_difference(const std::vector<std::string>& scanner,
                                    const std::vector<std::string>& gumbo) {
  const auto [a, b] = std::ranges::mismatch(scanner, gumbo);
  return fmt::format("scanner {} facts, gumbo {}; first difference:\n  scanner: {}\n  gumbo:   {}",
                     scanner.size(), gumbo.size(), a == scanner.end() ? "(end)" : *a,
                     b == gumbo.end() ? "(end)" : *b);
}

}  // namespace trawl
