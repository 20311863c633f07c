// Robots: the rules of a site's robots.txt (RFC 9309).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// How a robots.txt is read.
struct RobotsOptions {
  // Accept the misspellings that Google's parser accepts, such as "dissallow", "useragent" and
  // "site-map", and "Disallow /private" without the colon.
  bool accept_typos = true;
};

// Why a URL may be fetched or not.
enum class RobotsReason {
  kRule,           // a line of the file decides
  kNoRuleMatches,  // allowed: no rule of the agent's groups matches
  kNoGroup,        // allowed: no group is for the agent or for "*"
  kRobotsTxt,      // allowed: robots.txt itself always is
  kWholeSite,      // the result of allow_all() or disallow_all()
};

// Whether a URL may be fetched, and why.
struct RobotsDecision {
  bool allowed = true;
  RobotsReason reason = RobotsReason::kNoGroup;
  std::size_t line = 0;  // line number of the deciding rule, from 1; 0 unless `reason` is kRule
  std::string text;      // that line, without comment and surrounding space
};

// A parsed robots.txt. Immutable, cheap to copy, thread-safe. Compiles the rules for an agent when
// they are first used.
class Robots {
 public:
  // Parses the bytes of a robots.txt. Never fails: invalid lines are ignored, as the RFC requires.
  // Ignores bytes beyond 500 KiB and cuts lines at 16 KiB.
  static Robots parse(std::string_view bytes, RobotsOptions options = {});
  static Robots allow_all();
  static Robots disallow_all();

  // True if a crawler whose product token is `agent` ("trawl") may fetch `url`. The longest
  // matching rule decides, Allow wins ties; /robots.txt itself is always allowed. `agent` is
  // compared case-insensitively. If it is a complete user agent, its first product token counts, or
  // that of the part "(compatible; mybot/1.0)" if it begins with "Mozilla". A crawler "foo-news"
  // obeys the groups "foo-news", or else those of "foo" (which the RFC does not require), or else
  // those of "*". Takes at most milliseconds for a URL of 2 KB and any file, and proportionally
  // more for longer URLs.
  bool allowed(std::string_view agent, const Url& url) const;

  // The same, with the deciding line; the first of equal lines.
  RobotsDecision decide(std::string_view agent, const Url& url) const;

  // The Crawl-delay of the agent's groups (an extension of robots.txt, not in the RFC), at most a
  // day; the shortest if there are several.
  std::optional<std::chrono::milliseconds> crawl_delay(std::string_view agent) const;

  // The absolute URLs of the first 1,000 Sitemap lines, in order. The first call parses them, which
  // may take a third of a second for a hostile file.
  const std::vector<std::string>& sitemaps() const;

  // Approximate bytes of memory, shared by all copies: little more than those of the valid lines.
  // Compiling the rules for agents adds at most 8 MiB, however many agents there are: rules beyond
  // that are compiled again for each answer. The first call of sitemaps() adds to it too. Constant
  // time.
  std::size_t memory() const noexcept;

 private:
  struct Rules;
  explicit Robots(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}
  std::shared_ptr<const Rules> rules_;
};

}  // namespace trawl
